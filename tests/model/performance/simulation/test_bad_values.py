"""What cannot be simulated is told in one sentence, and nothing else is lost."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import evolve
from serving import GB200, LINKS, study, workload

from rackproof.model.kernel import ModelError
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.simulation import (
    Aggregated,
    Disaggregated,
    FixedEngine,
    HandOff,
    Pool,
    PrefixCache,
    Request,
    Slo,
    simulate,
)

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pool(GB200, 0), "count is positive, not 0"),
        (lambda: Pool(GB200, -1), "count is positive, not -1"),
        (lambda: Pool(GB200, 1.5), "count is a whole number, not 1.5"),
        (lambda: HandOff(LINKS["nvlink"], 0), "channels is positive, not 0"),
        (lambda: HandOff(LINKS["nvlink"], 1.5), "channels is a whole number, not 1.5"),
        (lambda: PrefixCache(0), "block_tokens is positive, not 0"),
        (lambda: PrefixCache(512, -2), "blocks is positive, not -2"),
        (lambda: Slo(NAN, 0.05), "ttft_s is a number, not nan"),
        (lambda: Slo(2.0, -1), "tpot_s is positive, not -1"),
        (lambda: FixedEngine(INF, 1), "prefill_ms is a number, not inf"),
        (lambda: FixedEngine(1, 0), "decode_ms is positive, not 0"),
        (lambda: study(1, 1, prefill_tokens=0), "prefill_tokens is positive, not 0"),
        (lambda: study(1, 1, decode_batch=0), "decode_batch is positive, not 0"),
        (lambda: study(1, 1, context_tokens=0), "context_tokens is positive, not 0"),
        (lambda: study(2, 1, paths=((LINKS["nvlink"],),)), "paths are 2 rows"),
        (lambda: Aggregated(pool=Pool(GB200, 1), chunk_tokens=256), "more than decode_batch"),
    ],
)
def test_settings(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_kv_that_is_not_the_same() -> None:
    other = evolve(GB200, kv=kv_format("fp8"))
    with pytest.raises(ModelError, match=r"327,680 B of KV a token, decode 163,840; .* the same"):
        Disaggregated(
            prefill=Pool(GB200, 1), decode=Pool(other, 1), hand_off=HandOff(LINKS["nvlink"])
        )


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Request(NAN, 10, 10), "request 1 arrives at a time from 0 s on, not nan"),
        (Request(INF, 10, 10), "request 1 arrives at a time from 0 s on, not inf"),
        (Request(-1.0, 10, 10), "request 1 arrives at a time from 0 s on, not -1.0"),
        (Request(0.5, 10, 10), r"request 1 arrives at 0.5 s, the one before at 1 s"),
        (Request(2.0, 0, 10), "request 1: prompt is a number of tokens, not 0"),
        (Request(2.0, 10, -3), "request 1: output is a number of tokens, not -3"),
        (Request(2.0, 10.5, 10), "request 1: prompt is a number of tokens, not 10.5"),  # type: ignore[arg-type]
    ],
)
def test_requests(bad: Request, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        simulate(study(1, 1), [Request(1.0, 10, 10), bad])


def test_no_requests() -> None:
    with pytest.raises(ModelError, match="there are no requests"):
        simulate(study(1, 1), [])


@pytest.mark.parametrize("warm_up", [-0.1, 1.0, NAN])
def test_a_warm_up_that_is_no_share(warm_up: float) -> None:
    with pytest.raises(ModelError, match="warm_up is a share from 0"):
        simulate(study(1, 1), list(workload(1)), warm_up=warm_up)


@pytest.mark.parametrize("given", [{"keep": -1}, {"count": 0}, {"count": NAN}])
def test_counts_that_are_none(given: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="keep is 0 or more, count 1 or more"):
        simulate(study(1, 1), list(workload(1)), **given)


def test_those_that_never_fit_are_rejected() -> None:
    given = list(workload(60))
    given[10] = evolve(given[10], prompt=GB200.kv_capacity_tokens)
    given[20] = evolve(given[20], prompt=200_000)
    run = simulate(study(2, 2, context_tokens=131_072), given, warm_up=0)
    assert (run.offered, run.completed, run.rejected, run.lost) == (60, 58, 2, 0)
    assert run.slo_attainment == 58 / 60
    assert [record.outcome for record in run.records].count("rejected") == 2
    assert run.reasons[0].startswith("request 10 was rejected: it has 1,61")
    run = simulate(study(2, 2), given, warm_up=0)
    (reason,) = run.reasons
    assert reason.endswith("an instance has room for 1,612,839")


def test_all_are_rejected() -> None:
    run = simulate(study(1, 1, context_tokens=10), list(workload(5)))
    assert (run.completed, run.rejected) == (0, 5)
    assert math.isnan(run.ttft_prefill.mean)
    assert run.slo_attainment == 0
    run = simulate(study(1, 1, context_tokens=10), [Request(0.0, 100, 100)])
    assert (run.rejected, run.horizon_s) == (1, 0)


def test_how_many_there_are() -> None:
    """An iterator of unknown length: counted while it is short, else its length is asked for."""

    def unknown() -> Iterator[Request]:
        yield from workload(50)

    listed = simulate(study(2, 2), list(workload(50)))
    assert simulate(study(2, 2), unknown()) == listed
    with pytest.raises(ModelError, match=r"of more than 20 requests .*count says how many"):
        simulate(study(2, 2), unknown(), keep=20)
    told = simulate(study(2, 2), unknown(), keep=20, count=50)
    assert told.records == ()
    assert told.ttft_prefill.count == 45
    assert told.ttft_prefill.p50 == pytest.approx(listed.ttft_prefill.p50, rel=0.1)


def test_one_token_needs_no_decode() -> None:
    run = simulate(study(1, 1), [Request(0.0, 100, 1)], warm_up=0)
    assert run.completed == 1
    assert run.e2e == run.ttft_prefill
    assert run.tpot.count == run.ttft_decode.count == run.itl.count == 0
    assert run.slo_attainment == 1
