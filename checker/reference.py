"""What there is, and what each of it is: the texts of list and explain."""

from __future__ import annotations

import difflib
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import frozen

from rackproof.checker.bugs import BY, Bug, bugs
from rackproof.checker.glossary import TERMS, VERDICTS, Word
from rackproof.checker.verdicts import counted
from rackproof.scenarios.document import Pairs, Scalar, read
from rackproof.scenarios.errors import MOST_NAMES_SHOWN, ScenarioError, hint
from rackproof.scenarios.files import is_file
from rackproof.scenarios.steps import kebab
from rackproof.scenarios.worlds import InputError

if TYPE_CHECKING:
    from rackproof.model.kernel import Bound, Duration, Quantity, Timing

SCENARIOS: Final = Path(__file__).parents[1] / "scenarios"
WIDTH: Final = 92
LEAST_PREFIX: Final = 3
ALIKE: Final = 0.75


@frozen
class Entry:
    """A name, what it stands for, and how that is told: in a line, and whole."""

    name: str
    subject: Any
    line: Callable[[Any], str]
    text: Callable[[Any], list[str]]


def listing(kinds: Iterable[str], by: str | None = None) -> list[str]:
    """The names of each kind, each with a line on what it is; by: what bugs are grouped by."""
    kinds = list(kinds)
    lines: list[str] = []
    for kind in kinds:
        entries = _ENTRIES[kind]()
        if len(kinds) > 1:
            lines += ([""] if lines else []) + [f"{kind}:"]
        lines += _grouped(entries, _headings(kind, by))
    return lines


def _grouped(entries: Sequence[Entry], headings: Mapping[str, list[str]]) -> list[str]:
    """A line an entry, below the headings that it comes under, where there are any."""
    width = max((len(entry.name) for entry in entries), default=0)
    if not headings:
        return [_row(entry, width) for entry in entries]
    lines: list[str] = []
    for heading, names in headings.items():
        lines.append(f"  {heading}")
        lines += [f"  {_row(entry, width)}" for entry in entries if entry.name in names]
    return lines


def _headings(kind: str, by: str | None) -> dict[str, list[str]]:
    """What the entries of a kind are grouped under, with the names of those."""
    found: dict[str, list[str]] = {}
    if kind == "mechanisms":
        from rackproof.model.protocol import CONCERNS, mechanisms  # noqa: PLC0415

        for item in mechanisms():
            text = (CONCERNS[item.concern].__doc__ or "").split("\n\n")[0].rstrip(".")
            found.setdefault(f"{item.concern}: {text[:1].lower()}{text[1:]}", []).append(item.name)
    elif kind == "bugs":
        order = _order(by or BY[0])
        named = [(heading, bug.name) for bug in bugs() for heading in bug.headings(by or BY[0])]
        for heading, name in sorted(named, key=lambda pair: (order(pair[0]), pair)):
            found.setdefault(heading, []).append(name)
    return found


def _order(by: str) -> Callable[[str], int]:
    """How headings follow each other: as the catalogue, or the mechanisms, have them."""
    from rackproof.invariants import CATALOGUE  # noqa: PLC0415
    from rackproof.model.protocol import mechanisms  # noqa: PLC0415

    names = {"property": list(CATALOGUE), "mechanism": [item.name for item in mechanisms()]}
    place = {name: i for i, name in enumerate(names.get(by, ()))}
    return lambda heading: place.get(heading.split(" / ")[0], len(place))


def explanation(name: str) -> list[str]:
    """All that is known of a name, whatever kinds of things it names; or of a scenario's file."""
    if name.endswith((".yaml", ".yml")) and is_file(name):
        return _scenario(Path(name))
    wanted = kebab(_bare(name)).replace(" ", "-")
    kinds = ["stacks"] if name.startswith("stack:") else list(_ENTRIES)
    lines: list[str] = []
    names: set[str] = set()
    told = ""
    for kind in kinds:
        for entry in _ENTRIES[kind]():
            names.add(entry.name)
            if entry.name == wanted and (told, kind) != ("faults", "transitions"):
                lines += ([""] if lines else []) + [f"{entry.name} ({_ONE[kind]})", ""]
                lines += entry.text(entry.subject)
                told = kind
    if lines:
        return lines
    begun = [stem for stem in bundled() if _begins(stem, wanted)]
    if len(begun) == 1:
        return explanation(begun[0])
    told = one_of(begun) if begun else hint(wanted, sorted(names))
    raise InputError(f"there is nothing called {name!r}{told}")


def bundled() -> dict[str, Path]:
    """The bundled scenarios by the names of their files, without the ending.

    Of two with one name, one to verify before one to simulate.
    """
    folders = ("performance", "drills", "bugs")
    entries = [entry for folder in folders for entry in _scenarios(folder)]
    return {entry.name: entry.subject for entry in entries}


