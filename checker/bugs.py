"""The bundled bugs by what they are about: the stack, the property violated, the mechanism missed.

They are read as plain documents and no world is built of them, so that a list is quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from attrs import frozen

from rackproof.model.protocol import Protocol, mechanisms, with_mechanisms
from rackproof.scenarios.document import Items, Node, Pairs, read
from rackproof.scenarios.schema import DEFAULT_STACK
from rackproof.scenarios.stacks import load_stack

FOLDER: Final = Path(__file__).parents[1] / "scenarios" / "bugs"
BY: Final = ("property", "mechanism", "stack")


@frozen
class Bug:
    """A bundled bug.

    properties: those it expects to be violated. mechanisms: those that its fix puts right (where
    the fix changes none: those in which it differs from its stack).
    """

    name: str
    stack: str
    properties: tuple[str, ...]
    mechanisms: tuple[str, ...]

    def headings(self, by: str) -> list[str]:
        """What it is listed under."""
        match by:
            case "stack":
                return [self.stack]
            case "mechanism":
                return list(self.mechanisms) or ["no mechanism"]
            case _:
                missed = ", ".join(self.mechanisms)
                return [f"{name} / {missed}" if missed else name for name in self.properties]


@cache
def bugs() -> tuple[Bug, ...]:
    """Every bundled bug, by name."""
    return tuple(read_bug(path) for path in sorted(FOLDER.rglob("*.yaml")))


def read_bug(path: Path) -> Bug:
    """What a bug is about."""
    document = _map(_plain(read(path)))
    protocol, expect = _map(document.get("protocol")), _map(document.get("expect"))
    fix = _map(_map(document.get("fix")).get("protocol"))
    violated = [
        name for name, told in expect.items() if told == "violated" or "violated" in _map(told)
    ]
    reported = _protocol(protocol)
    fixed = _protocol(fix if "stack" in fix else {**protocol, **fix})
    stack = str(protocol.get("stack", DEFAULT_STACK))
    missed = _differences(reported, fixed) or _differences(reported, load_stack(stack).protocol)
    return Bug(path.stem, stack, tuple(violated), tuple(missed))


def _protocol(values: Mapping[str, object]) -> Protocol:
    """The protocol that the ``protocol`` of a scenario describes."""
    changes = {name: value for name, value in values.items() if name != "stack"}
    stack = load_stack(str(values.get("stack", DEFAULT_STACK)))
    return with_mechanisms(stack.protocol, changes)


def _differences(one: Protocol, other: Protocol) -> list[str]:
    return [
        item.name for item in mechanisms() if getattr(one, item.field) != getattr(other, item.field)
    ]


def _plain(node: Node) -> object:
    """A document as maps, lists and values."""
    if isinstance(node, Pairs):
        return {key.text: _plain(item) for key, item in node.entries}
    return [_plain(item) for item in node.items] if isinstance(node, Items) else node.value


def _map(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
