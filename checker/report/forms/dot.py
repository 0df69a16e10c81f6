"""A run as a GraphViz digraph: its events, lane by lane, and what each depends on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from rackproof.checker.explain import Explanation, Moment
from rackproof.checker.explain.explanation import END
from rackproof.checker.report.escaping import line
from rackproof.checker.trace import Step

WIDTH: Final = 36
"""Characters a line of a node."""
FAULT: Final = 'color="#b3261e", fontcolor="#b3261e", penwidth=2'
UNNEEDED: Final = 'color="#9e9e9e", fontcolor="#757575"'
SAFE: Final = 'color="#1b7f3b", fontcolor="#1b7f3b", style="rounded,dashed"'


def dot(explanation: Explanation) -> str:
    """The graph: a solid edge from each step to those that depend on it, and to the violation; a
    dotted one to the next.

    Faults are red, steps that make no difference grey; the violation is an octagon, and the nearest
    run that is safe a dashed branch.
    """
    parts = (_head(explanation), _lanes(explanation), _edges(explanation), _end(explanation))
    body = [f"  {text}" for part in (*parts, _near_miss(explanation)) for text in part]
    return "\n".join(["digraph run {", *body, "}"]) + "\n"


def quoted(text: str) -> str:
    """A text between quotes, wrapped, which GraphViz shows as it is."""
    lines = textwrap.wrap(line(text), WIDTH, break_on_hyphens=False) or [""]
    return '"' + "\\n".join(_escaped(part) for part in lines) + '"'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def _head(explanation: Explanation) -> Iterator[str]:
    yield f'label={quoted(explanation.title)}; labelloc=t; fontname="sans-serif";'
    yield 'node [shape=box, style=rounded, fontname="sans-serif", fontsize=11];'
    yield 'edge [fontname="sans-serif", fontsize=10];'


def _lanes(explanation: Explanation) -> Iterator[str]:
    """The events of each lane in a cluster of their own."""
    lanes = dict.fromkeys(lane.name for lane in explanation.lanes)
    lanes.update(dict.fromkeys(moment.message.target for moment in explanation.moments))
    for index, name in enumerate(lanes):
        here = [m for m in explanation.moments if m.message.target == name]
        if here:
            yield f"subgraph cluster_{index} {{"
            yield f'  label={quoted(name)}; style=rounded; color="#bdbdbd";'
            yield from (f"  {_event(moment)}" for moment in here)
            yield "}"


def _event(moment: Moment) -> str:
    style = FAULT if moment.step.is_fault else "" if moment.matters else UNNEEDED
    label = quoted(f"{moment.number}. {moment.step.words}")
    return f"s{moment.number} [{', '.join(filter(None, (f'label={label}', style)))}];"


def _edges(explanation: Explanation) -> Iterator[str]:
    """In the order of the run; and from causes, except where these are the step before anyway."""
    yield 'start [label="start", shape=circle];'
    for moment in explanation.moments:
        before = moment.number - 1
        if before not in moment.causes:
            source = f"s{before}" if before else "start"
            yield f'{source} -> s{moment.number} [style=dotted, color="#9e9e9e"];'
        yield from (f"s{cause} -> s{moment.number};" for cause in moment.causes)


def _end(explanation: Explanation) -> Iterator[str]:
    """The violation; the way back of a loop."""
    trace, broken = explanation.trace, explanation.broken
    last = f"s{len(trace.steps)}" if trace.steps else "start"
    if trace.loop is not None:
        label = quoted("and again, for ever")
        yield f"{last} -> s{trace.loop + 1} [label={label}, style=bold, constraint=false];"
    if explanation.prop is not None:
        told = f": {' '.join(broken)}" if broken else ""
        label = quoted(f"{explanation.prop.name} is violated{told}")
        yield f"violation [label={label}, shape=octagon, style=solid, {FAULT}];"
        causes = [m.number for m in explanation.moments if any(END in n for n in m.users.values())]
        yield from (f's{number} -> violation [color="#b3261e"];' for number in causes)
        if len(explanation.moments) not in causes:
            yield f'{last} -> violation [style=dotted, color="#b3261e"];'


def _near_miss(explanation: Explanation) -> Iterator[str]:
    """The steps of the nearest safe run from where it parts."""
    near = explanation.near_miss
    if near is None:
        return
    source = f"s{near.parts - 1}" if near.parts > 1 else "start"
    for number, step in enumerate(near.trace.steps[near.parts - 1 :], near.parts):
        yield f"n{number} [label={quoted(_numbered(number, step))}, {SAFE}];"
        yield f'{source} -> n{number} [style=dashed, color="#1b7f3b"];'
        source = f"n{number}"
    yield f'safe [label="safe", shape=octagon, {SAFE.replace("rounded,", "")}];'
    yield f'{source} -> safe [style=dashed, color="#1b7f3b"];'


def _numbered(number: int, step: Step) -> str:
    return f"{number}. {step.words}"
