"""Whether a rack does, without a worker that nobody ever chose, all that it did with it.

Two sizes of one system: a larger one, and a smaller one that lacks some identifiers (a worker, with
the blocks on it). An identifier is known by its name; those that the smaller lacks are *bystanders*
as long as no field holds one. Forgetting them relates a state of the larger to one of the smaller:
every field that is in both is equal, but for *budgets* (numbers that belong to no identifier and
never grow), of which the smaller may have more left.

Shown by z3, action by action: from related states, with bystanders only, a step of the larger
either chooses a bystander (which ``Chooser`` counts), or leads to a state that is still related to
the smaller one, or to the one that the same step of the smaller leads to. So a run that chooses no
bystander is, without them, a run of the smaller; and what a property reads of it is equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

import z3
from attrs import frozen

from rackproof.checker.lowering.relation import Action, Predicate, Relation
from rackproof.checker.proof import z3terms
from rackproof.checker.proof.steps import Steps, Z3Stepped, merged
from rackproof.checker.proof.terms import Vector
from rackproof.checker.symmetry import interchangeable
from rackproof.model.kernel import Bundle, Identifiers
from rackproof.model.kernel.domains import Identifier
from rackproof.model.kernel.schema import Lane, Path

HARDEST: Final = 50_000_000
"""What a question may take, in z3's resource units; unlike seconds they are the same anywhere."""


class NotShown(Exception):
    """What could not be shown, as a clause of a sentence."""


@frozen
class Renaming:
    """The identifiers of a larger relation as a smaller one has them: in order, without those of a
    bundle that is forgotten.
    """

    larger: Relation
    smaller: Relation
    forgotten: Bundle

    @cached_property
    def known(self) -> Mapping[Lane, int]:
        """Where the smaller has each identifier that it has."""
        found: dict[Lane, int] = {}
        for sort, count in self.larger.system.schema.counts.items():
            kept = [i for i in range(count) if (sort, i) not in self.forgotten]
            found |= {(sort, index): place for place, index in enumerate(kept)}
        return found

    @property
    def fits(self) -> bool:
        """Whether what is kept is as many of each sort as the smaller has."""
        kept = Counter(sort for sort, _ in self.known)
        return kept == Counter(self.smaller.system.schema.counts)

    @property
    def alike(self) -> int:
        """How many identifiers have the same name in both."""
        ours, theirs = self.larger.system, self.smaller.system
        return sum(
            ours.label(sort, index) == theirs.label(sort, place)
            for (sort, index), place in self.known.items()
        )

    def is_bystander(self, sort: Identifiers, index: int) -> bool:
        """Whether the smaller lacks an identifier."""
        return (sort, index) in self.forgotten

    def sorts(self) -> frozenset[Identifiers]:
        """The sorts of which the smaller lacks some."""
        return frozenset(sort for sort, _ in self.forgotten)

    def arguments(
        self, parameters: Iterable[tuple[str, Identifiers]], arguments: Iterable[int]
    ) -> tuple[int, ...] | None:
        """Chosen identifiers as the smaller has them; None where one is a bystander."""
        pairs = [(sort, i) for (_, sort), i in zip(parameters, arguments, strict=True)]
        if any(self.is_bystander(*pair) for pair in pairs):
            return None
        return tuple(self.known[pair] for pair in pairs)

    @cached_property
    def slots(self) -> Mapping[int, int]:
        """The slot of the smaller for each variable of the larger that it has."""
        theirs: dict[Path, int] = {
            s.path: i for i, s in enumerate(self.smaller.system.schema.slots)
        }
        ours = self.larger.system.schema.slots
        found: dict[int, int] = {}
        for variable in self.larger.variables:
            slot = ours[variable.slot]
            if not any(self.is_bystander(*lane) for lane in slot.lanes):
                lanes = iter(slot.lanes)
                path = tuple(
                    self.known[next(lanes)] if isinstance(part, int) else part for part in slot.path
                )
                if path in theirs:
                    found[variable.slot] = theirs[path]
        return found


def bystander(larger: Relation, smaller: Relation, count: int) -> Renaming:
    """The last of so many interchangeable bundles, without which the larger is of the smaller's
    size.

    Where there are several such, the one without which the most keep their names. ``NotShown``
    where there is none.
    """
    classes = [bundles for bundles in interchangeable(larger) if len(bundles) == count]
    ways = [Renaming(larger, smaller, bundles[-1]) for bundles in classes]
    ways = [way for way in ways if way.fits]
    if not ways:
        raise NotShown("those of which there are more are not all alike")
    return max(ways, key=lambda way: way.alike)


