"""What there is, and what each of it is: the texts of list and explain."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from rackproof.checker.verdicts import counted
from rackproof.scenarios.document import Pairs, Scalar, read
from rackproof.scenarios.errors import ScenarioError, hint
from rackproof.scenarios.steps import kebab
from rackproof.scenarios.worlds import InputError

SCENARIOS: Final = Path(__file__).parents[1] / "scenarios"
WIDTH: Final = 92


@frozen
class Entry:
    """A name, what it stands for, and how that is told: in a line, and whole."""

    name: str
    subject: Any
    line: Callable[[Any], str]
    text: Callable[[Any], list[str]]


def listing(kinds: Iterable[str]) -> list[str]:
    """The names of each kind, each with a line on what it is."""
    kinds = list(kinds)
    lines: list[str] = []
    for kind in kinds:
        entries = _ENTRIES[kind]()
        if len(kinds) > 1:
            lines += ([""] if lines else []) + [f"{kind}:"]
        width = max((len(entry.name) for entry in entries), default=0)
        lines += [_row(entry, width) for entry in entries]
    return lines


def explanation(name: str) -> list[str]:
    """All that is known of a name, whatever kinds of things it names; or of a scenario's file."""
    if name.endswith((".yaml", ".yml")) and Path(name).is_file():
        return _scenario(Path(name))
    wanted = kebab(name)
    lines: list[str] = []
    names: set[str] = set()
    told = ""
    for kind, entries in _ENTRIES.items():
        for entry in entries():
            names.add(entry.name)
            if entry.name == wanted and (told, kind) != ("faults", "transitions"):
                lines += ([""] if lines else []) + [f"{entry.name} ({_ONE[kind]})", ""]
                lines += entry.text(entry.subject)
                told = kind
    if not lines:
        raise InputError(f"there is nothing called {name!r}{hint(wanted, sorted(names))}")
    return lines


def _row(entry: Entry, width: int) -> str:
    line = entry.line(entry.subject)
    short = textwrap.shorten(line, max(WIDTH - width, 30), placeholder=" ...")
    return f"  {entry.name:{width}}  {short}".rstrip()


def _paragraph(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent="  ", subsequent_indent="  ")


def _stacks() -> list[Entry]:
    from rackproof.scenarios.stacks import stack_names  # noqa: PLC0415

    return [Entry(name, name, _stack_line, _stack) for name in stack_names()]


def _stack_line(name: str) -> str:
    from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

    stack = load_stack(name)
    return " ".join(part for part in (stack.version, stack.source) if part)


def _stack(name: str) -> list[str]:
    """The mechanisms of a stack, those first that differ from the reference."""
    from rackproof.model.protocol import Protocol, mechanisms  # noqa: PLC0415
    from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

    stack, reference = load_stack(name), Protocol()
    lines = _paragraph(stack.notes) if stack.notes else []
    lines += [f"  {stack.source}"] if stack.source else []
    width = max(len(mechanism.name) for mechanism in mechanisms())
    for mechanism in mechanisms():
        value = getattr(stack.protocol, mechanism.field)
        differs = value != getattr(reference, mechanism.field)
        source = stack.sources.get(mechanism.name, "")
        mark = "*" if differs else " "
        lines.append(f"{mark} {mechanism.name:{width}}  {_value(value):10}  {source}".rstrip())
    return [*lines, "", "  * differs from the reference"]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value) if isinstance(value, Enum) else str(value)


def _mechanisms() -> list[Entry]:
    from rackproof.model.protocol import mechanisms  # noqa: PLC0415

    return [Entry(item.name, item, lambda item: item.text, _mechanism) for item in mechanisms()]


def _mechanism(mechanism: Any) -> list[str]:
    from rackproof.scenarios.stacks import load_stack, stack_names  # noqa: PLC0415

    lines = [*_paragraph(mechanism.text), "", f"  source: {mechanism.source}"]
    if mechanism.alternatives:
        lines.append(f"  one of: {', '.join(a.value for a in mechanism.alternatives)}")
    for name in stack_names():
        value = getattr(load_stack(name).protocol, mechanism.field)
        lines.append(f"  {name}: {_value(value)}")
    return lines


