"""The stacks as data: which mechanisms each has, and where that is known from.

::

    stack: dynamo
    version: 1.6.1
    source: https://github.com/ai-dynamo/dynamo
    scope: {retry-limit: 1}
    mechanisms:
      finish-latch: {value: false, source: lib/llm/src/migration.rs}
    timeouts:
      inhibition: {value: 5 s, source: DYN_RUNTIME_INHIBITED_DURATION_SECS}

A mechanism that a stack does not name is as in ``Protocol``, the reference, and so is a timeout as
in ``TIMEOUTS``; ``none`` is one that is not set. ``scope`` says how
often each layer tries again where an exam or a scenario does not; ``pairs: true``, that no worker
serves both halves of a request, so that pairs sit the exams of such workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import attrs
from attrs import evolve, field, frozen

from rackproof.model.kernel import Quantity
from rackproof.model.protocol import (
    CONCERNS,
    Mechanism,
    Protocol,
    mechanisms,
    with_mechanisms,
)
from rackproof.model.scope import Scope, limits
from rackproof.model.timing.timeouts import TIMEOUTS
from rackproof.scenarios.clocks import read_stack_timeouts
from rackproof.scenarios.document import read
from rackproof.scenarios.errors import Problems, unknown
from rackproof.scenarios.places import Place
from rackproof.scenarios.schema import DEFAULT_STACK
from rackproof.scenarios.worlds import InputError

RETRIES: Final = ("retry_limit", "gateway_retries", "client_retries")
"""The sizes of a scope that a stack has values of its own for."""
FOLDER: Final = Path(__file__).parent / "stacks"


@frozen
class Stack:
    """A stack: its protocol, and the source of each value that it states.

    concerns: what its file speaks of; of any other nothing is known of the stack. scope: the
    retries it is run with, by the keys of a scope. pairs: it serves by prefill and decode workers
    alone. timeouts: what is set in it, each with its source.
    """

    name: str
    protocol: Protocol = field(factory=Protocol)
    version: str | None = None
    source: str | None = None
    notes: str | None = None
    sources: dict[str, str] = field(factory=dict)
    concerns: frozenset[str] = frozenset(CONCERNS)
    scope: dict[str, int] = field(factory=dict)
    pairs: bool = False
    timeouts: Mapping[str, Quantity] = field(default=TIMEOUTS)


def stack_names() -> list[str]:
    """The names of the stacks there are."""
    return sorted({DEFAULT_STACK, *(path.stem for path in FOLDER.glob("*.yaml"))})


def stack_file(name: str) -> Path | None:
    """The file of a stack, where it really is: an editable install links it."""
    path = FOLDER / f"{name}.yaml"
    return path.resolve() if path.is_file() else None


def check_stack(name: str) -> str:
    """The name of a stack that there is; ``InputError`` with the nearest one otherwise."""
    if name not in stack_names():
        raise InputError(unknown("stack", name, stack_names()))
    return name


@cache
def load_stack(name: str) -> Stack:
    """Read a stack; ``ScenarioError`` names file, line and key of every mistake."""
    path = FOLDER / f"{name}.yaml"
    if name == DEFAULT_STACK and not path.exists():
        return Stack(name)
    return read_stack(path)


def read_stack(path: Path) -> Stack:
    """Read the stack in a file."""
    problems = Problems(path)
    keys = ("stack", "version", "source", "notes", "scope", "pairs", "mechanisms", "timeouts")
    found = Place(read(path), "", 0, problems).record(keys, "a stack")
    version, source, notes = (found[k].text() if k in found else None for k in keys[1:4])
    if "stack" not in found:
        problems.add(1, "stack", "is missing: the name of the stack, as its file has it")
    elif found["stack"].text() not in (None, path.stem):
        found["stack"].fail(f"the file is called {path.stem}")
    stack = Stack(path.stem, version=version, source=source, notes=notes)
    if "scope" in found:
        stack = evolve(stack, scope=_retries(found["scope"]))
    if "pairs" in found:
        stack = evolve(stack, pairs=bool(found["pairs"].flag()))
    if "mechanisms" in found:
        stack = _with_mechanisms(stack, found["mechanisms"])
    if "timeouts" in found:
        stack = evolve(stack, timeouts=read_stack_timeouts(found["timeouts"]))
    problems.check()
    return stack


def _retries(place: Place) -> dict[str, int]:
    """How often each layer tries again in this stack."""
    known = {a.name.replace("_", "-"): a for a in attrs.fields(Scope) if a.name in RETRIES}
    found = place.record(known, "a map of retries")
    counts = {name: item.whole(*(limits(known[name]) or (0, 0))) for name, item in found.items()}
    return {name: count for name, count in counts.items() if count is not None}


def _with_mechanisms(stack: Stack, place: Place) -> Stack:
    known = {mechanism.name: mechanism for mechanism in mechanisms()}
    values, sources = {}, {}
    for name, item in place.record(known, "a map of mechanisms").items():
        parts = item.record(("value", "source"), "its value and source") if item.is_map else {}
        if item.is_map and "value" not in parts:
            item.fail("the value is missing")
            continue
        value = read_mechanism(known[name], parts.get("value", item))
        if value is not None:
            values[name] = value
        if "source" in parts:
            sources[name] = parts["source"].text() or ""
    return evolve(
        stack,
        protocol=with_mechanisms(stack.protocol, values),
        sources=sources,
        concerns=frozenset(known[name].concern for name in values),
    )


def read_mechanism(mechanism: Mechanism, place: Place) -> object:
    """The value of a mechanism as it is written; None after noting a problem."""
    if mechanism.alternatives is None:
        return place.flag()
    return place.choice([a.value for a in mechanism.alternatives], "alternative")
