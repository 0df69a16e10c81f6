"""What lowering yields: decision trees of guarded updates over the slots of one model.

This is all that the engines know of a model; from here on there are only integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from rackproof.checker.lowering.arena import Arena, Node
from rackproof.model.kernel import Firing, ModelError, Property, System


@frozen
class Test:
    """Go one way where the condition (a truth value) holds, the other where it does not."""

    __test__ = False

    condition: Node
    yes: Tree
    no: Tree


@frozen
class Update:
    """The transition is enabled: these slots get these values, all at once; the rest stays."""

    writes: tuple[tuple[int, Node], ...]


@frozen
class Disabled:
    """The transition is not enabled here."""


@frozen
class Raises:
    """The plain function raises here, or a field leaves its domain: a mistake in the model if
    reached.
    """

    message: str
    where: str


@frozen
class Verdict:
    """The value of a predicate (a truth value)."""

    value: Node


Leaf = Update | Disabled | Raises | Verdict
Tree = Test | Leaf


@frozen
class Variable:
    """A slot that varies and that something reads, with the least and the greatest ordinal it
    takes: None where a system leaves that open.
    """

    slot: int
    low: int
    end: int | None

    @property
    def high(self) -> int:
        """The greatest ordinal, for an engine that needs one."""
        if self.end is None:
            raise ModelError(
                "a field without upper bound: only a proof over unbounded integers has a use for it"
            )
        return self.end


@frozen
class Action:
    """One firing, lowered; its tree has Update, Disabled and Raises leaves."""

    firing: Firing
    tree: Tree
    reads: frozenset[int]
    writes: frozenset[int]


@frozen
class Predicate:
    """One instance of a property, its identifiers chosen; with Verdict and Raises leaves."""

    property: Property
    arguments: tuple[int, ...]
    tree: Tree
    reads: frozenset[int]


@frozen
class Relation:
    """A lowered model.

    variables: the slots that make up a state, in slot order. constants: slots that never change,
    with their ordinal. unread: slots that change but that no guard, no kept update and no property
    reads; they are left out of the state. Trees mention variables only. actions: those that can be
    enabled somewhere, in the order of the system's firings. predicates: every instance of every
    property, premises included. places: for each action, where they were asked for, the places
    (file, line, instruction) of the model at which its tests are made. given: truth values that
    initial states have in common where the system leaves anything open; ``initial`` is then one of
    them, and any other may differ in the slots that are free. Some may speak of slots that are no
    variables.
    """

    system: System
    arena: Arena
    variables: tuple[Variable, ...]
    constants: Mapping[int, int]
    unread: tuple[int, ...]
    initial: tuple[int, ...]
    actions: tuple[Action, ...]
    never: tuple[Firing, ...]
    predicates: tuple[Predicate, ...]
    places: tuple[Mapping[Node, frozenset[tuple[str, int, int]]], ...] = ()
    given: tuple[Node, ...] = ()

    def given_of(self, slots: Iterable[int]) -> list[Node]:
        """What is given of these slots alone."""
        chosen = frozenset(slots)
        return [node for node in self.given if self.arena.slots(node) <= chosen]

    def leaf(self, tree: Tree, ordinals: Sequence[int]) -> Leaf:
        """The leaf that a state (the ordinals of all slots) comes to."""
        while isinstance(tree, Test):
            tree = tree.yes if self.value(tree.condition, ordinals) else tree.no
        return tree

    def value(self, node: Node, ordinals: Sequence[int]) -> int:
        """The value of an expression in a state."""
        return self.arena.evaluate(node, ordinals.__getitem__)


def error_in_words(system: System, owner: Action | Predicate, leaf: Raises, steps: int) -> str:
    """Where a model raises, in what, and after how many steps."""
    if isinstance(owner, Action):
        what = f"in: {owner.firing.words(system)}"
    else:
        what = f"in the property {owner.property.name}"
    after = f"after {steps} step{'' if steps == 1 else 's'}" if steps else "at once"
    return f"{leaf.where}: {leaf.message} ({what}, {after})"
