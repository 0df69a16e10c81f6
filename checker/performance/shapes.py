"""How much a deployment takes of requests of one shape: the greatest rate that keeps the SLO."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.performance.baseline import gpus, resized
from rackproof.checker.performance.study import run
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    Disaggregated,
    Instance,
    Record,
    Slo,
)
from rackproof.model.performance.workload import Arrivals, Lengths, Synthetic

KEPT: Final = 0.9
"""The share of the requests that keeps the SLO at a rate that is taken."""
STEPS: Final = 6
"""Halvings of the range of rates: the greatest is known to a 64th of the range."""
REQUESTS: Final = (300, 6000)
"""At least and at most in a run; between them, as many as come in three stays of a request."""
GROWS: Final = 1.25
"""By how much TTFT may grow from the middle third to the last before that is a growing queue."""
CV: Final = 0.25
"""Of the lengths within a shape."""


@frozen
class Shape:
    """Mean tokens of prompts and outputs."""

    prompt: int
    output: int


@frozen
class Demand:
    """Seconds that a request of a shape takes of an instance, with batches as large as will do;
    step_s: of decode, with such a batch.
    """

    prefill_s: float
    decode_s: float
    step_s: float


def demand(prefill: Instance, decode: Instance, shape: Shape, slo: Slo, batch: int) -> Demand:
    """By the roofline: whole batches of prompts, and the largest decode batch within TPOT."""
    together = max(1, 8192 // shape.prompt)
    prompts = prefill.step([(shape.prompt, 0)] * together, 0, 0).seconds / together
    context = shape.prompt + shape.output // 2
    fits = max(1, decode.kv_capacity_tokens // (shape.prompt + shape.output))
    size = 1
    while 2 * size <= min(batch, fits):
        if decode.step((), 2 * size, 2 * size * context).seconds > slo.tpot_s:
            break
        size *= 2
    step = decode.step((), size, size * context).seconds
    return Demand(prompts, shape.output * step / size, step)


def fitted(deployment: Disaggregated, shape: Shape, slo: Slo) -> list[Disaggregated]:
    """The split of the same GPUs that the roofline suggests for a shape, and its neighbours."""
    prefill, decode = deployment.prefill.engine, deployment.decode.engine
    needs = demand(prefill, decode, shape, slo, deployment.decode_batch)
    weights = needs.prefill_s * prefill.gpus, needs.decode_s * decode.gpus
    most = (gpus(deployment) - decode.gpus) // prefill.gpus
    count = round(gpus(deployment) * weights[0] / sum(weights) / prefill.gpus)
    middle = min(max(count, 1), most)
    near = sorted(range(1, most + 1), key=lambda one: (abs(one - middle), -one))
    found = (resized(deployment, one) for one in near)
    return list(islice((one for one in found if one is not None), 3))


def chunked(deployment: Aggregated) -> list[Aggregated]:
    """With chunks of half and twice the tokens too, as far as decode leaves room in them."""
    chunk = deployment.chunk_tokens
    sizes = (chunk, chunk // 2, 2 * chunk)
    room = [size for size in sizes if size > deployment.decode_batch]
    return [evolve(deployment, chunk_tokens=size) for size in room]


def _demand(deployment: Deployment, shape: Shape, slo: Slo) -> Demand:
    first, last = deployment.pools[0].engine, deployment.pools[-1].engine
    return demand(first, last, shape, slo, deployment.decode_batch)


def bound_per_s(deployment: Deployment, shape: Shape, slo: Slo) -> float:
    """The rate at which the roofline says that instances are busy all the time."""
    needs = _demand(deployment, shape, slo)
    if isinstance(deployment, Aggregated):
        return deployment.pool.count / (needs.prefill_s + needs.decode_s)
    return min(deployment.prefill.count / needs.prefill_s, deployment.decode.count / needs.decode_s)


def _stay_s(deployment: Deployment, shape: Shape, slo: Slo) -> float:
    needs = _demand(deployment, shape, slo)
    return needs.prefill_s + shape.output * needs.step_s


@frozen
class Greatest:
    """A rate that is kept, and the deployment that keeps it."""

    rate_per_s: float
    deployment: Deployment


def greatest(deployments: Sequence[Deployment], shape: Shape, slo: Slo) -> Greatest:
    """The greatest rate of Poisson arrivals at which one of them keeps the SLO, by halving."""
    order = list(deployments)
    low, step = 0.0, 1.5 * max(bound_per_s(one, shape, slo) for one in order)
    for _ in range(STEPS):
        step /= 2
        rate = low + step
        found = next((one for one in order if keeps(one, shape, slo, rate)), None)
        if found is not None:
            low = rate
            order.sort(key=lambda one: one is not found)  # the one to try first from here on
    return Greatest(low, order[0])


def keeps(deployment: Deployment, shape: Shape, slo: Slo, rate: float) -> bool:
    """Whether enough requests keep the SLO at a rate, for as long as it lasts.

    The first third of the arrivals finds the rack empty, and the last sees it drain: the middle one
    is judged. Where the last waits longer for its first tokens, the queue grows without end.
    """
    stay = _stay_s(deployment, shape, slo)
    count = min(max(math.ceil(3 * stay * rate), REQUESTS[0]), REQUESTS[1])
    lengths = Lengths(shape.prompt, CV), Lengths(shape.output, CV)
    records = run(deployment, Synthetic(Arrivals(rate), *lengths, count), slo, 0.0).records
    middle, last = records[count // 3 : 2 * count // 3], records[2 * count // 3 :]
    kept = sum(record_keeps(record, slo) for record in middle)
    return kept >= KEPT * len(middle) and _ttft_s(last, slo) <= GROWS * _ttft_s(middle, slo)


def record_keeps(record: Record, slo: Slo) -> bool:
    """Whether a request kept the SLO; one that did not end has not."""
    return slo.kept(record, record.arrival_s)


def tpot_s(record: Record) -> float:
    """Seconds a token of a request, but the first."""
    return (record.finished_s - record.prefilled_s) / max(record.output - 1, 1)


def _ttft_s(records: Sequence[Record], slo: Slo) -> float:
    """The mean; infinite where a first token never came."""
    waits = [slo.first_s(record) - record.arrival_s for record in records]
    return math.inf if any(map(math.isnan, waits)) else sum(waits) / len(waits)


def grid(prompts: Sequence[int], outputs: Sequence[int]) -> list[Shape]:
    """Every combination."""
    return [Shape(prompt, output) for output in outputs for prompt in prompts]
