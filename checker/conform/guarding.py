"""Why a step was not possible that would have written what was observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

from attrs import evolve

from rackproof.checker.conform.moves import Moves
from rackproof.checker.explain.decisions import Decisions, is_enabled
from rackproof.checker.explain.given import Literal
from rackproof.checker.explain.guards import Guards
from rackproof.checker.lowering.arena import Op
from rackproof.checker.lowering.lower import lower
from rackproof.checker.lowering.relation import Action, Disabled, Test, Tree
from rackproof.model.kernel import Firing, ModelError, Observation, Record
from rackproof.scenarios.fields import Fields

MOST_STATES: Final = 500
"""States in which a step is looked for that nothing before shows."""

MOST_STEPS: Final = 3
"""Steps of which it is told why they were not possible."""


class Guarding:
    """The guards of a world as far as they are explored; lowered once, when first asked for."""

    def __init__(self, moves: Moves) -> None:
        """Nothing is lowered yet."""
        self.moves = moves
        self.fields = Fields(moves.system)

    def failed(self, state: int, seen: Observation, states: Sequence[int]) -> list[str]:
        """The parts of guards that were not so in a state, in words with their values, of steps
        that write such a record; those that write just this, if any do.

        states: where such steps are looked for; if in vain, then in what comes after the state.
        """
        found = list[str]()
        for firing, sources in self._writers(seen, state, states)[:MOST_STEPS]:
            reasons = list(self._reasons(firing, state, sources))
            if reasons:
                words = firing.words(self.moves.system).rstrip(".")
                found.append(f"{words}: {', '.join(reasons)}")
        return found

    def _onwards(self, state: int) -> list[int]:
        """What comes after a state, breadth first, as far as is looked."""
        found = [state]
        known = {state}
        for number in found:
            after = [move.target for move in self.moves.of(number) if move.target not in known]
            known.update(after)
            found += dict.fromkeys(after)
            if len(found) > MOST_STATES:
                break
        return found

    def _writers(
        self, seen: Observation, state: int, states: Sequence[int]
    ) -> list[tuple[Firing, list[int]]]:
        """Steps that write such a record, each with the states from which it writes just this."""
        found = self._writing(seen.fits, states) or self._writing(seen.fits, self._onwards(state))
        return found or self._writing(evolve(seen, values={}).fits, states)

    def _writing(
        self, fits: Callable[[Record], bool], states: Sequence[int]
    ) -> list[tuple[Firing, list[int]]]:
        found = dict[Firing, list[int]]()
        for number in states:
            for move in self.moves.of(number):
                if any(map(fits, move.records)):
                    found.setdefault(move.firing, []).append(number)
        return list(found.items())

    def _reasons(self, firing: Firing, state: int, sources: list[int]) -> Iterator[str]:
        action = self._action(firing)
        if action is None:
            return
        ordinals = self._ordinals(state)
        literals = _refusing(self._decisions, action.tree, ordinals)
        if literals:
            conditions = self._guards.conditions(literals, [ordinals])
            yield from (condition.text for condition in conditions)
        else:
            yield from self._otherwise(action, ordinals, sources)

    def _otherwise(
        self, action: Action, ordinals: tuple[int, ...], sources: list[int]
    ) -> Iterator[str]:
        """What a step reads that is possible but writes something else, where it differs from the
        nearest state in which it writes what was observed.
        """
        reads = sorted(action.reads | action.writes)
        apart = [
            [slot for slot in reads if ordinals[slot] != other[slot]]
            for other in map(self._ordinals, sources)
        ]
        nearest = min(range(len(apart)), key=lambda index: len(apart[index]))
        other = self._ordinals(sources[nearest])
        said = self._guards.said
        for slot in apart[nearest]:
            now, then = said.value(slot, ordinals[slot]), said.value(slot, other[slot])
            yield f"{said.name(slot)} is {now}, not {then}"

    def _ordinals(self, state: int) -> tuple[int, ...]:
        return self.moves.system.schema.flatten(self.moves.states[state])

    @cached_property
    def _decisions(self) -> Decisions:
        return Decisions(lower(self.moves.system))

    @cached_property
    def _guards(self) -> Guards:
        return Guards(self._decisions, self.fields)

    @cached_property
    def _actions(self) -> dict[tuple[str, tuple[int, ...]], Action]:
        try:
            actions = self._decisions.relation.actions
        except ModelError:
            return {}
        return {(a.firing.transition.name, a.firing.arguments): a for a in actions}

    def _action(self, firing: Firing) -> Action | None:
        return self._actions.get((firing.transition.name, firing.arguments))


def _refusing(decisions: Decisions, tree: Tree, ordinals: tuple[int, ...]) -> list[Literal]:
    """The parts of the last test on the way that were not so; none where the step is possible."""
    way = decisions.way(tree, ordinals, is_enabled)
    if not isinstance(way.leaf, Disabled):
        return []
    return list(_last(decisions, tree, ordinals))


def _last(decisions: Decisions, tree: Tree, ordinals: tuple[int, ...]) -> Iterator[Literal]:
    relation, arena, last = decisions.relation, decisions.arena, None
    while isinstance(tree, Test):
        holds = bool(relation.value(tree.condition, ordinals))
        last, tree = (tree.condition, holds), tree.yes if holds else tree.no
    if last is None:
        return
    condition, holds = last
    op = arena.part(condition)[0]
    if op is (Op.OR if holds else Op.AND):
        for part in sorted(arena.terms(condition)):
            if bool(relation.value(part, ordinals)) is holds:
                yield from decisions.literals(part, ordinals)
    else:
        yield from decisions.literals(condition, ordinals)


_KNOWN: Final[WeakKeyDictionary[Moves, Guarding]] = WeakKeyDictionary()


def guards_of(moves: Moves) -> Guarding:
    """The guards of a world, kept with what is explored of it."""
    return _KNOWN.setdefault(moves, Guarding(moves))