class Forgetting:
    """What is to be shown of a larger and a smaller relation, asked of z3."""

    def __init__(self, renaming: Renaming) -> None:
        """Relate a state of the larger to one of the smaller, of which only budgets are its own."""
        self.renaming = renaming
        self.larger, self.smaller = larger, smaller = renaming.larger, renaming.smaller
        self.here = z3terms.state(larger)
        self.ours = Steps(larger, self.here)
        self.budgets = frozenset(self._budgets())
        self.shown_count = 0
        self.there = self._related_state()
        self.theirs = Steps(smaller, self.there)
        self._theirs = {(a.firing.transition.name, a.firing.arguments): a for a in smaller.actions}
        self._departures: dict[int, z3.BoolRef] = {}
        self.solver = z3.SimpleSolver()
        self.solver.set("rlimit", HARDEST)
        self.solver.add(*z3terms.within(larger, self.here), *self._more_left())
        self.solver.add(self._all_bystanders(self.here))

    def shown(self, *claims: z3.BoolRef) -> bool:
        """Whether no pair of related states satisfies all of these."""
        self.shown_count += 1
        return bool(self.solver.check(*claims) == z3.unsat)

    def check(self, predicates: Iterable[Predicate]) -> int:
        """Show that all but the choice of a bystander can be done without it; ``NotShown``.

        Returns how many bystanders at most an instance speaks of that may be false for some.
        """
        self._check_start()
        for action in self.larger.actions:
            if not self.may_choose(action) and not self.shown(self.departure(action)):
                raise NotShown(f"{action.firing.transition.name} depends on who is there")
        spoken = 0
        for predicate in predicates:
            if self._matters(predicate):
                prop = predicate.property
                if not self.speaks_of_bystanders(predicate):
                    raise NotShown(f"{prop.name} depends on who is there")
                sorts = self.renaming.sorts()
                spoken = max(spoken, sum(sort in sorts for _, sort in prop.parameters))
        return spoken

    def _check_start(self) -> None:
        """The initial states are related."""
        ours, theirs = self.larger.initial, self.smaller.initial
        for slot, place in self.renaming.slots.items():
            start = z3.simplify(self._renamed(slot, z3.IntVal(ours[slot]))).as_long()
            alike = theirs[place] >= start if slot in self.budgets else theirs[place] == start
            if not alike:
                label = self.larger.system.schema.slots[slot].label
                raise NotShown(f"{label} begins otherwise in another size")

    def may_choose(self, action: Action) -> bool:
        """Whether an action is about a bystander."""
        firing = action.firing
        return self.renaming.arguments(firing.transition.parameters, firing.arguments) is None

    def departure(self, action: Action) -> z3.BoolRef:
        """An action leads away from the smaller, or to where a bystander is none any more."""
        if id(action) not in self._departures:
            self._departures[id(action)] = self._departure(action)
        return self._departures[id(action)]

    def _departure(self, action: Action) -> z3.BoolRef:
        stepped, other = self.step(action), self._matching(action)
        after = merged(self.here, stepped.after)
        ways = [self._related(after, self.there, action.writes)]
        if other is not None:
            matched = self.theirs.step(other)
            back = {place: slot for slot, place in self.renaming.slots.items()}
            written = action.writes | {back[place] for place in other.writes if place in back}
            then = merged(self.there, matched.after)
            ways.append(z3.And(matched.enabled, self._related(after, then, written)))
        stay = self._all_bystanders(after, action.writes)
        return z3.And(stepped.enabled, z3.Not(z3.And(stay, z3.Or(*ways))))

    def step(self, action: Action) -> Z3Stepped:
        """What an action of the larger does."""
        return self.ours.step(action)

    def speaks_of_bystanders(self, predicate: Predicate) -> bool:
        """Whether an instance is about a bystander."""
        prop = predicate.property
        return self.renaming.arguments(prop.parameters, predicate.arguments) is None

    def _matching(self, action: Action) -> Action | None:
        firing = action.firing
        moved = self.renaming.arguments(firing.transition.parameters, firing.arguments)
        return None if moved is None else self._theirs.get((firing.transition.name, moved))

    def _matters(self, predicate: Predicate) -> bool:
        """Whether an instance can be false in the larger, and none is in the smaller."""
        false = z3.Not(self.ours.terms.holds(predicate))
        name = predicate.property.name
        instances = (p for p in self.smaller.predicates if p.property.name == name)
        theirs = [self.theirs.terms.holds(instance) for instance in instances]
        return not self.shown(false, *theirs)

    # The relation between states.

    def _budgets(self) -> Iterator[int]:
        """Numbers that belong to no identifier and never grow."""
        slots = self.larger.system.schema.slots
        solver = z3.SimpleSolver()
        solver.add(*z3terms.within(self.larger, self.here))
        for slot, number in self.here.numbers.items():
            if slots[slot].lanes or isinstance(slots[slot].domain, Identifier):
                continue
            writing = (a for a in self.larger.actions if slot in a.writes)
            if all(
                solver.check(self.step(a).after.numbers[slot] > number) == z3.unsat for a in writing
            ):
                yield slot

    def _related_state(self) -> z3terms.State:
        """The smaller's state: what the larger has, and budgets of its own."""
        there = z3terms.state(self.smaller, "'")
        numbers, truths = dict(there.numbers), dict(there.truths)
        for ours, theirs in self.renaming.slots.items():
            if ours in self.budgets:
                continue
            if theirs in numbers and ours in self.here.numbers:
                numbers[theirs] = self._renamed(ours, self.here.numbers[ours])
            elif theirs in truths and ours in self.here.truths:
                truths[theirs] = self.here.truths[ours]
        return Vector(numbers, truths)

    def _renamed(self, slot: int, number: z3.ArithRef) -> z3.ArithRef:
        """A value as the smaller has it."""
        domain = self.larger.system.schema.slots[slot].domain
        if not isinstance(domain, Identifier):
            return number
        result = number
        for index in range(domain.count):
            place = self.renaming.known.get((domain.sort, index), index)
            if place != index:
                result = z3.If(number == index, z3.IntVal(place), result)
        return result

    def _more_left(self) -> list[z3.BoolRef]:
        """The smaller has as much left of each budget, and values that its fields can have."""
        pairs = [(self.here.numbers[s], self.there.numbers[t]) for s, t in self._paired_budgets()]
        return [theirs >= ours for ours, theirs in pairs] + self._in_range()

    def _paired_budgets(self) -> list[tuple[int, int]]:
        pairs = [
            (s, self.renaming.slots[s]) for s in sorted(self.budgets) if s in self.renaming.slots
        ]
        return [(s, t) for s, t in pairs if any(v.slot == t for v in self.smaller.variables)]

    def _in_range(self) -> list[z3.BoolRef]:
        """Only of budgets: of the rest it is shown."""
        high = {v.slot: v for v in self.smaller.variables}
        return [self.there.numbers[t] <= high[t].high for _, t in self._paired_budgets()]

    def _related(
        self, here: z3terms.State, there: z3terms.State, written: Collection[int]
    ) -> z3.BoolRef:
        """Whether two states are related that were so before these variables were written."""
        found: list[z3.BoolRef] = []
        for slot, place in self.renaming.slots.items():
            if slot not in written:
                continue
            if slot in self.budgets:
                if place in there.numbers:
                    found.append(there.numbers[place] >= here.numbers[slot])
            elif place in there.truths:
                found.append(there.truths[place] == here.truths[slot])
            elif place in there.numbers:
                found.append(there.numbers[place] == self._renamed(slot, here.numbers[slot]))
        return z3.And(*found)

    def _all_bystanders(
        self, state: z3terms.State, written: Collection[int] | None = None
    ) -> z3.BoolRef:
        """No field (of those given) holds an identifier that the smaller lacks."""
        slots = self.larger.system.schema.slots
        found: list[z3.BoolRef] = []
        for slot, number in state.numbers.items():
            domain = slots[slot].domain
            if isinstance(domain, Identifier) and (written is None or slot in written):
                found += [
                    number != index
                    for index in range(domain.count)
                    if self.renaming.is_bystander(domain.sort, index)
                ]
        return z3.And(*found, *self._in_no_set(state, written))

    def _in_no_set(
        self, state: z3terms.State, written: Collection[int] | None
    ) -> Iterator[z3.BoolRef]:
        """No set of another identifier's has a bystander for a member."""
        slots = self.larger.system.schema.slots
        for slot, truth in state.truths.items():
            lanes = slots[slot].lanes
            of_bystanders = [lane for lane in lanes if self.renaming.is_bystander(*lane)]
            among_others = 0 < len(of_bystanders) < len(lanes)
            if among_others and (written is None or slot in written):
                yield z3.Not(truth)
