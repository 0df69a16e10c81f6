"""What is explored: what is refused, and what the world makes of the rest."""

from typing import Any

import pytest

from rackproof.invariants import CATALOGUE
from rackproof.model.build import TRANSITIONS, build
from rackproof.model.faults import Budget
from rackproof.model.kernel import Kind, ModelError
from rackproof.model.protocol import Protocol
from rackproof.model.rack import load_rack, place
from rackproof.model.scope import Scope, fault_names
from rackproof.model.world import World


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"requests": -1}, "requests is at least 0, not -1"),
        ({"tokens": 0}, "tokens is at least 1, not 0"),
        ({"retry_limit": -1}, "retry-limit is at least 0, not -1"),
        ({"blocks_per_worker": 0}, "blocks-per-worker is at least 1, not 0"),
        ({"handles": 0}, "handles is at least 1, not 0"),
        ({"prefixes": 1}, "prefixes are looked at by themselves: requests is 0 there"),
        ({"tokens": 3, "max_tokens": 2}, "max-tokens is at least tokens (3), not 2"),
        (
            {"prefixes": 1, "requests": 0, "faults": {"restart": 1}},
            "restart knows nothing of caches: with prefixes it is engine-restart",
        ),
        (
            {"retry_limit": 16, "gateway_retries": 4},
            "the retries of all layers come to 85 dispatches of a request; at most 64 can be "
            "explored",
        ),
        ({"faults": {"crush": 1}}, "there is no fault 'crush'"),
        ({"faults": {"tray_loss": 1}}, "there is no fault 'tray_loss'"),
        ({"faults": {"crash": -1}}, "the budget of crash is at least 0, not -1"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as raised:
        Scope(**values)
    assert str(raised.value) == message


def test_every_fault_has_a_transition_and_every_fault_of_a_transition_a_budget() -> None:
    # What a client or the rest of the fleet chooses to do is counted like a fault, and is none.
    counted = {name.replace("-", "_") for name in fault_names()}
    broken = {transition.name for transition in TRANSITIONS if transition.kind is Kind.FAULT}
    assert counted == broken | {"leave", "removal", "pressure"}


def test_faults_that_are_not_named_have_no_budget() -> None:
    assert Scope(faults={"tray-loss": 2}).budget == Budget(tray_loss=2)


def initial(scope: Scope, **instances: Any) -> World:
    placement = place(load_rack("nvl72"), **instances)
    system = build(Protocol(), scope, placement, tuple(CATALOGUE.values()))
    assert isinstance(system.initial, World)
    return system.initial


def test_a_world_has_room_for_every_attempt_and_counts_one_dispatch_more() -> None:
    world = initial(Scope(requests=2, retry_limit=2, tokens=3), aggregated=2)
    assert len(world.requests) == len(world.streams) == len(world.loads) == 2
    assert [len(stream.attempts) for stream in world.streams] == [3, 3]
    assert world.most_dispatches == 3
    assert (world.tokens, world.max_tokens) == (3, 3)


def test_blocks_are_on_disaggregated_workers_alone() -> None:
    assert initial(Scope(blocks_per_worker=2), aggregated=2).homes == ()
    assert initial(Scope(blocks_per_worker=2), prefill=1, decode=2).homes == (0, 0, 1, 1, 2, 2)


def test_every_request_has_the_shape_of_the_scope() -> None:
    world = initial(Scope(requests=2, guided=True, short=True, withholds=True), aggregated=1)
    shapes = {(request.guided, request.short, request.withholds) for request in world.requests}
    assert shapes == {(True, True, True)}


def test_the_faults_given_are_those_left_at_the_start() -> None:
    world = initial(Scope(faults={"crash": 2, "leave": 1}), aggregated=1)
    assert world.given == world.budget == Budget(crash=2, leave=1)
    assert world.spend("crash").budget == Budget(crash=1, leave=1)
    assert world.spend("crash").given == world.given
