"""A run as Chrome trace events, which Perfetto and chrome://tracing show.

A track for each lane, a slice for each step: it ends when the step happens, and begins when the one
before happened. Where the world does not say how long things take, a step takes a unit, a second.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from rackproof.checker.explain import Explanation, Moment
from rackproof.checker.report.steps import changes_in_words

PROCESS: Final = 1
MICROSECONDS: Final = 1_000_000
UNIT: Final = Fraction(1)
"""Seconds of a step of which nothing is known."""

Event = dict[str, Any]


def perfetto(explanation: Explanation) -> str:
    """The events as JSON."""
    return _Timeline(explanation).text()


class _Timeline:
    """When each step ends, and the track of each lane."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        moments = explanation.moments
        self.is_timed = bool(moments) and all(moment.at is not None for moment in moments)
        known = [moment.at for moment in moments if moment.at is not None]
        self.ends = known if self.is_timed else [UNIT * m.number for m in moments]
        names = dict.fromkeys(lane.name for lane in explanation.lanes)
        for moment in moments:
            names.update(dict.fromkeys((moment.message.source, moment.message.target)))
        self.tracks = {name: index for index, name in enumerate(names, 1)}

    def text(self) -> str:
        """All of it."""
        parts = (self._names(), *map(self._step, self.explanation.moments), self._end())
        data = {
            "traceEvents": [*itertools.chain(*parts)],
            "displayTimeUnit": "ms",
            "otherData": self._about(),
        }
        return json.dumps(data, indent=1) + "\n"

    def _about(self) -> dict[str, str]:
        known = "as early as each can be" if self.is_timed else "unknown: a second a step"
        prop = self.explanation.prop
        return {
            "title": self.explanation.title,
            "times": known,
            **({"violated": prop.name} if prop else {}),
            "reproduce": self.explanation.footing.reproduce,
        }

    def _names(self) -> Iterator[Event]:
        """What the tracks are called, and their order."""
        yield _named("process_name", 0, name=self.explanation.title)
        for name, track in self.tracks.items():
            yield _named("thread_name", track, name=name)
            yield _named("thread_sort_index", track, sort_index=track)

    def _step(self, moment: Moment) -> Iterator[Event]:
        """A slice where the step happens; one more, and an arrow, where a message came from."""
        start = self.ends[moment.number - 2] if moment.number > 1 else Fraction(0)
        end = self.ends[moment.number - 1]
        source, target = moment.message.source, moment.message.target
        words = f"{moment.number}. {moment.step.words}"
        kind = moment.step.firing.transition.kind.value
        slices = {"cat": kind, "ts": _at(start), "dur": _at(end - start)}
        arrow = {"name": "message", "cat": "message", "id": moment.number, "ts": _at(start)}
        if source != target:
            yield self._event(source, "X", **slices, name=words, args={"to": target})
            yield self._event(source, "s", **arrow)
        yield self._event(target, "X", **slices, name=words, args=self._arguments(moment))
        if source != target:
            yield self._event(target, "f", **arrow, bp="e")
        if moment.step.is_fault:
            told = {"name": f"fault: {moment.step.words}", "cat": "fault", "ts": _at(end)}
            yield self._event(target, "i", **told, s="p")
        yield from self._counters(moment, end)

    def _event(self, lane: str, phase: str, **rest: Any) -> Event:
        return {"ph": phase, "pid": PROCESS, "tid": self.tracks[lane], **rest}

    def _arguments(self, moment: Moment) -> dict[str, Any]:
        step = moment.step
        told: dict[str, Any] = {
            "step": moment.number,
            "transition": step.firing.transition.name,
            **step.firing.named(step.system),
            "changes": [*changes_in_words(step, self.explanation.fields)],
            "possible because": [condition.text for condition in moment.why],
            "depends on steps": [*moment.causes],
            "makes a difference": moment.matters,
            "mistaken": [
                f"{b.who} believes that {b.subject} {b.believed}; in truth it {b.truth}"
                for b in moment.mistaken
            ],
        }
        return {key: value for key, value in told.items() if value != []}

    def _counters(self, moment: Moment, end: Fraction) -> Iterator[Event]:
        """What was spent in all by the end of a step; nothing where nothing ever is."""
        spent = [each.charge for each in self.explanation.moments if each.charge is not None]
        so_far = [m.charge for m in self.explanation.moments[: moment.number] if m.charge]
        for name in ("bytes_moved", "tokens_recomputed", "joules"):
            if any(getattr(charge, name) for charge in spent):
                total = sum(getattr(charge, name) for charge in so_far)
                told = {"name": name.replace("_", " "), "cat": "cost", "ts": _at(end)}
                yield {"ph": "C", "pid": PROCESS, **told, "args": {"value": total}}

    def _end(self) -> Iterator[Event]:
        """Where a loop begins, and where the property is violated."""
        trace, prop = self.explanation.trace, self.explanation.prop
        last = self.ends[-1] if self.ends else Fraction(0)
        lane = next(iter(self.tracks))
        if trace.loop is not None:
            begins = self.ends[trace.loop - 1] if trace.loop else Fraction(0)
            told = {"name": "from here on, for ever", "cat": "loop", "ts": _at(begins)}
            yield self._event(lane, "i", **told, s="p")
        if prop is not None:
            told = {"name": f"violated: {prop.name}", "cat": "violation", "ts": _at(last)}
            yield self._event(lane, "i", **told, s="p")


def _named(what: str, track: int, **args: object) -> Event:
    return {"ph": "M", "pid": PROCESS, "tid": track, "name": what, "args": args}


def _at(time: Fraction) -> float:
    """Seconds as a trace has them."""
    return float(time * MICROSECONDS)
