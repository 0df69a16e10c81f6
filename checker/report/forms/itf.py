"""A run in the Informal Trace Format of Apalache and Quint: its states, from the plain values.

A variable for each field of the world; a nested state is a record, what there is one each of is a
map from names, a set is one of names, an integer ``#bigint``; none is the text ``none``. Constants,
which no transition can change, are left out. What happened before a state is in its ``#meta``.
"""

from __future__ import annotations

import json
from typing import Any, Final

from rackproof.checker.explain import Explanation
from rackproof.model.kernel import System
from rackproof.model.kernel.domains import Interval, Truth
from rackproof.model.kernel.schema import (
    FixedShape,
    RecordShape,
    ScalarShape,
    SetShape,
    Shape,
    TupleShape,
)
from rackproof.scenarios.fields import in_words
from rackproof.scenarios.steps import kebab

FORMAT: Final = "ITF"
SPECIFICATION: Final = "https://apalache-mc.org/docs/adr/015adr-trace.html"


def itf(explanation: Explanation) -> str:
    """The trace as JSON; of a loop, the index of the state to which it comes back."""
    trace = explanation.trace
    states = [_state(explanation, number) for number in range(len(trace.steps) + 1)]
    data: dict[str, Any] = {
        "#meta": _meta(explanation),
        "params": [],
        "vars": [name for name in states[0] if name != "#meta"],
        "states": states,
    }
    if trace.loop is not None:
        data["loop"] = trace.loop
    return json.dumps(data, indent=1) + "\n"


def _meta(explanation: Explanation) -> dict[str, Any]:
    prop = explanation.prop
    return {
        "format": FORMAT,
        "format-description": SPECIFICATION,
        "description": explanation.title,
        "source": explanation.trace.system.name,
        **({"status": "violation", "violated": prop.name} if prop else {}),
        "reproduce": explanation.footing.reproduce,
    }


def _state(explanation: Explanation, number: int) -> dict[str, Any]:
    """The state after so many steps."""
    system = explanation.trace.system
    meta: dict[str, Any] = {"index": number}
    if number:
        step = explanation.trace.steps[number - 1]
        meta |= {
            "transition": kebab(step.firing.transition.name),
            "arguments": step.firing.named(system),
            "kind": step.firing.transition.kind.value,
            "words": step.words,
        }
    found = _value(system, system.schema.shape, explanation.states[number])
    return {"#meta": meta, **found}


def _value(system: System, shape: Shape, value: Any) -> Any:
    """A plain value of a shape."""
    match shape:
        case ScalarShape(slot):
            return _scalar(system, slot, value)
        case SetShape(slots):
            sort = system.schema.slots[slots[0]].lanes[-1][0] if slots else None
            names = [system.label(sort, index) for index in sorted(value)] if sort else []
            return {"#set": names}
        case TupleShape(sort, elements):
            pairs = zip(elements, value, strict=True)
            found = enumerate(_value(system, inner, element) for inner, element in pairs)
            return {"#map": [[system.label(sort, index), element] for index, element in found]}
        case RecordShape(_, fields):
            varying = [(name, inner) for name, inner in fields if not _is_constant(inner)]
            return {name: _value(system, inner, getattr(value, name)) for name, inner in varying}
    raise AssertionError("a constant is left out")


def _is_constant(shape: Shape) -> bool:
    match shape:
        case FixedShape():
            return True
        case TupleShape(_, elements):
            return all(map(_is_constant, elements))
        case RecordShape(_, fields):
            return all(_is_constant(inner) for _, inner in fields)
    return False


def _scalar(system: System, slot: int, value: object) -> bool | str | dict[str, str]:
    domain = system.schema.slots[slot].domain
    if isinstance(domain, Truth):
        return bool(value)
    words = in_words(system, domain, value)
    return {"#bigint": words} if isinstance(domain, Interval) else words
