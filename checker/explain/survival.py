"""What of a world's items survives which fault, and what brings it back: over all its states.

The items of a picture are lowered like properties, and looked up in every reachable state; faults
are the moves between these. Nothing is sampled: a world with too many states is not told about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from rackproof.checker.guards.graph import StateGraph
from rackproof.checker.lowering import lower
from rackproof.checker.lowering.relation import Relation
from rackproof.checker.native.columns import Column
from rackproof.checker.search import Exploration, Limits, explore
from rackproof.checker.searched import model_error
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Item, Kind, Property, Scope, System, Transition
from rackproof.scenarios.steps import kebab

MOST_STATES: Final = 50_000
"""Of a world with more states nothing is told."""
ALWAYS, SOMETIMES, NEVER = "always", "sometimes", "never"
Numbers = NDArray[Any]


@frozen
class Fate:
    """What becomes of an item when a fault happens while it is there.

    at: the kinds of the lanes that the fault names, such as decode; empty where it names none.
    kept, lost: in how many cases (a state, a fault in it, and one whose item it is) it is still
    there right after the fault. back: the transitions that bring it back after it was lost, with in
    how many moves. for_good: in how many states it is lost and nothing more happens.
    """

    item: Item
    fault: Transition[..., Any]
    at: tuple[str, ...]
    kept: int
    lost: int
    back: tuple[tuple[Transition[..., Any], int], ...] = ()
    for_good: int = 0

    @property
    def survives(self) -> str:
        """Whether the item survives the fault: always, sometimes or never."""
        return SOMETIMES if self.kept and self.lost else ALWAYS if self.kept else NEVER

    @property
    def words(self) -> str:
        """All of that in a sentence."""
        of = f" of {' and '.join(self.at)}" if self.at else ""
        told = f"{self.survives} survives {kebab(self.fault.name)}{of}"
        if not self.lost:
            return f"{told}: it is still there right after"
        cases = f"lost at {self.lost} of {self.kept + self.lost} moments"
        back = _listed([transition for transition, _ in self.back])
        again = f"comes back by {back}" if back else "never comes back"
        ends = f"; {counted(self.for_good, 'state')} end without it" if self.for_good else ""
        return f"{told}: {cases}, and {again}{ends}"


def _listed(transitions: Sequence[Transition[..., Any]]) -> str:
    """Names of transitions, as in scenarios."""
    *most, last = [kebab(transition.name) for transition in transitions] or [""]
    return f"{', '.join(most)} or {last}" if most else last


@frozen
class Life:
    """Where an item comes from, and what ends it other than faults: transitions, with moves.

    states: in how many states it is there, of anybody.
    """

    item: Item
    states: int
    made: tuple[tuple[Transition[..., Any], int], ...]
    ended: tuple[tuple[Transition[..., Any], int], ...]


@frozen
class Survival:
    """The map of what survives: reason: why nothing is known, where that is so.

    states, moves: all of the world's, identifiers that are alike told apart, but for what neither
    its transitions nor its items look at.
    """

    lives: tuple[Life, ...] = ()
    fates: tuple[Fate, ...] = ()
    states: int = 0
    moves: int = 0
    reason: str | None = None

    def of(self, item: Item) -> tuple[Fate, ...]:
        """What becomes of one item."""
        return tuple(fate for fate in self.fates if fate.item is item)


def survival(system: System, most: int = MOST_STATES, seconds: float | None = None) -> Survival:
    """Look at every item of a system's picture in all of its states, of which there may be most.

    ``ModelError`` where the model raises, or an item cannot be looked up.
    """
    items = system.picture.items if system.picture else ()
    if not items:
        return Survival(reason="the world does not say what can be lost")
    watched = attrs.evolve(system, properties=[_watch(item) for item in items])
    relation = lower(watched)
    found = explore(relation, limits=Limits(seconds, None, most), keep=True)
    if found.raises:
        raise model_error(system, found.raises[0])
    if not found.exhausted:
        return Survival(states=found.states, reason=f"not every state was seen: {found.reason}")
    return _Map(relation, found, items).drawn()


def _watch(item: Item) -> Property:
    """Whether an item is there, as a property that is asked of nobody."""
    parameters = (("index", item.sort),)
    return Property(item.name, Scope.SOMETIMES, item.there, parameters, item.text, (), None)


class _Map:
    """All states and moves, and in which of them items are there."""

    def __init__(self, relation: Relation, found: Exploration, items: Sequence[Item]) -> None:
        self.system, self.items = relation.system, items
        self.graph = StateGraph(relation, found)
        self.rests = ~self.graph.moving(self.graph.all)
        self.there: dict[str, list[Column]] = {item.name: [] for item in items}
        for predicate in relation.predicates:
            here = found.columns.holds(predicate.tree)
            self.there[predicate.property.name].append(here)
        firings = [action.firing for action in relation.actions]
        self.transitions = [firing.transition for firing in firings]
        self.ats = [self._at(firing.named(self.system).values()) for firing in firings]
        faults = [transition.kind is Kind.FAULT for transition in self.transitions]
        self.is_fault = np.array(faults, dtype=bool)[self.graph.action]

    def _at(self, names: Any) -> tuple[str, ...]:
        """The kinds of the lanes that a firing names."""
        assert self.system.picture is not None, "it has items"
        kinds = {lane.name: lane.kind for lane in self.system.picture.lanes}
        return tuple(kinds[name] for name in names if name in kinds)

    def drawn(self) -> Survival:
        """The map."""
        return Survival(
            tuple(self._life(item) for item in self.items),
            tuple(fate for item in self.items for fate in self._fates(item)),
            self.graph.states,
            len(self.graph.source),
        )

    def _life(self, item: Item) -> Life:
        made, ended = Counter[int](), Counter[int]()
        anywhere = np.zeros(self.graph.states, dtype=bool)
        for there in self.there[item.name]:
            before, after = there[self.graph.source], there[self.graph.target]
            made.update(self.graph.action[~before & after].tolist())
            ended.update(self.graph.action[before & ~after & ~self.is_fault].tolist())
            anywhere |= there
        return Life(item, int(anywhere.sum()), self._counted(made), self._counted(ended))

    def _counted(self, actions: Counter[int]) -> tuple[tuple[Transition[..., Any], int], ...]:
        """Actions by their transitions, the most frequent first."""
        found = Counter[str]()
        for action, count in actions.items():
            found[self.transitions[action].name] += count
        by_name = {transition.name: transition for transition in self.system.transitions}
        ranked = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        return tuple((by_name[name], count) for name, count in ranked)

    def _fates(self, item: Item) -> Iterator[Fate]:
        for fault, at in dict.fromkeys(zip(self.transitions, self.ats, strict=True)):
            if fault.kind is Kind.FAULT:
                fate = self._fate(item, fault, at)
                if fate.kept or fate.lost:
                    yield fate

    def _fate(self, item: Item, fault: Transition[..., Any], at: tuple[str, ...]) -> Fate:
        chosen = [
            transition is fault and kinds == at
            for transition, kinds in zip(self.transitions, self.ats, strict=True)
        ]
        moves = np.array(chosen, dtype=bool)[self.graph.action]
        kept = lost = for_good = 0
        back = Counter[int]()
        for there in self.there[item.name]:
            hit = moves & there[self.graph.source]
            gone = hit & ~there[self.graph.target]
            kept, lost = kept + int((hit & ~gone).sum()), lost + int(gone.sum())
            without = self._without(there, self.graph.target[gone])
            again = without[self.graph.source] & there[self.graph.target]
            back.update(self.graph.action[again].tolist())
            for_good += int((without & self.rests).sum())
        return Fate(item, fault, at, kept, lost, self._counted(back), for_good)

    def _without(self, there: Column, seeds: Numbers) -> Column:
        """The states that are reached from some, without the item all the way."""
        found = np.zeros(self.graph.states, dtype=bool)
        layer = np.unique(seeds)
        while len(layer):
            found[layer] = True
            following = self.graph.target[self.graph.leaving(layer)]
            layer = np.unique(following[~there[following] & ~found[following]])
        return found
