"""KV of earlier prompts."""

import gzip
import json
import random
from itertools import chain
from pathlib import Path

import pytest
from attrs import evolve
from serving import GB200, study

from rackproof.model.performance.simulation import Aggregated, Pool, PrefixCache, Request, simulate
from rackproof.model.performance.simulation.prefixes import Prefixes

TRACE = Path(__file__).parent / "data" / "mooncake_synthetic_blocks.json.gz"


def mooncake(count: int | None = None) -> list[Request]:
    rows = json.loads(gzip.decompress(TRACE.read_bytes()))[:count]
    return [
        Request(time / 1e3, prompt, output, tuple(chain.from_iterable(map(range_of, spans))))
        for time, prompt, output, spans in rows
    ]


def range_of(span: list[int]) -> range:
    return range(*span)


def test_hits_of_the_mooncake_trace() -> None:
    """Published: 64.0 % of the blocks, when all are kept, and one prompt follows another."""
    prefixes = Prefixes(PrefixCache())
    for request in mooncake():
        prefixes.use(request.blocks, prefixes.leading(request.blocks))
        prefixes.keep(request.blocks)
    assert prefixes.asked == 121_877
    assert f"{prefixes.hit / prefixes.asked:.3f}" == "0.640"


def test_hits_on_the_way() -> None:
    """In a run fewer hit: a prompt finds only what was done before it began, on its instance."""
    given = mooncake(500)
    shares = {}
    for routing in ("round-robin", "estimated-completion"):
        setting = study(8, 4, cache=PrefixCache(), prefill_routing=routing)
        prefill = simulate(setting, given, warm_up=0).pool("prefill")
        shares[routing] = prefill.hit_blocks / prefill.asked_blocks
    one = Prefixes(PrefixCache())
    for request in given:
        one.use(request.blocks, one.leading(request.blocks))
        one.keep(request.blocks)
    assert shares["round-robin"] < shares["estimated-completion"] <= one.hit / one.asked


@pytest.mark.parametrize("seed", range(20))
def test_the_least_recent_go_first(seed: int) -> None:
    """Against a plain list; a prompt's blocks are used together, its last before its first."""
    chance, most = random.Random(seed), 7
    prefixes, plain = Prefixes(PrefixCache(blocks=most)), []
    for _ in range(100):
        blocks = [chance.randint(1, 3)]
        for _ in range(chance.randrange(4)):
            blocks.append(10 * blocks[-1] + chance.randrange(2))  # a hash stands for all before
        found = 0
        while found < len(blocks) and blocks[found] in plain:
            found += 1
        assert prefixes.leading(blocks) == found
        prefixes.use(blocks, found)
        prefixes.keep(blocks)
        plain = [block for block in plain if block not in blocks] + blocks[::-1]
        plain = plain[-most:]


@pytest.mark.parametrize("aggregated", [False, True])
def test_cached_tokens_are_not_computed(aggregated: bool) -> None:
    cache = PrefixCache(block_tokens=500)
    setting = study(1, 1, cache=cache)
    if aggregated:
        setting = Aggregated(pool=Pool(GB200, 1), chunk_tokens=8192, cache=cache)
    first = Request(0.0, 3000, 10, tuple(range(6)))
    again = evolve(first, arrival_s=10.0)
    longer = Request(20.0, 3200, 10, (*range(6), 9))
    other = Request(30.0, 3000, 10, (7, *range(1, 6)))
    records = simulate(setting, [first, again, longer, other], warm_up=0).records
    assert [record.cached for record in records] == [0, 2999, 3000, 0]
    times = [record.prefilled_s - record.started_s for record in records]
    spans = [(3000, 0), (1, 2999), (200, 3000), (3000, 0)]
    assert times == pytest.approx([GB200.prefill([span]).seconds for span in spans])
