"""A run as a Mermaid sequence diagram, which GitHub and GitLab draw."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rackproof.checker.explain import Explanation, Moment
from rackproof.checker.report.escaping import line
from rackproof.model.kernel import Message

LARGEST: Final = 45_000
"""Characters of a diagram; Mermaid reads 50,000."""
FAULT: Final = "rect rgba(214, 39, 40, 0.18)"
VIOLATION: Final = "rect rgba(214, 39, 40, 0.35)"
_SPECIAL: Final = re.compile(r"[^\w .,()'/+\u2192-]|_")


def mermaid(explanation: Explanation) -> str:
    """The diagram: a message a step, under the numbers that the steps have everywhere.

    Faults are on red ground, what the violation does not depend on is dotted. Steps from the middle
    of a run that is too long for Mermaid are left out, and it says how many.
    """
    return _Diagram(explanation).text()


def quoted(text: str) -> str:
    """A text that Mermaid shows as it is: whatever might mean something to it, by its number."""
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", line(text))


class _Diagram:
    """The lanes that take part, each under a name of its own."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        used = dict.fromkeys(
            name
            for moment in explanation.moments
            for name in (
                moment.message.source,
                moment.message.target,
                *(belief.who for belief in moment.mistaken),
            )
        )
        known = [lane.name for lane in explanation.lanes if lane.name in used]
        names = [*known, *(name for name in used if name not in known)]
        self.lanes = {name: f"p{index}" for index, name in enumerate(names or ["the world"])}

    def text(self) -> str:
        """All of it."""
        head, end = [*self._head()], [*self._end()]
        steps = [[*self._step(moment)] for moment in self.explanation.moments]
        room = LARGEST - _size(head) - _size(end)
        return "\n".join([*head, *self._within(steps, room), *end]) + "\n"

    def _head(self) -> Iterator[str]:
        yield "sequenceDiagram"
        yield "    autonumber"
        for name, alias in self.lanes.items():
            yield f"    participant {alias} as {quoted(name)}"

    def _step(self, moment: Moment) -> Iterator[str]:
        """The lines of a step; the loop begins before its first."""
        trace = self.explanation.trace
        if trace.loop is not None and moment.number == trace.loop + 1:
            yield "    loop for ever"
        pivot = self.explanation.pivot
        if pivot is not None and pivot.number == moment.number:
            yield f"    Note over {self.lanes[moment.message.source]}: the turning point"
        words = quoted(moment.step.words)
        if moment.step.is_fault:
            yield f"    {FAULT}"
            yield f"    {self._arrow(moment.message, '-x')}: fault#58; {words}"
            yield "    end"
        else:
            arrow = "->>" if moment.matters else "-->>"
            yield f"    {self._arrow(moment.message, arrow)}: {words}"
        yield from self._mistakes(moment)

    def _arrow(self, message: Message, arrow: str) -> str:
        return f"{self.lanes[message.source]}{arrow}{self.lanes[message.target]}"

    def _mistakes(self, moment: Moment) -> Iterator[str]:
        """What somebody is wrong about from this step on."""
        moments = self.explanation.moments
        before = moments[moment.number - 2].mistaken if moment.number > 1 else ()
        for belief in moment.mistaken:
            if belief not in before:
                told = (
                    f"believes that {belief.subject} {belief.believed}; in truth it {belief.truth}"
                )
                yield f"    Note over {self.lanes[belief.who]}: {quoted(told)}"

    def _end(self) -> Iterator[str]:
        if self.explanation.trace.loop is not None:
            yield "    end"
        prop, broken = self.explanation.prop, self.explanation.broken
        if prop is not None:
            names = [*self.lanes.values()]
            across = f"{names[0]},{names[-1]}" if names[1:] else names[0]
            yield f"    {VIOLATION}"
            told = f"{prop.name}: {' '.join(broken)}" if broken else prop.name
            yield f"    Note over {across}: violated#58; {quoted(told)}"
            yield "    end"

    def _within(self, steps: Sequence[Sequence[str]], room: int) -> Iterator[str]:
        """As many steps as there is room for, from both ends; the first of a loop is kept."""
        left_out = self._left_out([_size(step) for step in steps], room - 400)
        for number, step in enumerate(steps, 1):
            if number not in left_out:
                yield from step
            elif number - 1 not in left_out:
                end = next(n for n in range(number, len(steps) + 2) if n not in left_out)
                yield f"    Note over {next(iter(self.lanes.values()))}: {_gap(number, end)}"
                yield f"    autonumber {end}"

    def _left_out(self, sizes: Sequence[int], room: int) -> frozenset[int]:
        """The numbers of the steps that do not fit: the nearest to the middle first."""
        opening = None if (loop := self.explanation.trace.loop) is None else loop + 1
        middle = (len(sizes) + 1) / 2
        gone: set[int] = set()
        too_much = sum(sizes) - room
        for number in sorted(range(1, len(sizes) + 1), key=lambda n: (abs(n - middle), n)):
            if too_much <= 0:
                break
            if number != opening:
                gone.add(number)
                too_much -= sizes[number - 1]
        return frozenset(gone)


def _gap(first: int, end: int) -> str:
    which = f"steps {first} to {end - 1}" if end - first > 1 else f"step {first}"
    return f"{which} left out#58; the diagram would be too large"


def _size(lines: Sequence[str]) -> int:
    return sum(len(item) + 1 for item in lines)
