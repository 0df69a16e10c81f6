"""Any number of workers: right on small pools, refused where a bystander matters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rackproof.checker.proof.cutoff import Cutoff, Family, family, for_any
from rackproof.checker.search import Limits
from rackproof.checker.verdicts import Verdict
from rackproof.model.kernel import (
    Identifiers,
    ModelError,
    System,
    always,
    at_rest,
    bounded,
    each,
    evolve,
    fault,
    frozen,
    identifier,
    members,
    put,
    step,
    transition,
)
from rackproof.model.sorts import Workers as BundledWorkers
from rackproof.scenarios.schema import Bundled, Setting
from rackproof.scenarios.settings import bundled_setting

Workers = Identifiers("worker")


@frozen
class Worker:
    up: bool = True
    busy: bool = False


@frozen
class Pool:
    """One request that is sent to a worker, and once more to another when that dies."""

    workers: tuple[Worker, ...] = each(Workers)
    tried: frozenset[int] = members(Workers)
    at: int | None = identifier(Workers)
    tries: int = bounded(0, 2)
    crashes_left: int = bounded(0, 3)
    crashed: int = bounded(0, 3)
    done: bool = False
    twice: bool = False
    odd: bool = False


@transition(step, worker=Workers)
def send(world: Pool, worker: int) -> Pool | None:
    """The request goes to {worker}."""
    if world.at != None or world.done or world.tries == 2 or worker in world.tried:
        return None
    return evolve(
        world,
        at=worker,
        tries=world.tries + 1,
        tried=world.tried | {worker},
        twice=world.tries == 1,
    )


@transition(step, worker=Workers)
def answer(world: Pool, worker: int) -> Pool | None:
    """{worker} answers."""
    if world.at != worker or not world.workers[worker].up:
        return None
    return evolve(world, done=True)


@transition(step, worker=Workers)
def notice(world: Pool, worker: int) -> Pool | None:
    """{worker} is found dead."""
    if world.at != worker or world.workers[worker].up:
        return None
    return evolve(world, at=None)


@transition(fault, worker=Workers)
def crash(world: Pool, worker: int) -> Pool | None:
    """{worker} dies."""
    if not world.workers[worker].up or not world.crashes_left:
        return None
    dead = evolve(world.workers[worker], up=False)
    return evolve(
        world, workers=put(world.workers, worker, dead), crashes_left=world.crashes_left - 1
    )


@transition(step, worker=Workers)
def toil(world: Pool, worker: int) -> Pool | None:
    """{worker} works on something else."""
    here = world.workers[worker]
    return evolve(world, workers=put(world.workers, worker, evolve(here, busy=not here.busy)))


@always()
def never_twice(world: Pool) -> bool:
    """The request is sent once."""
    return not world.twice


@always()
def never_odd(world: Pool) -> bool:
    """Nothing odd happens."""
    return not world.odd


@always(worker=Workers)
def dies_once(world: Pool, worker: int) -> bool:
    """A worker that is dead used up the crash."""
    return world.workers[worker].up or world.crashes_left == 0


@always()
def sane(world: Pool) -> bool:
    """An answer comes from a worker that was tried."""
    return not world.done or bool(world.tried)


@at_rest()
def ends(world: Pool) -> bool:
    """At rest there is an answer."""
    return world.done


def pool(*more: Any, crashes: int = 1) -> Family:
    """Pools of any size, with more transitions."""

    def make(sizes: Any) -> System:
        workers = tuple(Worker() for _ in range(sizes["worker"]))
        return System(
            "pool",
            Pool(workers=workers, crashes_left=crashes),
            (send, answer, notice, crash, *more),
            (never_twice, never_odd, dies_once, sane, ends),
        )

    return Family(make, {"worker": 1})


def test_holds_for_any_number() -> None:
    found = for_any(pool(toil), ["sane", "never-odd"])
    assert found.result is Verdict.HOLDS
    assert found.sizes == {"worker": 2}
    assert found.searched == ({"worker": 1}, {"worker": 2})
    assert [step.chosen for step in found.shown if step.smaller == {"worker": 2}] == [2]
    assert {step.larger["worker"] for step in found.shown} == {2, 3, 4}


def test_violation_at_the_cutoff() -> None:
    found = for_any(pool(), ["never-twice"])
    assert found.result is Verdict.VIOLATED
    assert found.violated == ("never-twice",)
    assert found.searched[-1] == {"worker": 2}


def test_an_instance_may_speak_of_a_bystander() -> None:
    found = for_any(pool(), ["dies-once"])
    assert found.result is Verdict.HOLDS
    assert {(step.chosen, step.spoken) for step in found.shown} == {(2, 1)}
    assert found.sizes == {"worker": 3}


@transition(step)
def three(world: Pool) -> Pool | None:
    """There are three or more."""
    return evolve(world, odd=True) if len(world.workers) >= 3 else None


@transition(fault, worker=Workers)
def count(world: Pool, worker: int) -> Pool | None:
    """{worker} dies, and deaths are counted without end."""
    if not world.workers[worker].up:
        return None
    dead = evolve(world.workers[worker], up=False)
    counted = (world.crashed + 1) % 4
    return evolve(
        world,
        workers=put(world.workers, worker, dead),
        crashed=counted,
        odd=world.odd | (counted == 3),
    )


@transition(step)
def everybody(world: Pool) -> Pool | None:
    """Everybody is dead."""
    dead = not any(worker.up for worker in world.workers)
    return evolve(world, odd=True) if dead and world.done else None


@transition(step)
def somebody(world: Pool) -> Pool | None:
    """Somebody is busy who was never asked."""
    busy = any(here.busy and other not in world.tried for other, here in enumerate(world.workers))
    return evolve(world, odd=True) if busy and world.done else None


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ((three,), "never-odd depends on who is there"),
        ((count,), "a run may choose any number of them"),
        ((toil, somebody), "somebody depends on who is there"),
    ],
    ids=["three", "count", "somebody"],
)
def test_a_bystander_that_matters_is_found_out(more: tuple[Any, ...], why: str) -> None:
    found = for_any(pool(*more), ["never-odd"])
    assert (found.result, found.reason) == (Verdict.INCONCLUSIVE, why)


def test_a_guard_on_all_is_no_harm() -> None:
    """What needs all to be dead can happen without one who is."""
    found = for_any(pool(everybody), ["never-odd"])
    assert found.result is not Verdict.INCONCLUSIVE


def test_a_property_that_counts_is_found_out() -> None:
    @always()
    def few(world: Pool) -> bool:
        """Not three are busy."""
        return sum(worker.busy for worker in world.workers) < 3

    assert _with(few, toil).reason == "few depends on who is there"


def test_workers_that_differ_are_not_forgotten() -> None:
    @transition(step)
    def first(world: Pool) -> Pool | None:
        """The first worker and the last are special."""
        last = world.workers[-1].up and not world.workers[0].up
        return evolve(world, odd=True) if last else None

    found = for_any(pool(first), ["never-odd"])
    assert found.reason == "those of which there are more are not all alike"


def test_only_what_is_always_asked() -> None:
    assert for_any(pool(), ["ends"]).reason == "ends is not asked of every state"


def test_an_unknown_property() -> None:
    with pytest.raises(ModelError, match="no property is called nothing"):
        for_any(pool(), ["nothing"])


def test_a_search_that_does_not_end() -> None:
    found = for_any(pool(toil), ["sane"], limits=Limits(max_states=3))
    assert found.result is Verdict.INCONCLUSIVE
    assert found.reason is not None
    assert found.reason.startswith("with ")


def _with(prop: Any, *more: Any) -> Cutoff:
    inner: Callable[[Any], System] = pool(*more).make

    def make(sizes: Any) -> System:
        return evolve(inner(sizes), properties=(prop,))

    return for_any(Family(make, {"worker": 1}), [prop.name])


def test_the_bundled_world_in_other_sizes() -> None:
    bundled = Bundled(rack={"preset": "nvl72", "prefill": 1, "decode": 2}, scope={"tokens": 1})
    found = family(bundled_setting(bundled, Path()))
    assert found.roles == {"prefill": 1, "decode": 1}
    names = found.make({"prefill": 2, "decode": 1}).names[BundledWorkers]
    assert names == ("prefill-0", "prefill-1", "decode-0")


def test_a_rack_whose_workers_are_placed_by_name_has_no_other_sizes() -> None:
    setting = Setting(pool().make({"worker": 1}), {})
    with pytest.raises(ModelError, match="a world of one's own"):
        family(setting)
    placed = evolve(setting, bundled=Bundled(rack={"on": {}, "prefill": 1}))
    with pytest.raises(ModelError, match="places its workers by name"):
        family(placed)
