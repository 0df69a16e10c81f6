"""Leaping over steps is the same as taking them one by one, in random small settings."""

import math
import random

import pytest
from attrs import evolve
from serving import GB200, LINKS
from stepwise import stepwise

from rackproof.model.performance.hardware import Link
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    Disaggregated,
    HandOff,
    Pool,
    Request,
    simulate,
)


def small_memory(tokens: int) -> object:
    """The engine with room for so many tokens of KV."""
    wanted = (tokens + 0.5) * GB200.kv_bytes_per_token + GB200.model.weight_bytes
    return evolve(GB200, gpu=evolve(GB200.gpu, memory_GB=wanted / 1e9 / 4 / GB200.memory_share))


def requests(chance: random.Random) -> list[Request]:
    time, rate, given = 0.0, chance.choice([2, 20, 200]), []
    longest = chance.choice([20, 400])
    for _ in range(chance.randint(1, 60)):
        time += chance.choice([0.0, chance.expovariate(rate)])
        given.append(Request(time, chance.randint(1, 3000), chance.randint(1, longest)))
    return given


def deployment(chance: random.Random) -> Deployment:
    engine = small_memory(chance.choice([3500, 8000, 100_000]))
    most = chance.choice([1, 3, 256])
    if chance.random() < 0.4:
        pool = Pool(engine, chance.randint(1, 3))
        return Aggregated(
            pool=pool,
            decode_batch=most,
            chunk_tokens=chance.choice([300, 2048]),
            routing=chance.choice(["least-loaded", "first-come"]),
        )
    link = chance.choice([*LINKS.values(), Link("slow", 0.5, 100)])
    return Disaggregated(
        prefill=Pool(GB200, chance.randint(1, 3)),
        decode=Pool(engine, chance.randint(1, 3)),
        hand_off=HandOff(link, chance.choice([None, 1, 2])),
        prefill_tokens=chance.choice([1, 4000, 8192]),
        decode_batch=most,
        choose_early=chance.random() < 0.3,
        back_pressure=chance.random() < 0.3,
        prefill_routing=chance.choice(["least-queued-tokens", "first-come"]),
        decode_routing=chance.choice(["least-loaded", "first-come"]),
    )


@pytest.mark.parametrize("seed", range(100))
def test_same_as_step_by_step(seed: int) -> None:
    chance = random.Random(seed)
    setting, given = deployment(chance), requests(chance)
    run = simulate(setting, given)
    assert run.completed == len(given)
    for record, plain in zip(run.records, stepwise(setting, given), strict=True):
        for name in ("started", "prefilled", "handed_over", "decoded", "finished"):
            told, expected = getattr(record, f"{name}_s"), plain.get(name, math.nan)
            assert told == pytest.approx(expected, rel=1e-9, nan_ok=True), (record, plain)