def _properties() -> list[Entry]:
    from rackproof.invariants import CATALOGUE  # noqa: PLC0415

    return [Entry(name, p, lambda p: p.statement, _property) for name, p in CATALOGUE.items()]


def _property(prop: Any) -> list[str]:
    lines = _paragraph(prop.statement)
    if prop.why:
        lines += _paragraph(f"Why it matters: {prop.why}")
    lines += _paragraph(f"Asked: {prop.scope.value}")
    if prop.premise:
        lines += _paragraph(f"Put to the test only where: {prop.premise.statement}")
    return lines + [f"  would have caught: {report}" for report in prop.catches]


def _faults() -> list[Entry]:
    from rackproof.model.scope import fault_names  # noqa: PLC0415

    known = {entry.name: entry for entry in _transitions()}
    return [known[name] for name in fault_names()]


def _transitions() -> list[Entry]:
    from rackproof.model.build import TRANSITIONS  # noqa: PLC0415

    return [Entry(kebab(t.name), t, lambda t: t.sentence, _transition) for t in TRANSITIONS]


def _transition(transition: Any) -> list[str]:
    lines = [line for part in transition.text.split("\n\n") for line in _paragraph(part)]
    chosen = ", ".join(f"{name}: ..." for name, _ in transition.parameters)
    name = kebab(transition.name)
    step = f"- {name}: {{{chosen}}}" if chosen else f"- {name}"
    return [*lines, f"  kind: {transition.kind.value}", f"  as a step: {step}"]


def _presets() -> list[Entry]:
    from rackproof.model.rack import presets  # noqa: PLC0415

    return [Entry(name, name, _rack, lambda name: [f"  {_rack(name)}"]) for name in presets()]


def _rack(name: str) -> str:
    from rackproof.model.rack import Part, load_rack  # noqa: PLC0415

    rack = load_rack(name)
    parts = ((part, len(rack.parts(part))) for part in (Part.GPU, Part.TRAY, Part.RACK))
    return ", ".join(counted(number, part.value) for part, number in parts)


def _scenarios(folder: str) -> list[Entry]:
    paths = sorted((SCENARIOS / folder).rglob("*.yaml"))
    return [Entry(path.stem, path, _title, _scenario) for path in paths]


def _title(path: Path) -> str:
    return _texts(path).get("name", "")


def _texts(path: Path) -> dict[str, str]:
    """The plain values at the top of a file, which is not loaded for it."""
    try:
        root = read(path)
    except ScenarioError as error:
        return {"name": str(error)}
    entries = root.entries if isinstance(root, Pairs) else ()
    return {key.text: value.text for key, value in entries if isinstance(value, Scalar)}


def _scenario(path: Path) -> list[str]:
    texts = _texts(path)
    lines: list[str] = []
    for key in ("name", "why", "notes"):
        if key in texts:
            lines += _paragraph(texts[key])
    lines += [f"  source: {texts['source']}"] if "source" in texts else []
    here = Path.cwd()
    return [
        *lines,
        f"  rackproof verify {path.relative_to(here) if here in path.parents else path}",
    ]


_ENTRIES: Final[dict[str, Callable[[], list[Entry]]]] = {
    "stacks": _stacks,
    "mechanisms": _mechanisms,
    "properties": _properties,
    "faults": _faults,
    "transitions": _transitions,
    "presets": _presets,
    "bugs": lambda: _scenarios("bugs"),
    "drills": lambda: _scenarios("drills"),
}
_ONE: Final = {
    "stacks": "stack",
    "mechanisms": "mechanism",
    "properties": "property",
    "faults": "fault",
    "transitions": "transition",
    "presets": "preset of a rack",
    "bugs": "bug",
    "drills": "drill",
}