def nearest_target(text: str) -> str:
    """What may have been meant by a target that is no file: a stack or a bundled scenario."""
    from rackproof.scenarios.stacks import stack_names  # noqa: PLC0415

    wanted = kebab(_bare(Path(text).name)).lower()
    known = {name: f"stack:{name}" for name in stack_names()}
    if wanted in known:
        return one_of([known[wanted]])
    known.update({stem: str(_from_here(path)) for stem, path in bundled().items()})
    near = [name for name in known if _begins(name, wanted)]
    near = near or difflib.get_close_matches(wanted, known, n=1, cutoff=ALIKE)
    return one_of([known[name] for name in near])


def one_of(names: list[str]) -> str:
    """The end of a message that says what may have been meant."""
    if len(names) < 2:
        return f"; did you mean {names[0]}?" if names else ""
    more = len(names) - MOST_NAMES_SHOWN
    shown = ", ".join(names[:MOST_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"; did you mean one of: {shown}?"


def _bare(name: str) -> str:
    """A name without what a command line puts around it: stack:dynamo, dynamo-7930.yaml."""
    return name.removeprefix("stack:").removesuffix(".yaml").removesuffix(".yml")


def _begins(name: str, start: str) -> bool:
    return len(start) >= LEAST_PREFIX and name.startswith(start)


def _from_here(path: Path) -> Path:
    """A path as one would write it in this folder."""
    here = Path.cwd()
    return path.relative_to(here) if here in path.parents else path


def _row(entry: Entry, width: int) -> str:
    line = entry.line(entry.subject)
    short = textwrap.shorten(line, max(WIDTH - width, 30), placeholder=" ...")
    return f"  {entry.name:{width}}  {short}".rstrip()


def _paragraph(text: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


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
    lines += ["", "  * differs from the reference"]
    stated = [q for q in stack.timeouts.values() if q is not _timing().quantities[q.name]]
    wide = max((len(quantity.name) for quantity in stated), default=0)
    lines += ["", "  timeouts it states:"] if stated else []
    lines += [f"    {q.name:{wide}}  {_amount(q):8}  {q.source}".rstrip() for q in stated]
    return lines + _bugs("bugs of it", (bug for bug in bugs() if bug.stack == name), "properties")


def _bugs(heading: str, found: Iterable[Bug], told: str) -> list[str]:
    """The bundled bugs that something has to do with, each with its properties or mechanisms."""
    rows = [(bug.name, ", ".join(getattr(bug, told))) for bug in found]
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"    {name:{width}}  {words}".rstrip() for name, words in rows]
    return ["", f"  {heading}:", *lines] if rows else []


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value) if isinstance(value, Enum) else str(value)


def _mechanisms() -> list[Entry]:
    from rackproof.model.protocol import mechanisms  # noqa: PLC0415

    return [Entry(item.name, item, lambda item: item.text, _mechanism) for item in mechanisms()]


def _mechanism(mechanism: Any) -> list[str]:
    """What it does, its alternatives, its value in each stack, and what its absence causes."""
    from rackproof.scenarios.stacks import load_stack, stack_names  # noqa: PLC0415

    text = mechanism.text.replace("`", "")
    lines = [*_paragraph(text), "", *_paragraph(f"source: {mechanism.source}")]
    allowed = ", ".join(map(_value, mechanism.alternatives or (True, False)))
    lines += [f"  one of: {allowed} (the reference: {_value(mechanism.default)})"]
    for alternative in mechanism.alternatives or ():
        lines += _paragraph(f"{alternative.value}: {alternative.text}")
    lines += ["", "  in each stack:"]
    stacks = {name: load_stack(name) for name in stack_names()}
    values = {name: _value(getattr(s.protocol, mechanism.field)) for name, s in stacks.items()}
    width, wide = max(map(len, values)), max(map(len, values.values()))
    for name, value in values.items():
        source = stacks[name].sources.get(mechanism.name, "")
        lines.append(f"    {name:{width}}  {value:{wide}}  {source}".rstrip())
    wrong = (bug for bug in bugs() if mechanism.name in bug.mechanisms)
    return lines + _bugs("bugs that come of it, and what catches them", wrong, "properties")


def _properties() -> list[Entry]:
    from rackproof.invariants import CATALOGUE  # noqa: PLC0415

    return [Entry(name, p, lambda p: p.statement, _property) for name, p in CATALOGUE.items()]


def _property(prop: Any) -> list[str]:
    lines = _paragraph(prop.statement)
    if prop.why:
        lines += _paragraph(f"Why it matters: {prop.why}")
    if prop.broken:
        lines += _paragraph(f"Broken: {prop.broken}")
    lines += _paragraph(f"Asked: {prop.scope.value}")
    if prop.premise:
        lines += _paragraph(f"Put to the test only where: {prop.premise.statement}")
    if prop.lemmas:
        told = " ".join(lemma.statement for lemma in prop.chain[:-1])
        lines += _paragraph(f"Lemmas for a proof by induction: {told}")
    lines += [f"  would have caught: {report}" for report in prop.catches]
    violating = (bug for bug in bugs() if prop.name in bug.properties)
    return lines + _bugs("bugs that violate it, and what they come of", violating, "mechanisms")


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
    duration = _timing().durations[transition.duration]
    takes = _paragraph(f"takes: {_span(duration)} ({duration.name}: {duration.text})")
    return [*lines, f"  kind: {transition.kind.value}", *takes, f"  as a step: {step}"]


@cache
def _timing() -> Timing:
    """The durations and quantities of the reference, for what the rack study deploys."""
    from rackproof.model.protocol import Protocol  # noqa: PLC0415
    from rackproof.model.rack import place, preset  # noqa: PLC0415
    from rackproof.model.scope import Scope  # noqa: PLC0415
    from rackproof.model.timing.clock import timing  # noqa: PLC0415

    return timing(Protocol(), Scope(), place(preset("nvl72"), prefill=1, decode=1))


def _durations() -> list[Entry]:
    found = _timing().durations.values()
    return [Entry(d.name, d, lambda d: f"({_span(d)}) {d.text}", _duration) for d in found]


def _duration(duration: Duration) -> list[str]:
    from rackproof.model.build import TRANSITIONS  # noqa: PLC0415

    names = [kebab(t.name) for t in TRANSITIONS if t.duration == duration.name]
    bounds = [f"  takes: {_span(duration)}"]
    return [*_paragraph(duration.text), *bounds, *_paragraph(f"of: {', '.join(names)}")]


def _span(duration: Duration) -> str:
    """The bounds of a duration in words."""
    least = _bound(duration.least)
    if duration.most is None:
        return f"{least} or more" if duration.least.times else "any time"
    most = _bound(duration.most)
    return least if most == least else f"{least} to {most}"


def _bound(bound: Bound) -> str:
    terms = [name if n == 1 else f"{n:g} x {name}" for name, n in bound.times.items()]
    return " + ".join(terms) or "no time"


def _quantities() -> list[Entry]:
    found = _timing().quantities.values()
    return [Entry(q.name, q, lambda q: f"({_amount(q)}) {q.text}", _quantity) for q in found]


def _amount(quantity: Quantity) -> str:
    if callable(quantity.value):
        return "by the state"
    return "not set" if quantity.value == math.inf else f"{quantity.value:g} s"


def _quantity(quantity: Quantity) -> list[str]:
    """What it is, its value and source; of what is set, its value in each stack."""
    from rackproof.model.timing.deployment import TIMES  # noqa: PLC0415

    lines = _paragraph(quantity.text)
    lines += _paragraph(f"the reference: {_amount(quantity)}; source: {quantity.source}")
    key = "timeouts" if quantity.chosen else "deployment"
    if quantity.chosen or quantity.name in TIMES:
        lines.append(f"  as a key: {key}: {{{quantity.name}: {_amount(quantity)}}}")
    spans = _timing().durations.values()
    made = [d.name for d in spans if quantity.name in {*d.least.times, *_most(d)}]
    lines += _paragraph(f"part of: {', '.join(made)}")
    return lines + (_in_stacks(quantity.name) if quantity.chosen else [])


def _most(duration: Duration) -> Mapping[str, float]:
    return duration.most.times if duration.most else {}


def _in_stacks(name: str) -> list[str]:
    """What each stack that states it has for a timeout."""
    from rackproof.scenarios.stacks import load_stack, stack_names  # noqa: PLC0415

    reference = _timing().quantities[name]
    found = {stack: load_stack(stack).timeouts[name] for stack in stack_names()}
    stated = {stack: its for stack, its in found.items() if its is not reference}
    width = max(map(len, stated), default=0)
    rows = [f"    {stack:{width}}  {_amount(q):8}  {q.source}" for stack, q in stated.items()]
    return ["", "  in the stacks that state it:", *rows] if rows else []


def _presets() -> list[Entry]:
    from rackproof.model.rack import presets  # noqa: PLC0415

    return [Entry(name, name, _rack, lambda name: [f"  {_rack(name)}"]) for name in presets()]


def _rack(name: str) -> str:
    from rackproof.model.rack import Part, load_rack  # noqa: PLC0415

    rack = load_rack(name)
    parts = ((part, len(rack.parts(part))) for part in (Part.GPU, Part.TRAY, Part.RACK))
    return ", ".join(counted(number, part.value) for part, number in parts)


@cache
def _scenarios(folder: str) -> Sequence[Entry]:
    """The bundled scenarios of a folder, where they really are: an editable install links them."""
    paths = sorted((SCENARIOS / folder).rglob("*.yaml"))
    return [Entry(path.stem, path.resolve(), _title, _scenario) for path in paths]


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
    if path.parent.name == "exams":
        lines.append(
            f"  rackproof verify stack:NAME --exam {path.stem}  # NAME: rackproof list stacks"
        )
    command = "simulate" if path.parent.name == "performance" else "verify"
    return [*lines, f"  rackproof {command} {_from_here(path)}"]


def _questions() -> list[Entry]:
    from rackproof.checker.performance.questions import QUESTIONS, asked  # noqa: PLC0415

    return [Entry(name, name, asked, _question) for name in QUESTIONS]


def _question(name: str) -> list[str]:
    from rackproof.checker.performance.questions import asked  # noqa: PLC0415

    example = _from_here((SCENARIOS / "performance" / "rack-study.yaml").resolve())
    return [*_paragraph(asked(name)), f"  rackproof simulate {example} --ask {name}"]


def _words(words: Mapping[str, Word]) -> list[Entry]:
    return [Entry(name, word, lambda word: word.text, _word) for name, word in words.items()]


def _word(word: Word) -> list[str]:
    """What a word means, and what to do next."""
    return _paragraph(word.text) + (_paragraph(f"Next: {word.do}") if word.do else [])


def scope_texts() -> dict[str, str]:
    """What each field of a scope is, in a sentence or two."""
    from rackproof.model.request import Request  # noqa: PLC0415
    from rackproof.model.scope import Scope  # noqa: PLC0415

    names = [field.name for field in attrs.fields(Scope)]
    texts = _texts_of(Scope, names)
    shapes = _texts_of(Request, [field.name for field in attrs.fields(Request)])
    found = {name: texts.get(name, f"how many {name}.") for name in names}
    for name in found.keys() & shapes.keys():
        found[name] = f"of every request: {shapes[name][:1].lower()}{shapes[name][1:]}"
    return {name: text[:1].upper() + text[1:] for name, text in found.items()}


def fault_texts() -> dict[str, str]:
    """What happens in each fault, in a sentence."""
    return {entry.name: entry.line(entry.subject) for entry in _faults()}


def _scope() -> list[Entry]:
    from rackproof.model.scope import Scope  # noqa: PLC0415

    texts = scope_texts()
    return [_size(field, texts[field.name]) for field in attrs.fields(Scope)]


def _size(field: Any, text: str) -> Entry:
    """A key of a scope."""
    is_plain = isinstance(field.default, int | str)
    default = _value(field.default) if is_plain else "not set"
    name = kebab(field.name)
    lines = [*_paragraph(text), f"  default: {default}"]
    lines.append(f"  as a key: scope: {{{name}: {default if is_plain else '...'}}}")
    return Entry(name, name, lambda _: f"(default: {default}) {text}", lambda _: lines)


def _texts_of(kind: type, names: list[str]) -> dict[str, str]:
    """What the docstring of a class says of each field."""
    text = " ".join((kind.__doc__ or "").split())
    name = "|".join(names)
    parts = re.split(rf"(?:^|(?<=\. ))((?:[a-z_]+, )*(?:{name})(?:, [a-z_]+)*): ", text)
    return {
        each: told.strip()
        for those, told in zip(parts[1::2], parts[2::2], strict=True)
        for each in those.split(", ")
    }


_ENTRIES: Final[dict[str, Callable[[], Sequence[Entry]]]] = {
    "stacks": _stacks,
    "mechanisms": _mechanisms,
    "properties": _properties,
    "faults": _faults,
    "transitions": _transitions,
    "presets": _presets,
    "bugs": lambda: _scenarios("bugs"),
    "drills": lambda: _scenarios("drills"),
    "exams": lambda: _scenarios("exams"),
    "performance": lambda: _scenarios("performance"),
    "questions": _questions,
    "scope": _scope,
    "quantities": _quantities,
    "durations": _durations,
    "verdicts": lambda: _words(VERDICTS),
    "terms": lambda: _words(TERMS),
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
    "exams": "exam",
    "performance": "file for simulate",
    "questions": "question for simulate",
    "scope": "key of a scope",
    "quantities": "quantity of time",
    "durations": "duration",
    "verdicts": "verdict",
    "terms": "term",
}
