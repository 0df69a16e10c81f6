"""What is to be shown of one property: that no state of any run is bad."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from attrs import frozen

from rackproof.checker.lowering.relation import Predicate, Relation
from rackproof.checker.proof.slicing import is_progress, sliced
from rackproof.checker.proof.terms import Terms
from rackproof.model.kernel import Scope

N = TypeVar("N")
B = TypeVar("B")

SAFETY = (Scope.ALWAYS, Scope.AT_REST)
"""What an invariant can show; ``eventually`` needs more than one."""


@frozen
class Obligation:
    """No reachable state is bad: one in which an instance of the properties is false (where they
    are asked ``at rest``: and no step or timer is possible; of a ``sometimes``: in which it is
    true), or in which the model raises.

    relation: the relation with only what the instances need. predicates: the instances.
    """

    relation: Relation
    predicates: tuple[Predicate, ...]

    def bad(self, terms: Terms[N, B]) -> B:
        """Whether the state of these terms is bad."""
        return terms.algebra.or_(self.bads(terms))

    def bads(self, terms: Terms[N, B]) -> list[B]:
        """The ways in which the state of these terms may be bad: instances, then actions."""
        against = [self._against(terms, predicate) for predicate in self.predicates]
        raising = [terms.action(action).raises for action in self.relation.actions]
        return [*against, *raising]

    def _against(self, terms: Terms[N, B], predicate: Predicate) -> B:
        """Whether a state is bad for an instance."""
        scope, algebra, true = predicate.property.scope, terms.algebra, terms.holds(predicate)
        if scope is Scope.SOMETIMES:
            return algebra.or_([true, terms.raises(predicate)])
        if scope is not Scope.AT_REST:
            return algebra.not_(true)
        return algebra.and_([algebra.not_(true), algebra.not_(moves(terms, self.relation))])


def moves(terms: Terms[N, B], relation: Relation) -> B:
    """Whether a step or a timer is possible."""
    going = [terms.action(action).enabled for action in relation.actions if is_progress(action)]
    return terms.algebra.or_(going)


def obligation(relation: Relation, names: Iterable[str]) -> Obligation:
    """What is to be shown of the properties of these names, over a relation sliced to them.

    Errors that the model may raise stay part of it. The slice drops variables and actions that
    neither the instances nor any raising test depends on.
    """
    wanted = set(names)
    predicates = tuple(
        p for p in relation.predicates if p.property.name in wanted and p.property.scope in SAFETY
    )
    return Obligation(sliced(relation, predicates), predicates)


def unreachable(relation: Relation, names: Collection[str]) -> Obligation:
    """That no run satisfies any of the ``sometimes`` properties, or premises, of these names."""
    predicates = tuple(p for p in relation.predicates if p.property.name in names)
    return Obligation(sliced(relation, predicates), predicates)
