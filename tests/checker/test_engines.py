"""Search and proof under one interface: which of them tells, and what is left open."""

from __future__ import annotations

import pytest
from open_worlds import call, climbing

from rackproof.checker import beside, engines
from rackproof.checker.engines import Options, explore
from rackproof.checker.proof import prover
from rackproof.checker.verdicts import Verdict, results
from rackproof.model.kernel import (
    Identifiers,
    System,
    always,
    each,
    eventually,
    evolve,
    frozen,
    put,
    sometimes,
    step,
    transition,
)

Lanes = Identifiers("lane", ordered=True)


@frozen
class Lane:
    on: bool = False


@frozen
class Road:
    lanes: tuple[Lane, ...] = each(Lanes)
    crossed: bool = False


@transition(step, lane=Lanes)
def switch(world: Road, lane: int) -> Road | None:
    """{lane} goes on or off."""
    changed = evolve(world.lanes[lane], on=not world.lanes[lane].on)
    return evolve(world, lanes=put(world.lanes, lane, changed))


@transition(step)
def cross(world: Road) -> Road | None:
    """Somebody crosses while lanes 0 and 1 are both off and on."""
    if world.lanes[0].on and not world.lanes[0].on:
        return evolve(world, crossed=True)
    if world.crossed and world.lanes[1].on:
        return evolve(world, crossed=False)
    return None


@sometimes()
def both_on(world: Road) -> bool:
    """The first two lanes are on."""
    return world.lanes[0].on and world.lanes[1].on


@sometimes()
def crossing(world: Road) -> bool:
    """Somebody crosses."""
    return world.crossed


@always(premise=both_on)
def nobody_crosses(world: Road) -> bool:
    """Nobody ever crosses."""
    return not (world.lanes[0].on and world.crossed)


@always(premise=crossing)
def crossed_twice(world: Road) -> bool:
    """What is put to the test by a crossing alone."""
    return not (world.lanes[1].on and world.crossed)


@always(premise=both_on)
def not_all_on(world: Road) -> bool:
    """Not every lane is on."""
    return not all(lane.on for lane in world.lanes)


@eventually()
def off_again(world: Road) -> bool:
    """Again and again, the first lane is off."""
    return not world.lanes[0].on


def road(lanes: int, *props: object) -> System:
    """2 to the power of so many states, none of them like another."""
    world = Road(lanes=tuple(Lane() for _ in range(lanes)))
    return System("road", world, (switch, cross), props)  # type: ignore[arg-type]


def verdicts(system: System, options: Options) -> dict[str, Verdict]:
    found = explore(system, None, options)
    return {result.prop.name: result.verdict for result in results(system, found, {})}


def test_a_search_that_ends_soon_is_all_there_is() -> None:
    found = explore(road(4, nobody_crosses), None, Options("auto"))
    assert found.engine == "search"
    assert not found.proofs


def test_a_proof_ends_a_search_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "GRACE", 0.2)
    found = explore(road(40, nobody_crosses), None, Options("auto", memory=2 << 30, seconds=60))
    assert found.reason == beside.PROVED
    assert found.proofs["nobody-crosses"].checkers == ("cvc5", "z3")


def test_a_search_ends_when_all_that_matters_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not asked about, a loop say, does not keep it going."""
    monkeypatch.setattr(beside, "GRACE", 0.2)
    options = Options("auto", memory=2 << 30, seconds=60)
    found = explore(road(40, nobody_crosses, off_again), None, options, asked=["nobody-crosses"])
    assert found.reason == beside.PROVED


def test_a_proof_goes_on_where_a_search_runs_out_of_memory() -> None:
    system = road(40, nobody_crosses)
    assert verdicts(system, Options("auto", memory=64 << 20)) == {"nobody-crosses": Verdict.PROVED}


def test_a_run_that_is_deep_is_found_beside_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where it cannot be shown soon that there is no shorter one, that is told."""
    monkeypatch.setattr(beside, "GRACE", 0.2)
    monkeypatch.setattr(prover, "SHORTER", 0.5)
    system = road(30, not_all_on)
    found = explore(system, frozenset({"not-all-on"}), Options("auto", seconds=100))
    assert len(found.violated["not-all-on"].steps) >= 30
    assert found.longer == {"not-all-on"}


def test_what_is_never_put_to_the_test_is_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "NEAR", 1_000)
    assert verdicts(road(40, nobody_crosses, crossed_twice), Options("prove")) == {
        "nobody-crosses": Verdict.PROVED,
        "crossed-twice": Verdict.VACUOUS,
    }


def test_a_proof_says_nothing_of_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "NEAR", 1_000)
    system = road(40, off_again)
    (result,) = results(system, explore(system, None, Options("prove")), {})
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason == engines.LOOPS


@pytest.mark.parametrize("engine", engines.ENGINES)
def test_engines_agree_on_what_is_small(engine: str) -> None:
    seen = verdicts(road(6, nobody_crosses, not_all_on, off_again), Options(engine))
    assert seen["not-all-on"] is Verdict.VIOLATED
    unshown = (Verdict.INCONCLUSIVE,) if engine == "sample" else (Verdict.HOLDS, Verdict.PROVED)
    assert seen["nobody-crosses"] in unshown


def test_what_is_proved_for_every_size_is_confirmed() -> None:
    system = climbing(tight=True)
    found = explore(system, None, Options("prove", open=("height",)))
    proof = found.proofs["below"]
    assert proof.open == ("height",)
    assert proof.checkers == ("cvc5", "z3")
    assert verdicts(system, Options("auto", open=("height",))) == {"below": Verdict.PROVED}


def test_a_violation_of_another_size_is_told_with_it() -> None:
    system = climbing(tight=False)
    assert verdicts(system, Options("search"))["below"] is Verdict.HOLDS
    found = explore(system, None, Options("prove", open=("height",)))
    trace = found.violated["below"]
    assert trace.steps[-1].after.at > trace.system.initial.top
    assert "below is violated with top 1, slack 1" in (found.note or "")


def test_each_property_is_proved_by_itself_where_one_cannot_be() -> None:
    system = call(strict=False)
    found = explore(system, None, Options("prove", open=tuple(system.freedoms)))
    told = {r.prop.name: r.verdict for r in results(system, found, {})}
    assert Verdict.PROVED in told.values()
    assert set(told.values()) <= {Verdict.PROVED, Verdict.VIOLATED, Verdict.INCONCLUSIVE}
