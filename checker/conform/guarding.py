"""Why a step was not possible that would have written what was observed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

from attrs import evolve

from rackproof.checker.conform.moves import Moves
from rackproof.checker.explain.decisions import Decisions, is_enabled
from rackproof.checker.explain.given import Literal
from rackproof.checker.explain.guards import Guards, Said
from rackproof.checker.lowering.arena import Op
from rackproof.checker.lowering.lower import lower
from rackproof.checker.lowering.relation import Action, Disabled, Relation, Test, Tree
from rackproof.model.kernel import Firing, ModelError, Observation, Record, System
from rackproof.scenarios.fields import Fields

Ordinals = tuple[int, ...]
"""A state as the ordinals of all slots."""

MOST_STATES: Final = 60
"""States in which a step is looked for that nothing before shows; guards are told among them."""

MOST_SOURCES: Final = 20
"""States from which a step writes what was observed that are compared with where it does not."""

MOST_STEPS: Final = 3
"""Steps of which it is told why they were not possible."""


class Guarding:
    """The guards of a world as far as it is explored."""

    def __init__(self, moves: Moves) -> None:
        """Nothing is lowered yet."""
        self.moves, self.system = moves, moves.system
        self.fields = Fields(moves.system)
        self._alone: dict[str, System] = {}

    def failed(self, state: int, seen: Observation, states: Sequence[int]) -> list[str]:
        """The parts of guards that were not so in a state, in words with their values, of steps
        that write such a record; those that write just this, if any do.

        states: where such steps are looked for; if in vain, then in what comes after the state.
        """
        writers = self._writers(seen, state, states)[:MOST_STEPS]
        sources = [number for _, found in writers for number in found[:MOST_SOURCES]]
        among = [self.moves.ordinals(number) for number in (state, *states[:MOST_STATES], *sources)]
        found = list[str]()
        for firing, froms in writers:
            others = [self.moves.ordinals(number) for number in froms[:MOST_SOURCES]]
            if reasons := list(self._reasons(firing, among, others)):
                words = firing.words(self.system).rstrip(".")
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

    def _reasons(
        self, firing: Firing, among: Sequence[Ordinals], sources: Sequence[Ordinals]
    ) -> Iterator[str]:
        """Why a step is not possible in the first of some states, or writes something else there
        than from its sources.
        """
        here = among[0]
        for relation in self._lowered(firing, among):
            action = next((each for each in relation.actions if each.firing == firing), None)
            decisions = Decisions(relation)
            if action is None:
                continue
            guards = Guards(decisions, self.fields)
            if literals := _refusing(decisions, action.tree, here):
                yield from (each.text for each in guards.conditions(literals, [here]))
                return
            if not isinstance(relation.leaf(action.tree, here), Disabled):
                yield from _otherwise(guards.said, action, here, sources)
                return

    def _lowered(self, firing: Firing, among: Sequence[Ordinals]) -> Iterator[Relation]:
        """The guard alone, for some states, which is quick; then in the whole world, as what is the
        same in all of those states is no test among them.
        """
        name = firing.transition.name
        if name not in self._alone:
            only = evolve(self.system, transitions=(firing.transition,), properties=())
            self._alone[name] = only
        with contextlib.suppress(ModelError):
            yield lower(self._alone[name], keep=range(len(among[0])), among=among)
            yield self._whole

    @cached_property
    def _whole(self) -> Relation:
        return lower(self.system)


def _otherwise(
    said: Said, action: Action, here: Ordinals, sources: Sequence[Ordinals]
) -> Iterator[str]:
    """What a step reads that is possible but writes something else, where it differs from the
    nearest state from which it writes what was observed.
    """
    reads = sorted(action.reads | action.writes)
    apart = [[slot for slot in reads if here[slot] != other[slot]] for other in sources]
    nearest = min(range(len(apart)), key=lambda index: len(apart[index]))
    for slot in apart[nearest]:
        now, then = said.value(slot, here[slot]), said.value(slot, sources[nearest][slot])
        yield f"{said.name(slot)} is {now}, not {then}"


def _refusing(decisions: Decisions, tree: Tree, ordinals: Ordinals) -> list[Literal]:
    """The parts of the last test on the way that were not so; none where the step is possible."""
    way = decisions.way(tree, ordinals, is_enabled)
    if not isinstance(way.leaf, Disabled):
        return []
    return list(_last(decisions, tree, ordinals))


def _last(decisions: Decisions, tree: Tree, ordinals: Ordinals) -> Iterator[Literal]:
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
