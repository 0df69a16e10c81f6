"""Transfer or recompute, as ranges of context length and as bandwidths."""

from itertools import pairwise

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.formats import KvFormat, kv_format
from rackproof.model.performance.hardware import Link, gpu, link
from rackproof.model.performance.parallel import ExpertParallel
from rackproof.model.performance.paths import Messages
from rackproof.model.performance.questions.break_even import (
    Choice,
    critical,
    mooncake_bytes_per_s,
    over_bandwidth,
    over_length,
)
from rackproof.model.performance.questions.search import greatest_ratio, runs
from rackproof.model.performance.roofline import Engine

LLAMA = Engine(gpu("gb200"), 4, architecture("llama-3-70b"), kv_format("bf16"))
LONGEST = 131_072


def told(choice: Choice, longest: int = LONGEST) -> list[tuple[int, str]]:
    """Where each range starts, and what is better in it."""
    return [(span.first_tokens, span.better) for span in over_length(choice, longest)]


def by_the_formula(bandwidth: float, latency_s: float) -> list[tuple[int, str]]:
    """The same, of every length one by one, from the formula and constants of the study alone."""
    n = np.arange(1, LONGEST + 1, dtype=float)
    params, d, layers, kv = 69_501_714_432, 8192, 80, 327_680
    flops = 2 * params * n + 2 * layers * d * n * (n + 1)
    size = 2 * params + n * d * 2 + n * kv
    reduces = 2 * layers * (2 * 3 / 4 * n * d * 2 / 900e9 + 6 * 5e-6)
    recompute = np.maximum(flops / (2.5e15 * 0.55 * 4), size / (8e12 * 0.8 * 4)) + reduces + 0.5e-3
    wins = latency_s + n * kv / bandwidth < recompute
    starts = [0, *(np.flatnonzero(np.diff(wins)) + 1)]
    return [(int(n[i]), "transfer" if wins[i] else "recompute") for i in starts]


@pytest.mark.parametrize(
    ("bandwidth", "latency_us", "first", "after"),
    [(10, 20, 1_992, 11_123), (9, 20, 804, 27_590), (7, 100, 305, 71_739), (3.125, 20, 107, None)],
)
def test_crossings(bandwidth: float, latency_us: float, first: int, after: int | None) -> None:
    choice = Choice(LLAMA, Link("slow", bandwidth, latency_us))
    expected = [(1, "transfer"), (first, "recompute")] + ([(after, "transfer")] if after else [])
    assert told(choice) == expected
    assert by_the_formula(bandwidth * 1e9, latency_us * 1e-6) == expected


@pytest.mark.parametrize("bandwidth", [2.0, 5.5, 8.0, 10.2, 10.27, 10.276, 10.28, 11.0])
def test_every_length_is_decided_right(bandwidth: float) -> None:
    """Near the critical bandwidth too, where two crossings come together and vanish."""
    assert told(Choice(LLAMA, Link("any", bandwidth, 20))) == by_the_formula(bandwidth * 1e9, 20e-6)


def test_presets_of_slow_links() -> None:
    assert told(Choice(LLAMA, link("nvme"))) == [
        (1, "transfer"),
        (305, "recompute"),
        (71_739, "transfer"),
    ]
    assert told(Choice(LLAMA, link("100gbe"))) == [(1, "transfer")]
    assert told(Choice(LLAMA, link("25gbe"))) == [(1, "transfer"), (107, "recompute")]


def test_a_quarter_of_the_bytes_over_25_gbe() -> None:
    """4.5 bits a value rather than 16: transfer at every length."""
    small = evolve(LLAMA, kv=KvFormat("nvfp4-like", 4.5))
    assert told(Choice(small, link("25gbe"))) == [(1, "transfer")]


def test_very_long_contexts_over_25_gbe() -> None:
    """Attention catches up with the slow link in the end, past what any instance holds."""
    spans = over_length(Choice(LLAMA, link("25gbe")), 10_000_000)
    assert [span.better for span in spans] == ["transfer", "recompute", "transfer"]
    assert spans[1].last_tokens > 131_072


def test_critical_bandwidth() -> None:
    found = critical(Choice(LLAMA, Link("ideal", 10, 0)))
    assert found.least_bytes_per_s is not None
    assert f"{found.least_bytes_per_s / 1e9:.2f}" == "10.28"
    assert f"{found.recompute_s / found.tokens * 1e6:.2f}" == "31.89"
    each = [LLAMA.prefill([(n, 0)]).seconds / n for n in range(1, 20_000)]
    assert found.tokens == 1 + int(np.argmin(each))


def test_just_above_the_critical_bandwidth_transfer_always_wins() -> None:
    choice = Choice(LLAMA, link("25gbe"))
    least = critical(choice).least_bytes_per_s
    assert least is not None
    above, below = (evolve(choice, link=Link("x", least * f / 1e9, 20)) for f in (1.0001, 0.9999))
    assert told(above) == [(1, "transfer")]
    assert len(told(below)) == 3


def test_bandwidth_for_a_length() -> None:
    """At 3,000 tokens 100 GbE wins, only just: 78.7 against 96.4 ms."""
    choice = Choice(LLAMA, link("100gbe"))
    (found,) = over_bandwidth(choice, [3000])
    assert f"{found.transfer_s * 1e3:.1f}" == "78.7"
    assert f"{found.recompute_s * 1e3:.1f}" == "96.4"
    assert found.better == "transfer"
    assert found.least_bytes_per_s is not None
    (half,) = over_bandwidth(evolve(choice, efficiency=0.5), [3000])
    assert half.least_bytes_per_s == pytest.approx(2 * found.least_bytes_per_s)
    for factor, better in ((1.000001, "transfer"), (0.999999, "recompute")):
        nearby = evolve(choice, link=Link("x", found.least_bytes_per_s * factor / 1e9, 20))
        assert over_bandwidth(nearby, [3000])[0].better == better


