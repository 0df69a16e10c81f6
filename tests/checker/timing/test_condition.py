"""Conditions on random worlds, held against z3 and a second account of what times must keep to."""

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
import timed_worlds
import z3

from rackproof.checker.timing.amounts import Amount
from rackproof.checker.timing.condition import Condition, condition, inequality, rounded, samples
from rackproof.checker.timing.network import Schedule
from rackproof.checker.timing.windows import timed
from rackproof.checker.trace import EngineError, Trace, run
from rackproof.model.kernel import Bound, Firing, System, successors


def walk(system: System, seed: int, steps: int) -> Trace:
    """A random run, whatever its times."""
    chance, state, firings = random.Random(seed), system.initial, list[Firing]()
    for _ in range(steps):
        found = list(successors(system, state))
        if not found:
            break
        firing, state = chance.choice(found)
        firings.append(firing)
    return run(system, firings)


class Told:
    """The times of a run's steps as z3 has them, from the docstring of ``Timing`` alone."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        assert trace.system.timing is not None
        self.timing = trace.system.timing
        self.names = {name: z3.Real(name) for name in self.timing.quantities}
        self.times = [z3.RealVal(0), *(z3.Real(f"t{n}") for n, _ in enumerate(trace.steps))]
        self.states = [trace.system.initial, *(step.after for step in trace.steps)]
        self.possible = [{f for f, _ in successors(trace.system, s)} for s in self.states]

    @property
    def keeps(self) -> z3.BoolRef:
        """That the times keep to everything."""
        ordered = [a <= b for a, b in zip(self.times, self.times[1:], strict=False)]
        return z3.And(*ordered, *(c for f in self.trace.system.firings() for c in self.of(f)))

    def of(self, firing: Firing) -> Iterator[z3.BoolRef]:
        """What the clock of one instance says at each step before which it is running."""
        duration = self.timing.durations[firing.transition.duration or ""]
        since = self.times[0] if firing in self.possible[0] else None
        held = [self.times[0]] if self.is_held(firing, 0) else []
        for number, step in enumerate(self.trace.steps, 1):
            if since is not None:
                passed = self.times[number] - since
                if duration.most is not None:
                    yield passed <= self.amount(duration.most)
                if step.firing == firing:
                    least = self.amount(duration.least)
                    yield self.times[number] - (held[0] if duration.since else since) >= least
            if firing not in self.possible[number]:
                since = None
            elif since is None or step.firing == firing:
                since = self.times[number]
            begun = [self.times[number]] if self.is_held(firing, number) else []
            held = [*held, *begun] if begun and step.firing != firing else begun

    def is_held(self, firing: Firing, number: int) -> bool:
        """Whether that is so which the least of an instance counts from, if it has such a thing."""
        since = self.timing.durations[firing.transition.duration or ""].since
        return since is not None and since(self.states[number], firing)

    def amount(self, bound: Bound) -> Any:
        return z3.Sum(
            z3.RealVal(bound.seconds), *(self.names[n] * int(k) for n, k in bound.times.items())
        )

    def meets(self, found: Condition) -> z3.BoolRef:
        """That the names meet a condition."""
        return z3.And(*(self.at_least_nothing(amount) for amount in found.amounts))

    def at_least_nothing(self, amount: Amount) -> Any:
        terms = [z3.Q(k.numerator, k.denominator) * self.names[n] for n, k in amount.terms]
        return z3.Sum(z3.Q(amount.seconds.numerator, amount.seconds.denominator), *terms) >= 0

    def fixed(self, free: frozenset[str]) -> list[Any]:
        """No name below nothing, and those that are not free as they are by default."""
        values = {n: q.value for n, q in self.timing.quantities.items()}
        return [
            variable >= 0 if name in free else variable == values[name]
            for name, variable in self.names.items()
        ]


def unsatisfiable(*claims: Any) -> bool:
    solver = z3.Solver()
    solver.add(*claims)
    verdict = solver.check()
    assert verdict != z3.unknown
    return bool(verdict == z3.unsat)


@pytest.mark.parametrize("seed", range(40))
def test_a_condition_is_what_is_left_when_the_times_are_projected_out(seed: int) -> None:
    system = timed_worlds.random_timed(seed, growing=False)
    told = Told(walk(system, seed, 6))
    timing = timed(told.trace)
    names = frozenset(timing.durations.values)
    for free in (names, timing.durations.chosen()):
        found, fixed = condition(timing, free), told.fixed(free)
        assert unsatisfiable(*fixed, told.keeps, z3.Not(told.meets(found)))
        nowhere = z3.ForAll(told.times[1:], z3.Not(told.keeps)) if told.trace.steps else False
        assert unsatisfiable(*fixed, told.meets(found), nowhere)
        assert found.holds is isinstance(timing.solve(), Schedule)


@pytest.mark.parametrize("seed", range(60, 90))
def test_none_of_a_conditions_inequalities_follows_from_the_rest(seed: int) -> None:
    timing = timed(walk(timed_worlds.random_timed(seed, growing=False), seed, 8))
    found = condition(timing, frozenset(timing.durations.values))
    if found.is_never:
        assert len(found.amounts) == 1
        return
    for values, wanted in samples(found):
        solved = timing.solve({**timing.durations.values, **values})
        assert isinstance(solved, Schedule) is wanted


def test_a_condition_that_is_wrong_does_not_get_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from rackproof.checker.timing import condition as module  # noqa: PLC0415

    steps = [Firing(each, ()) for each in (timed_worlds.token, timed_worlds.give_up)]
    timing = timed(run(timed_worlds.watchdog(1, 4, 10), steps))
    wrong = (Amount.of(Fraction(-3), {"limit": Fraction(1)}),)
    monkeypatch.setattr(module, "_minimal", lambda _: wrong)
    with pytest.raises(EngineError, match=r"the condition \('limit >= 3 s',\) is wrong at"):
        condition(timing, frozenset(timing.durations.values))


def test_words_of_a_condition_name_each_side() -> None:
    amount = Amount.of(Fraction(-2), {"read": Fraction(1), "lease": Fraction(-1)})
    assert inequality(amount) == "read >= lease + 2 s"


@pytest.mark.parametrize(
    "seconds", ["0.335023", "-30.0828", "97.3728", "-1500.3", "2", "-0.0009999"]
)
def test_a_bound_with_few_digits_implies_the_bound_or_is_implied(seconds: str) -> None:
    amount = Amount(Fraction(seconds), (("lease", Fraction(1)),))
    less, more = rounded(amount).seconds, rounded(amount, up=True).seconds
    assert less <= amount.seconds <= more
    assert more - less <= abs(amount.seconds) / 100
