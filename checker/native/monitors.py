"""What a search watches for, numbered: violated or reached properties, and code that raises."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from rackproof.checker.lowering.relation import (
    Action,
    Predicate,
    Raises,
    Relation,
    Test,
    Tree,
)
from rackproof.model.kernel import Property, Scope


@frozen
class Raising:
    """A leaf of an action (or of a predicate) at which the plain function raises."""

    owner: Action | Predicate
    leaf: Raises


class Monitors:
    """A number for each property, by identity, then for each leaf that raises."""

    def __init__(self, relation: Relation) -> None:
        """Number them in the relation's order."""
        self.properties: list[Property] = []
        self._instances: dict[int, list[Predicate]] = {}
        for predicate in relation.predicates:
            if id(predicate.property) not in self._instances:
                self.properties.append(predicate.property)
            self._instances.setdefault(id(predicate.property), []).append(predicate)
        owners: list[Action | Predicate] = [*relation.actions, *relation.predicates]
        self.raising = [
            Raising(owner, leaf)
            for owner in owners
            for leaf in leaves(owner.tree)
            if isinstance(leaf, Raises)
        ]
        self._raised = {
            (id(raising.owner), id(raising.leaf)): len(self.properties) + number
            for number, raising in enumerate(self.raising)
        }

    def __len__(self) -> int:
        """How many there are."""
        return len(self.properties) + len(self.raising)

    def raised(self, owner: Action | Predicate, leaf: Raises) -> int:
        """The number of a leaf that raises."""
        return self._raised[id(owner), id(leaf)]

    def everywhere(self) -> list[int]:
        """The properties that are asked in every state, or may raise in any."""
        return [
            number
            for number, predicates in self.instances()
            if predicates[0].property.scope in (Scope.ALWAYS, Scope.SOMETIMES)
            or any(map(may_raise, predicates))
        ]

    def instances(self) -> Iterator[tuple[int, list[Predicate]]]:
        """The number of each property with its instances."""
        for number, prop in enumerate(self.properties):
            yield number, self._instances[id(prop)]


def may_raise(predicate: Predicate) -> bool:
    """Whether some state might make the plain function raise, of those in which it is asked."""
    asked = predicate.property.scope is not Scope.AT_REST
    return asked and any(isinstance(leaf, Raises) for leaf in leaves(predicate.tree))


def leaves(tree: Tree) -> Iterator[Tree]:
    """Every distinct leaf of a tree."""
    seen: set[int] = set()
    pending = [tree]
    while pending:
        item = pending.pop()
        if id(item) not in seen:
            seen.add(id(item))
            if isinstance(item, Test):
                pending += (item.no, item.yes)
            else:
                yield item
