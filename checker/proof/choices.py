"""How many bystanders can be chosen in a run, however long it is and however many there are.

A *measure* gives each value of some fields (of no worker, so that there are as many of them in
every size) a weight that is not negative. No step makes the sum greater, and every step that
chooses a bystander makes it less by one at least: so no more are chosen than the sum is at the
start. (A ranking function, as for termination: Colón and Sipma, TACAS 2001.) The weights are found
from counterexamples of z3 (a linear program, made stricter by each), and what is found is then
shown by z3 for every step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

import z3
from attrs import frozen

from rackproof.checker.lowering.relation import Action
from rackproof.checker.proof import z3terms
from rackproof.checker.proof.forgetting import Forgetting, NotShown
from rackproof.checker.proof.steps import merged
from rackproof.model.kernel.domains import Identifier

MOST_VALUES: Final = 10
"""Fields with more values have no weights."""
MOST_ROUNDS: Final = 400
"""Counterexamples after which no measure is looked for any more."""

Value = tuple[int, int]
"""A slot and its ordinal."""


@frozen
class Measure:
    """A weight for each value of some fields; those left out weigh nothing."""

    weights: Mapping[Value, Fraction]

    def of(self, ordinals: Mapping[int, int]) -> Fraction:
        """What a state weighs."""
        return sum(
            (self.weights.get(value, Fraction(0)) for value in ordinals.items()), Fraction(0)
        )


def most_choices(forgetting: Forgetting) -> int:
    """How many bystanders a run chooses at most; ``NotShown`` where no measure is found."""
    search = _Search(forgetting)
    measure = search.measure()
    first = forgetting.larger.initial
    return int(measure.of({slot: first[slot] for slot in search.slots}))


class _Search:
    """Looking for a measure."""

    def __init__(self, forgetting: Forgetting) -> None:
        self.forgetting, self.relation = forgetting, forgetting.larger
        self.here = forgetting.here
        self.choosing = [a for a in self.relation.actions if forgetting.may_choose(a)]
        self.slots = tuple(self._slots())
        self.free = z3.SimpleSolver()
        self.free.add(*z3terms.within(self.relation, self.here))
        self.program = z3.Optimize()
        self.unknown = {
            value: z3.Real(f"w{value[0]}_{value[1]}")
            for slot in self.slots
            for value in self._values(slot)
        }
        self.program.add(*(weight >= 0 for weight in self.unknown.values()))
        first = self.relation.initial
        self.program.minimize(z3.Sum(*(self.unknown[slot, first[slot]] for slot in self.slots)))

    def _slots(self) -> Iterator[int]:
        """Fields that a choice may write, of no sort of which there may be more."""
        sorts, slots = self.forgetting.renaming.sorts(), self.relation.system.schema.slots
        written = frozenset[int]().union(*(action.writes for action in self.choosing))
        for variable in self.relation.variables:
            slot = slots[variable.slot]
            own = isinstance(slot.domain, Identifier) and slot.domain.sort in sorts
            free = not own and all(sort not in sorts for sort, _ in slot.lanes)
            if free and variable.slot in written and variable.high - variable.low < MOST_VALUES:
                yield variable.slot

    def _values(self, slot: int) -> Iterator[Value]:
        variable = next(v for v in self.relation.variables if v.slot == slot)
        return ((slot, ordinal) for ordinal in range(variable.low, variable.high + 1))

    def measure(self) -> Measure:
        """The measure with the least sum at the start, shown for every step."""
        questions = [(self._grows, a) for a in self.relation.actions if a.writes & set(self.slots)]
        questions += [(self._stays, action) for action in self.choosing]
        measure, passed, rounds = self._proposed(), 0, 0
        while passed < len(questions):
            ask, action = questions[0]
            if ask(measure, action):
                rounds += 1
                if rounds > MOST_ROUNDS:
                    raise NotShown("no bound is found on how many are chosen")
                measure, passed = self._proposed(), 0
            else:
                questions.append(questions.pop(0))
                passed += 1
        return measure

    def _proposed(self) -> Measure:
        if self.program.check() != z3.sat:
            raise NotShown("a run may choose any number of them")
        model = self.program.model()
        found = {v: model.eval(weight, True).as_fraction() for v, weight in self.unknown.items()}
        return Measure({value: Fraction(weight) for value, weight in found.items() if weight})

    def _grows(self, measure: Measure, action: Action) -> bool:
        step = self.forgetting.step(action)
        lost = self._lost(measure, action)
        return self._counterexample(self.free, action, [step.enabled, lost < 0], 0)

    def _stays(self, measure: Measure, action: Action) -> bool:
        left = self.forgetting.departure(action)
        lost = self._lost(measure, action)
        return self._counterexample(self.forgetting.solver, action, [left, lost < 1], 1)

    def _counterexample(
        self, solver: z3.Solver, action: Action, claims: list[z3.BoolRef], least: int
    ) -> bool:
        self.forgetting.shown_count += 1
        answer = solver.check(*claims)
        if answer == z3.unsat:
            return False
        if answer != z3.sat:
            raise NotShown("the solver gives up")
        before = z3terms.values(solver.model(), self.here)
        after = z3terms.values(
            solver.model(), merged(self.here, self.forgetting.step(action).after)
        )
        lost = [self.unknown[s, before[s]] - self.unknown[s, after[s]] for s in self.slots]
        self.program.add(z3.Sum(*lost, z3.RealVal(0)) >= least)
        return True

    def _lost(self, measure: Measure, action: Action) -> z3.ArithRef:
        """By how much an action makes the sum less."""
        after = merged(self.here, self.forgetting.step(action).after)
        written = [slot for slot in self.slots if slot in action.writes]
        parts = [
            self._weight(measure, self.here, slot) - self._weight(measure, after, slot)
            for slot in written
        ]
        return z3.Sum(*parts, z3.RealVal(0))

    def _weight(self, measure: Measure, state: z3terms.State, slot: int) -> z3.ArithRef:
        found: z3.ArithRef = z3.RealVal(0)
        for _, ordinal in self._values(slot):
            weight = measure.weights.get((slot, ordinal), Fraction(0))
            if weight:
                found = z3.If(self._is(state, slot, ordinal), z3.RealVal(weight), found)
        return found

    def _is(self, state: z3terms.State, slot: int, ordinal: int) -> z3.BoolRef:
        if slot in state.truths:
            return state.truths[slot] if ordinal else z3.Not(state.truths[slot])
        return state.numbers[slot] == ordinal
