"""Proof and search agree; what is proved is confirmed, what is violated is a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import worlds
from random_worlds import random_world

from rackproof.checker.engines import Options, explore
from rackproof.checker.lowering import lower
from rackproof.checker.proof import prover as module
from rackproof.checker.proof.obligations import SAFETY
from rackproof.checker.proof.prover import Prover
from rackproof.checker.proof.race import OUT_OF_MEMORY
from rackproof.checker.verdicts import Verdict, results
from rackproof.model.kernel import (
    Identifiers,
    ModelError,
    Scope,
    System,
    always,
    bounded,
    each,
    evolve,
    frozen,
    sometimes,
    step,
    transition,
)
from rackproof.scenarios.loader import load

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def proved(system: System, seconds: float | None = None) -> Prover:
    """Everything by proof alone, without a search before it."""
    names = tuple(prop.name for prop in system.properties if prop.scope in SAFETY)
    prover = Prover(lower(system), names, seconds=seconds)
    prover.run()
    return prover


def agree(system: System) -> None:
    seen = explore(system, None, Options("search"))
    prover = proved(system)
    assert prover.violated.keys() == {
        p.name for p in system.properties if p.name in seen.violated and p.scope in SAFETY
    }
    assert not prover.reasons
    assert prover.proofs.keys() == {
        p.name for p in system.properties if p.scope in SAFETY and p.name not in seen.violated
    }
    goals = {p.name for p in system.properties if p.scope is Scope.SOMETIMES}
    premises = {p.premise.name for p in system.properties if p.name in prover.proofs and p.premise}
    assert prover.reached == (goals | premises) & seen.reached
    assert prover.never == (goals | premises) - seen.reached
    for name, trace in prover.violated.items():
        prop = next(p for p in system.properties if p.name == name)
        assert trace.violates(prop)
    for proof in prover.proofs.values():
        assert proof.checkers == ("cvc5", "z3")


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_in_small_worlds(name: str) -> None:
    agree(worlds.WORLDS[name][0]())


@pytest.mark.parametrize("seed", range(8))
def test_in_random_worlds(seed: int) -> None:
    agree(random_world(seed))


def test_a_run_that_is_found_is_a_shortest() -> None:
    system = worlds.stream(3, replays=False)
    seen = explore(system, None, Options("search"))
    prover = proved(system)
    assert seen.violated
    for name, trace in prover.violated.items():
        assert len(trace.steps) <= len(seen.violated[name].steps)


def bundled(name: str) -> System:
    scenario = load(SCENARIOS / name)
    return scenario.case.setting.system


def test_of_the_bundled_world_is_confirmed_by_two_solvers() -> None:
    system = bundled("drills/zombie-unfenced.yaml")
    findings = explore(system, None, Options("prove"), asked=["bounded-retries"])
    verdicts = {r.prop.name: r.verdict for r in results(system, findings, {})}
    assert verdicts["bounded-retries"] is Verdict.PROVED
    assert findings.proofs["bounded-retries"].checkers == ("cvc5", "z3")


def test_out_of_time_is_inconclusive() -> None:
    system = worlds.trays(3, 3)
    prover = proved(system, seconds=0.0)
    assert not prover.proofs
    assert all("out of time" in reason for reason in prover.reasons.values())


def test_out_of_memory_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    def eats(*_: object, **__: object) -> None:
        bytearray(1 << 40)

    monkeypatch.setattr(module, "pdr", eats)
    monkeypatch.setattr(module, "bounded", eats)
    monkeypatch.setattr(module, "program", lambda: None)
    prover = proved(worlds.trays(2, 2))
    assert set(prover.reasons.values()) == {OUT_OF_MEMORY}


@frozen
class Walk:
    at: int = bounded(0, 9)


@transition(step)
def onward(world: Walk) -> Walk | None:
    """One step further, at the end one too many."""
    return evolve(world, at=world.at + 1)


@transition(step)
def back(world: Walk) -> Walk | None:
    """Back to the start."""
    return evolve(world, at=0)


@always()
def looked_up(world: Walk) -> bool:
    """A predicate that raises at five."""
    return ("a", "b", "c", "d", "e")[world.at] != "z"


@always()
def never_seven(world: Walk) -> bool:
    """What is false at seven."""
    return world.at != 7


@pytest.mark.parametrize("moves", [(onward,), (onward, back)])
@pytest.mark.parametrize("props", [(), (looked_up,), (never_seven,), (looked_up, never_seven)])
def test_what_raises_is_a_mistake_of_the_model(moves: Any, props: Any) -> None:
    system = System("walk", Walk(), moves, (*props, unrelated))
    with pytest.raises(ModelError):
        explore(system, None, Options("search"))
    with pytest.raises(ModelError) as proven:
        proved(system)
    where = "domain" if looked_up not in props else "index out of range"
    assert where in str(proven.value)


@always()
def unrelated(_world: Walk) -> bool:
    """Always true, and nothing depends on it."""
    return True


Lanes = Identifiers("lane", ordered=True)


@frozen
class Lookup:
    at: int = bounded(0, 9)
    lanes: tuple[bool, ...] = each(Lanes)


@transition(step)
def leap(world: Lookup) -> Lookup | None:
    """Three further."""
    return evolve(world, at=world.at + 3) if world.at < 9 else None


@sometimes()
def there(world: Lookup) -> bool:
    """What raises beyond the last lane."""
    return world.lanes[world.at]


@always(premise=there)
def never_five(world: Lookup) -> bool:
    """What is put to the test by that alone."""
    return world.at != 5


def test_a_premise_that_raises_is_a_mistake_of_the_model() -> None:
    system = System("lookup", Lookup(lanes=(False,) * 4), (leap,), (never_five,))
    with pytest.raises(ModelError, match="index out of range"):
        proved(system)
