"""The engines, links and workload of the published rack study, and small deployments."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from attrs import evolve

from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import Link, gpu
from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import Disaggregated, HandOff, Pool, Request

GB200 = Engine(gpu("gb200"), 4, architecture("llama-3-70b"), kv_format("bf16"))
CONTEXT = evolve(GB200, gpu=gpu("gb200-context"))
LINKS = {
    "nvlink": Link("4 x NVLink 5", 3600, 5, 5),
    "4x400G": Link("4 x 400G", 200, 10, 15),
    "100GbE": Link("100GbE", 12.5, 20, 15),
}


def study(prefill: int, decode: int, **changed: object) -> Disaggregated:
    """A split of the rack's 18 instances."""
    given = {"hand_off": HandOff(LINKS["nvlink"]), **changed}
    return Disaggregated(prefill=Pool(GB200, prefill), decode=Pool(GB200, decode), **given)


def workload(count: int = 1500, rate: float = 90.0, seed: int = 1) -> Iterator[Request]:
    """Poisson arrivals; prompts and outputs lognormal, of 3,000 and 600 tokens on average."""
    chance, time = random.Random(seed), 0.0
    for _ in range(count):
        time += chance.expovariate(rate)
        yield Request(time, _tokens(chance, 3000), _tokens(chance, 600))


def _tokens(chance: random.Random, mean: float, variation: float = 0.5) -> int:
    sigma = math.sqrt(math.log(1 + variation**2))
    drawn = chance.lognormvariate(math.log(mean) - sigma**2 / 2, sigma)
    return min(32768, max(1, round(drawn)))
