"""A scenario to begin with: a stack, and in comments whatever can be chosen.

What is commented out begins with ``#`` and no space, and each such line is valid once the ``#`` is
taken away; what is said of it begins with ``#`` and a space.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, Final

import attrs

from rackproof.checker.exams import differences
from rackproof.checker.reference import fault_texts, scope_texts
from rackproof.checker.report.setting import written
from rackproof.invariants import CATALOGUE
from rackproof.model.protocol import Mechanism, mechanisms
from rackproof.model.rack import presets
from rackproof.model.scope import MOST_FAULTS, Scope, limits
from rackproof.model.timing.deployment import TIMES, Deployment
from rackproof.scenarios.schema import VERSION
from rackproof.scenarios.settings import DEFAULT_INSTANCES, DEFAULT_PRESET, ROLES
from rackproof.scenarios.stacks import Stack, load_stack
from rackproof.scenarios.steps import kebab

WIDTH: Final = 100
FIRST_FAULT: Final = "crash"
FIRST_TIMEOUT: Final = "lease"
FIRST_PART: Final = "model"
FREE: Final = {
    "why": "Whom it hurts, and how",
    "source": "Where it was reported",
    "notes": "Anything else",
}


def template(name: str, file: str) -> str:
    """A scenario of a stack, as it would be written to a file."""
    stack = load_stack(name)
    lines = [
        *_said(
            f"A scenario of {' '.join(part for part in (name, stack.version) if part)}. What is "
            "commented out without a space behind the # can be uncommented as it stands, line by "
            "line; docs/scenarios.md tells every key."
        ),
        f"rackproof: {VERSION}",
        f"name: What happens to {name}, in one line",
        *(f"#{key}: {text}" for key, text in FREE.items()),
        "",
        *_protocol(stack),
        "",
        *_rack(),
        "",
        *_scope(stack),
        "",
        *_time(stack),
        "",
        *_expect(name),
        "",
        *_said("Next:"),
        f"#   rackproof verify {file}",
        f"#   rackproof explain stack:{name}",
        "#   rackproof list mechanisms",
    ]
    return "\n".join(lines) + "\n"


def _said(text: str, indent: str = "") -> list[str]:
    """A text as lines of a comment."""
    start = f"{indent}# "
    return textwrap.wrap(
        text, WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False
    )


def _protocol(stack: Stack) -> Iterator[str]:
    yield "protocol:"
    yield f"  stack: {stack.name}"
    differing = differences(stack.name)
    if differing:
        yield from _said("Where it differs from the reference, with the reference's value:", "  ")
    else:
        yield from _said("Any mechanism may differ from it: rackproof list mechanisms", "  ")
    for mechanism in mechanisms():
        if mechanism.name in differing:
            yield from _said(mechanism.text, "  ")
            value = written(differing[mechanism.name])
            own = written(getattr(stack.protocol, mechanism.field))
            yield f"  #{mechanism.name}: {value}  # {_allowed(mechanism)}; {stack.name} has {own}"


def _allowed(mechanism: Mechanism) -> str:
    return _one_of(written(value) for value in mechanism.alternatives or (True, False))


def _one_of(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _rack() -> Iterator[str]:
    yield "rack:"
    yield f"  preset: {DEFAULT_PRESET}  # {_one_of(presets())}"
    for role in ROLES:
        count = DEFAULT_INSTANCES.get(role)
        yield f"  {role}: {count}" if count else f"  #{role}: 2"


def _scope(stack: Stack) -> Iterator[str]:
    texts = scope_texts()
    yield "scope:"
    for size in attrs.fields(Scope):
        if size.name != "faults":
            yield from _said(texts[size.name], "  ")
            yield f"  {_size(size, stack)}  # {_range(size, stack)}"
    yield from _said("How often each fault may happen.", "  ")
    yield f"  faults:  # each 0 to {MOST_FAULTS}"
    for name, text in fault_texts().items():
        yield from _said(text, "    ")
        yield f"    {'' if name == FIRST_FAULT else '#'}{name}: 1"


def _time(stack: Stack) -> Iterator[str]:
    yield from _said(
        "What an operator sets (none: not set) and what is served on what; they say how long a run "
        "takes, and under which times it can happen, never what can happen at all."
    )
    yield "timeouts:"
    for quantity in stack.timeouts.values():
        yield from _said(quantity.text, "  ")
        comment = "" if quantity.name == FIRST_TIMEOUT else "#"
        yield f"  {comment}{quantity.name}: {_time_of(quantity.value)}"
    yield "deployment:"
    for attribute in attrs.fields(Deployment):
        if attribute.default is not None:
            key, comment = kebab(attribute.name), "" if attribute.name == FIRST_PART else "#"
            value = _time_of(attribute.default) if key in TIMES else written(attribute.default)
            yield f"  {comment}{key}: {value}"


def _time_of(value: object) -> str:
    """A time as a scenario writes it."""
    return "none" if value in (math.inf, 0.0) else f"{value:g} s"


def _size(size: attrs.Attribute[Any], stack: Stack) -> str:
    """A size as it is by default; what the stack has a value of its own for, as it has it."""
    name = kebab(size.name)
    if name in stack.scope:
        return f"{name}: {stack.scope[name]}"
    return f"#{name}: {written(_default(size))}"


def _range(size: attrs.Attribute[Any], stack: Stack) -> str:
    """The default of a size and its limits."""
    default = "as tokens" if size.default is None else written(size.default)
    bounds, own = limits(size), stack.scope.get(kebab(size.name))
    allowed = f"{bounds[0]} to {bounds[1]}" if bounds else "true or false"
    if own is not None:
        return f"{allowed}, by default {own} as {stack.name} has it"
    return f"{allowed}, by default {default}"


def _default(size: attrs.Attribute[Any]) -> object:
    return Scope().tokens if size.default is None else size.default


def _expect(name: str) -> Iterator[str]:
    yield from _said(
        "What is to be: holds or violated, for each property that counts (rackproof list "
        "properties). Without it, no property may be violated."
    )
    yield f"#expect: {{{next(iter(CATALOGUE))}: holds}}"
    for mechanism, value in list(differences(name).items())[:1]:
        yield from _said("A second run with something changed, in which the violated hold:")
        yield f"#fix: {{protocol: {{{mechanism}: {written(value)}}}}}"
