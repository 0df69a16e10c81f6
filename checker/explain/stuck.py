"""Why nothing mends a state: fields that keep one another as they are, whatever else happens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from attrs import frozen

from rackproof.checker.explain.decisions import Decisions, Way, is_enabled, writes_to
from rackproof.checker.explain.given import Literal
from rackproof.checker.lowering.relation import Action, Predicate, Update
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Fairness, Property, Scope


@frozen
class Reads:
    """What a violation depends on at the end of a run.

    property: the tests by which the property fails there (all along, in a loop). stays: those by
    which nothing changes that any more. rest: where something may, those by which it has come to
    rest for now. slots: all the fields that these read.
    """

    property: tuple[Literal, ...]
    stays: tuple[Literal, ...]
    slots: frozenset[int]
    rest: tuple[Literal, ...] = ()


def reads(
    decisions: Decisions,
    prop: Property,
    trace: Trace,
    culprits: Collection[tuple[int, ...]],
    for_good: bool = True,
) -> Reads | None:
    """By what a property is violated at the end of a run, for some of those who are asked about;
    None where it is not, or (for good) may yet come to be true.

    for_good: whether nothing of what is owed may change that any more, steps of no concern to it
    aside; else the run itself must have come to rest, if it does not go round for ever.
    """
    if trace.loop is not None and trace.flaw is not None:
        return None
    if not (for_good or trace.violates(prop)):
        return None
    failing = set(culprits) & set(trace.failing(prop))
    predicates = [
        item
        for item in decisions.relation.predicates
        if item.property.name == prop.name and item.arguments in failing
    ]
    if not predicates or prop.scope is Scope.SOMETIMES:
        return None
    return _End(decisions, trace).reads(prop, predicates, for_good)


@frozen
class _End:
    """Where a run ends: in a state, or in a loop."""

    decisions: Decisions
    trace: Trace

    def reads(self, prop: Property, predicates: list[Predicate], for_good: bool) -> Reads | None:
        """What the violation reads."""
        own = self._property(predicates)
        slots = self.decisions.slots(own)
        if prop.scope is Scope.ALWAYS:
            return Reads(own, (), slots)
        if not for_good and self.trace.loop is None:
            rest = self._rest(slots)
            return Reads(own, (), slots | self.decisions.slots(rest), rest)
        stays = self._stuck(slots) if self.trace.loop is None else self._owed(slots)
        return None if stays is None else Reads(own, stays, slots | self.decisions.slots(stays))

    @property
    def states(self) -> list[tuple[int, ...]]:
        """The states that the property is false in: the last, or those of the loop."""
        flatten, repeated = self.trace.system.schema.flatten, self.trace.repeated
        return [flatten(step.after) for step in repeated] or [flatten(self.trace.final)]

    def _property(self, predicates: list[Predicate]) -> tuple[Literal, ...]:
        found: dict[Literal, None] = {}
        for predicate in predicates:
            for state in self.states:
                way = self.decisions.way(predicate.tree, state, lambda leaf: leaf)
                last = self.decisions.literals(way.leaf.value, state)  # type: ignore[union-attr]
                found |= dict.fromkeys((*way.literals, *last))
        return tuple(found)

    def _stuck(self, slots: frozenset[int]) -> tuple[Literal, ...] | None:
        """The tests by which nothing that is owed changes these slots, nor what the tests read;
        None where something does.
        """
        (state,) = self.states
        found: dict[Literal, None] = {}
        progress = [a for a in self.decisions.relation.actions if a.firing.is_owed]
        settled: dict[int, frozenset[int]] = {}
        while True:
            before = slots
            for number, action in enumerate(progress):
                touched = action.writes & slots
                if touched and settled.get(number) != touched:
                    settled[number] = touched
                    way = self._idle(action, state, touched, slots)
                    if way is None:
                        return None
                    found |= dict.fromkeys(way)
                    slots |= self.decisions.slots(way)
            if slots == before:
                return tuple(found)

    def _rest(self, slots: frozenset[int]) -> tuple[Literal, ...]:
        """The tests by which no step and no timer is possible."""
        (state,) = self.states
        found: dict[Literal, None] = {}
        for action in self.decisions.relation.actions:
            if action.firing.is_progress:
                way = self._disabled(action, state, slots)
                found |= dict.fromkeys(way)
                slots |= self.decisions.slots(way)
        return tuple(found)

    def _idle(
        self, action: Action, state: Sequence[int], touched: frozenset[int], liked: frozenset[int]
    ) -> tuple[Literal, ...] | None:
        """The tests by which an action leaves some slots as they are; None where it does not."""
        way = self.decisions.way(action.tree, state, writes_to(touched), liked)
        return self._unchanged(way, touched, state)

    def _unchanged(
        self, way: Way, slots: frozenset[int], state: Sequence[int]
    ) -> tuple[Literal, ...] | None:
        """The tests of a way, and that some slots have already what it writes to them; None where
        they have not.
        """
        arena = self.decisions.arena
        writes = way.leaf.writes if isinstance(way.leaf, Update) else ()
        same = [arena.eq(arena.var(slot), node) for slot, node in writes if slot in slots]
        if not all(self.decisions.relation.value(node, state) for node in same):
            return None
        return (*way.literals, *((node, True) for node in same if arena.slots(node)))

    def _owed(self, slots: frozenset[int]) -> tuple[Literal, ...]:
        """The tests by which a loop owes nothing to what is not in it."""
        fired = {step.firing for step in self.trace.repeated}
        found: dict[Literal, None] = {}
        for action in self.decisions.relation.actions:
            fairness = action.firing.transition.fairness
            if fairness is not Fairness.NONE and action.firing not in fired:
                ways = [w for s in self.states if (w := self._disabled(action, s, slots))]
                least = min(ways, key=partial(self._new, slots), default=())
                chosen = ways if fairness is Fairness.STRONG else [least]
                for way in chosen:
                    found |= dict.fromkeys(way)
                    slots |= self.decisions.slots(way)
        return tuple(found)

    def _new(self, slots: frozenset[int], way: tuple[Literal, ...]) -> tuple[int, list[int]]:
        """How much some tests would add to some slots."""
        new = self.decisions.slots(way) - slots
        return len(new), sorted(new)

    def _disabled(
        self, action: Action, state: Sequence[int], liked: frozenset[int]
    ) -> tuple[Literal, ...]:
        """The tests by which an action does nothing in a state; none where it does."""
        way = self.decisions.way(action.tree, state, is_enabled, liked)
        return self._unchanged(way, action.writes, state) or ()
