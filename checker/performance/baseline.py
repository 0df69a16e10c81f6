"""The other way to serve on the same GPUs: aggregated for disaggregated, and the reverse."""

from __future__ import annotations

from typing import Final

from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    Disaggregated,
    HandOff,
    Pool,
)

CHUNK: Final = 2048
"""Tokens of a step, unless the batch is nearly as large."""


def gpus(deployment: Deployment) -> int:
    """How many GPUs it takes."""
    return sum(pool.count * pool.engine.gpus for pool in deployment.pools)


def aggregated(deployment: Disaggregated) -> Aggregated:
    """Aggregated on the same GPUs, in instances like those that decode, prompts in chunks.

    ``ModelError`` where no pool of these instances has the same GPUs.
    """
    engine = deployment.decode.engine
    if not uniform(deployment):
        raise ModelError(
            "prefill and decode are on two kinds of GPUs, or of numbers that no pool of decode's "
            "instances has: there is no aggregated deployment on the same GPUs"
        )
    return Aggregated(
        pool=Pool(engine, gpus(deployment) // engine.gpus),
        chunk_tokens=max(CHUNK, 2 * deployment.decode_batch),
        decode_batch=deployment.decode_batch,
        cache=deployment.cache,
        context_tokens=deployment.context_tokens,
    )


def uniform(deployment: Disaggregated) -> bool:
    """Whether the GPUs of prefill would do as instances that decode: the same kind, a number of
    them that has no rest.
    """
    prefill, decode = (pool.engine for pool in deployment.pools)
    kinds = [one.gpu if isinstance(one, Engine) else one for one in (prefill, decode)]
    return kinds[0] == kinds[1] and gpus(deployment) % decode.gpus == 0


def resized(deployment: Disaggregated, prefill: int) -> Disaggregated | None:
    """The same GPUs, all of them, with so many prefill instances, and decode from the rest; None
    where that is not to be had.
    """
    rest = gpus(deployment) - prefill * deployment.prefill.engine.gpus
    decode, idle = divmod(rest, deployment.decode.engine.gpus)
    if prefill < 1 or decode < 1 or idle:
        return None
    return evolve(
        deployment,
        prefill=evolve(deployment.prefill, count=prefill),
        decode=evolve(deployment.decode, count=decode),
        paths=None,
    )


def disaggregated(deployment: Aggregated) -> Disaggregated:
    """Disaggregated on the same GPUs, half of them each, over the links of their own scale-up.

    ``ModelError`` where there is only one instance, or it has no GPUs with links.
    """
    pool, engine = deployment.pool, deployment.pool.engine
    if pool.count < 2 or not isinstance(engine, Engine):
        raise ModelError("it takes two instances or more of GPUs to disaggregate")
    prefill = pool.count // 2
    single = engine.link
    link = evolve(
        single,
        name=f"{engine.gpus}x-{single.name}",
        bandwidth_GB_s=single.bandwidth_GB_s * engine.gpus,
    )
    return Disaggregated(
        prefill=Pool(engine, prefill),
        decode=Pool(engine, pool.count - prefill),
        hand_off=HandOff(link),
        decode_batch=deployment.decode_batch,
        cache=deployment.cache,
        context_tokens=deployment.context_tokens,
    )
