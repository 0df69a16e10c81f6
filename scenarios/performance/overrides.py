"""What a variant, or the command line, changes: maps laid over maps, before anything is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rackproof.scenarios.document import Items, Node, Pairs, Scalar, parse
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.performance.deployments import ONLY_AGGREGATED, ONLY_DISAGGREGATED, WAYS
from rackproof.scenarios.performance.workloads import KINDS
from rackproof.scenarios.worlds import InputError

_KINDS: Final = (
    (frozenset(ONLY_AGGREGATED), frozenset(ONLY_DISAGGREGATED)),
    tuple(frozenset({kind}) for kind in KINDS),
)
"""Sets of keys of which a map has one, and which makes it another kind of thing."""
_INSTEAD: Final = (*_KINDS, tuple(frozenset({way}) for way in WAYS))
"""Sets of keys of which a map has one: where a change brings another, the first goes."""


def merged(base: Node, over: Node) -> Node:
    """The base with changes: maps entry by entry, all else as a whole; an empty value removes."""
    if not isinstance(base, Pairs) or not isinstance(over, Pairs):
        return over
    there = {key.text for key, _ in base.entries}
    gone = _gone(key.text for key, _ in over.entries)
    if gone & there:
        gone.add("routing")  # policies are of the pools that go
    changes = {key.text: (key, node) for key, node in over.entries}
    entries = []
    for key, node in base.entries:
        if key.text in changes:
            name, change = changes[key.text]
            entries.append((name, merged(node, change)))
        elif key.text not in gone:
            entries.append((key, node))
    kept = [pair for pair in entries if not _is_nothing(pair[1])]
    new = [pair for pair in over.entries if pair[0].text not in there]
    return Pairs(over.line, (*kept, *new))


def turns(base: Node, change: Node) -> bool:
    """Whether a change makes another kind of deployment or workload out of the base."""
    if not isinstance(base, Pairs) or not isinstance(change, Pairs):
        return False
    if _gone(_names(change), _KINDS) & _names(base):
        return True
    there = {key.text: node for key, node in base.entries}
    return any(turns(there[k.text], node) for k, node in change.entries if k.text in there)


def _names(node: Pairs) -> set[str]:
    """The keys of a map, and the pools that its routing speaks of."""
    names = {key.text for key, _ in node.entries}
    for key, value in node.entries:
        if key.text == "routing" and isinstance(value, Pairs):
            names |= _names(value)
    return names


def changed_key(change: Node) -> str:
    """The dotted key that an assignment changes."""
    names = []
    while isinstance(change, Pairs) and len(change.entries) == 1:
        ((key, change),) = change.entries
        names.append(key.text)
    return ".".join(names)


def _gone(
    keys: Iterable[str], instead: Iterable[tuple[frozenset[str], ...]] = _INSTEAD
) -> set[str]:
    """The keys that make room for these."""
    new = set(keys)
    gone: set[str] = set()
    for groups in instead:
        chosen = [group for group in groups if new & group]
        if chosen:
            gone |= set().union(*groups) - set().union(*chosen)
    return gone


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def assignment(text: str) -> Node:
    """KEY=VALUE as the map that would say the same: a.b=3 is {a: {b: 3}}."""
    key, equals, value = text.partition("=")
    names = key.strip().split(".")
    if not equals or not all(names):
        raise InputError(f"--set {text}: write KEY=VALUE, such as deployment.prefill.instances=9")
    try:
        node = parse(value, "") if value.strip() else Scalar(0, None, "")
    except ScenarioError as error:
        raise InputError(f"--set {text}: {error.problems[0].message}") from None
    node = _nowhere(node)
    for name in reversed(names):
        node = Pairs(0, ((Scalar(0, name, name), node),))
    return node


def _nowhere(node: Node) -> Node:
    """A value without lines: it stands in no file."""
    match node:
        case Scalar(_, value, text):
            return Scalar(0, value, text)
        case Items(_, items):
            return Items(0, tuple(map(_nowhere, items)))
        case Pairs(_, entries):
            pairs = ((Scalar(0, k.value, k.text), _nowhere(n)) for k, n in entries)
            return Pairs(0, tuple(pairs))