def test_what_else_is_charged() -> None:
    base = Choice(LLAMA, link("100gbe"))
    small = evolve(base, messages=Messages(16))
    assert small.transfer_s(3000) - base.transfer_s(3000) == pytest.approx(188 * 80 * 0.9e-6)
    half = evolve(base, efficiency=0.5)
    assert half.transfer_s(3000) - 20e-6 == pytest.approx(2 * (base.transfer_s(3000) - 20e-6))
    late = evolve(base, prefill_wait_s=0.1, handoff=link("4x-nvlink5"))
    assert late.recompute_s(3000) - base.recompute_s(3000) == pytest.approx(0.1 + 278.07e-6)
    behind = evolve(base, kept_tokens=1000)
    assert behind.recompute_s(1000) > base.recompute_s(1000)
    assert behind.transfer_s(1000) == base.transfer_s(1000)


def test_a_link_that_waits_longer_than_the_prefill() -> None:
    choice = Choice(LLAMA, link("4x-nvlink5"), link_wait_s=1.0)
    (short,) = over_bandwidth(choice, [3000])
    assert short.least_bytes_per_s is None
    assert short.better == "recompute"
    assert critical(choice).least_bytes_per_s is None
    assert [better for _, better in told(choice)] == ["recompute", "transfer"]


def test_experts_and_latent_attention() -> None:
    """70 kB a token, a tenth of the operations of a dense model: transfer over any network here."""
    engine = Engine(
        gpu("gb200"), 8, architecture("deepseek-v3"), kv_format("bf16"), parallel=ExpertParallel()
    )
    found = critical(Choice(engine, link("100gbe")))
    assert found.least_bytes_per_s is not None
    every = range(1, 3000)
    choice = Choice(engine, Link("x", found.least_bytes_per_s / 2e9, 20))
    wins = [choice.transfer_s(n) < choice.recompute_s(n) for n in every]
    spans = over_length(choice, 2999)
    expected = [
        span.better == "transfer"
        for span in spans
        for _ in range(span.first_tokens, span.last_tokens + 1)
    ]
    assert wins == expected


@pytest.mark.parametrize(
    ("flop_per_s", "tokens", "told"),
    [(8 * 312e12, 8192, "5.86"), (8 * 989e12, 8192, "18.57"), (4 * 2500e12 * 0.55, 3000, "14.3")],
)
def test_estimate_of_mooncake(flop_per_s: float, tokens: int, told: str) -> None:
    """8 A800 and 8 H800 in the paper, which prints 6 and 19 GB/s; and 4 GB200."""
    least = mooncake_bytes_per_s(architecture("llama-3-70b"), flop_per_s, tokens) / 1e9
    assert f"{least:.{len(told.split('.')[1])}f}" == told


rising = st.lists(st.integers(0, 3), min_size=1, max_size=60).map(
    lambda steps: list(np.cumsum(steps))
)


@settings(deadline=None)
@given(one=rising, other=rising)
def test_search_misses_no_crossing(one: list[int], other: list[int]) -> None:
    last = min(len(one), len(other))
    found = runs(lambda n: one[n - 1], lambda n: other[n - 1], 1, last)
    told = [below for lo, hi, below in found for _ in range(lo, hi + 1)]
    assert told == [a < b for a, b in zip(one[:last], other[:last], strict=True)]
    assert all(a[2] is not b[2] for a, b in pairwise(found))


@settings(deadline=None)
@given(above=rising, below=rising, less=rising)
def test_search_finds_the_greatest(above: list[int], below: list[int], less: list[int]) -> None:
    last = min(len(above), len(below), len(less))
    ratios = [
        a / (b - c) if b > c else float("inf")
        for a, b, c in zip(above[:last], below[:last], less[:last], strict=True)
    ]
    where, ratio = greatest_ratio(
        lambda n: above[n - 1], lambda n: below[n - 1], lambda n: less[n - 1], 1, last
    )
    assert ratio == max(ratios)
    assert ratios[where - 1] == ratio


def test_questions_that_make_no_sense() -> None:
    choice = Choice(LLAMA, link("25gbe"))
    for bad in (0, -1, 1.5, float("nan"), True, "3000", 10**13):
        with pytest.raises(ModelError, match="the longest context is a whole number from 1"):
            over_length(choice, bad)  # type: ignore[arg-type]
        with pytest.raises(ModelError, match="a context length is a whole number from 1"):
            over_bandwidth(choice, [3000, bad])  # type: ignore[list-item]
    with pytest.raises(ModelError, match="a context length: there is none to ask for"):
        over_bandwidth(choice, [])
    with pytest.raises(ModelError, match="choice: efficiency is a share, above 0 and up to 1"):
        evolve(choice, efficiency=0)
    with pytest.raises(ModelError, match="choice: link_wait_s is a number, not nan"):
        evolve(choice, link_wait_s=float("nan"))
    with pytest.raises(ModelError, match="choice: link is a link, not '25gbe'"):
        Choice(LLAMA, "25gbe")  # type: ignore[arg-type]
