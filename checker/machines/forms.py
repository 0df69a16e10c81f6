"""State machines as text: Mermaid, Markdown around it, GraphViz, and plain data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from rackproof.checker.machines.machine import Change, Machine

_PLAIN: Final = re.compile(r"[^\w .,()/\[\]-]")


def mermaid(machine: Machine) -> str:
    """A Mermaid state diagram; what was never seen says so."""
    numbers = {value: f"s{number}" for number, value in enumerate(machine.values)}
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{_plain(value)}" as {name}' for value, name in numbers.items()]
    lines += [f"    [*] --> {numbers[value]}" for value in machine.initial]
    for (before, after), changes in machine.edges.items():
        for told in _told(changes):
            lines.append(f"    {numbers[before]} --> {numbers[after]}: {_plain(told)}")
    return "\n".join(lines) + "\n"


def _told(changes: Iterable[Change]) -> Iterator[str]:
    """The transitions of an edge: those that were seen, and those that were not."""
    for was_seen, note in ((True, ""), (False, " (never seen)")):
        names = [change.transition for change in changes if change.seen is was_seen]
        if names:
            yield ", ".join(names) + note


def _plain(text: str) -> str:
    """A text without what Mermaid gives a meaning to; each such letter by its number."""
    return _PLAIN.sub(lambda found: f"#{ord(found[0])};" if ord(found[0]) > 31 else " ", text)


def markdown(several: Iterable[Machine], title: str) -> str:
    """All the diagrams of a world, as Markdown that renders in a pull request."""
    every = list(several)
    parts = [f"# State machines of {_inert(title)}\n", *map(_part, filter(moves, every))]
    still = [f"`{m.field}` ({', '.join(m.initial)})" for m in every if not moves(m)]
    if still:
        parts.append(f"Never changed in this scope: {', '.join(still)}.\n")
    return "\n".join(parts)


def moves(machine: Machine) -> bool:
    """Whether anything may change its value."""
    return bool(machine.changes)


def _part(machine: Machine) -> str:
    return f"## `{machine.field}`\n\n```mermaid\n{mermaid(machine)}```\n{_notes(machine)}"


def _inert(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|&])", r"\\\1", " ".join(text.split()))


def _notes(machine: Machine) -> str:
    told = []
    if machine.never:
        told.append(f"Never: {', '.join(map(_inert, machine.never))}.")
    if machine.reason:
        told.append(f"Not all states were seen: {machine.reason}.")
    return "\n" + " ".join(told) + "\n" if told else ""


def dot(machine: Machine) -> str:
    """A GraphViz digraph; edges that were never seen are dashed."""
    lines = [f"digraph {json.dumps(machine.field)} {{", "  node [shape=box, style=rounded];"]
    lines += [f"  {_quoted(value)};" for value in machine.values]
    lines += [f"  start{n} [shape=point];" for n, _ in enumerate(machine.initial)]
    lines += [f"  start{n} -> {_quoted(value)};" for n, value in enumerate(machine.initial)]
    for (before, after), changes in machine.edges.items():
        label = "\n".join(_told(changes))
        style = "" if any(change.seen for change in changes) else ", style=dashed"
        lines.append(f"  {_quoted(before)} -> {_quoted(after)} [label={_quoted(label)}{style}];")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    """A text as GraphViz reads it, where a backslash would be an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def as_data(machine: Machine) -> dict[str, Any]:
    """A machine as plain lists, maps, texts and truth values."""
    return {
        "field": machine.field,
        "enum": machine.enum,
        "values": list(machine.values),
        "never": list(machine.never),
        "initial": list(machine.initial),
        "reason": machine.reason,
        "changes": [
            {
                "from": change.before,
                "to": change.after,
                "transition": change.transition,
                "kind": change.kind.value,
                "seen": change.seen,
            }
            for change in machine.changes
        ],
    }
