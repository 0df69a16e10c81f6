"""Where KV comes from, and what is best for one request and worst for a storm."""

import math

import pytest
from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.recovery import (
    Policy,
    Recovery,
    Storm,
    cheapest,
    egress_s,
)
from rackproof.model.performance.hardware import Link

NVLINK = Link("4x-nvlink5", 3600, 5)
SCALE_OUT = Link("4x400g", 200, 10)
ETHERNET = Link("100gbe", 12.5, 20)
PREFILL_TOKENS_PER_S = 12 / 32.1e-6
"""Of twelve instances, at 32 microseconds a token."""

STORM = Storm((3067,) * 96, 327_680, PREFILL_TOKENS_PER_S, 268_708)
"""Of the study's rack, 8 s in: 96 requests on the instance that fails, 294,490 tokens."""

RECOMPUTE = Recovery(Policy.RECOMPUTE)


def transfer(link: Link) -> Recovery:
    return Recovery(Policy.TRANSFER, link)


@pytest.mark.parametrize(
    ("link", "seconds"), [(NVLINK, 0.0273), (SCALE_OUT, 0.483), (ETHERNET, 7.72)]
)
def test_a_storm_leaves_one_by_one(link: Link, seconds: float) -> None:
    assert STORM.ends_s(transfer(link)) == pytest.approx(seconds, rel=2e-3)


def test_a_storm_is_recomputed_and_the_backlog_drains() -> None:
    assert STORM.tokens == 294_432
    assert STORM.ends_s(RECOMPUTE) == pytest.approx(0.79, abs=0.005)
    assert STORM.drained_s() == pytest.approx(2.8, abs=0.01)
    assert STORM.ends_s(evolve(RECOMPUTE, first=False)) == STORM.drained_s()


def test_best_for_one_and_worst_for_all() -> None:
    """Over 100GbE one request is there sooner than recomputed; a storm is not."""
    choices = [RECOMPUTE, transfer(ETHERNET)]
    one = Storm((3000,), 327_680, 1 / 32.1e-6)
    assert cheapest(one, choices) is choices[1]
    assert cheapest(STORM, choices) is RECOMPUTE
    assert cheapest(STORM, [*choices, transfer(NVLINK)]).link is NVLINK


def test_a_pool_with_nothing_to_spare_never_catches_up() -> None:
    busy = evolve(STORM, offered_tokens_per_s=PREFILL_TOKENS_PER_S)
    assert busy.drained_s() == math.inf
    assert busy.ends_s(evolve(RECOMPUTE, first=False)) == math.inf
    assert busy.ends_s(RECOMPUTE) < 1


def test_a_pool_that_is_to_come_back_is_waited_for() -> None:
    later = evolve(STORM, starts_s=3.0)
    assert later.ends_s(RECOMPUTE) == STORM.ends_s(RECOMPUTE) + 3
    assert cheapest(later, [Recovery(Policy.ABORT), RECOMPUTE]) is RECOMPUTE


def test_nothing_lost_takes_no_time() -> None:
    calm = Storm((), 327_680, PREFILL_TOKENS_PER_S)
    assert egress_s([], NVLINK) == calm.ends_s(RECOMPUTE) == calm.drained_s() == 0


def test_names_of_policies() -> None:
    assert transfer(NVLINK).text == "transfer 4x-nvlink5"
    assert evolve(RECOMPUTE, first=False).text == "recompute in turn"
    assert STORM.ends_s(Recovery(Policy.ABORT)) == math.inf
    assert STORM.ends_s(Recovery(Policy.REPLICA)) == 0
    store = Recovery(Policy.STORE, SCALE_OUT, lookup_s=0.5)
    assert STORM.ends_s(store) == STORM.ends_s(transfer(SCALE_OUT)) + 0.5


def test_bad_recoveries() -> None:
    with pytest.raises(ModelError, match="checkpoints come each so many seconds, not 0"):
        Recovery(Policy.CHECKPOINT, NVLINK)
    with pytest.raises(ModelError, match="recovery by checkpoint needs a link"):
        Recovery(Policy.CHECKPOINT, every_s=1)
    with pytest.raises(ModelError, match="recovery by transfer needs a link"):
        Recovery(Policy.TRANSFER)
    with pytest.raises(ModelError, match="by recompute moves nothing over 100gbe"):
        Recovery(Policy.RECOMPUTE, ETHERNET)
    with pytest.raises(ModelError, match="no negative time"):
        Recovery(Policy.STORE, ETHERNET, lookup_s=-1)
    with pytest.raises(ModelError, match="no recovery to choose from"):
        cheapest(STORM, [])
