"""What who reads the times of the world has to know of them."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.model.endpoint import Role
from rackproof.model.kernel import ModelError
from rackproof.model.scope import Scope
from rackproof.model.timing.costs import Costs


def notes(costs: Costs, scope: Scope) -> tuple[str, ...]:
    """What the abstraction of outputs, deliveries and room does to times, each as a sentence."""
    return (*_tokens(costs), *_first(), *_room(costs, scope))


def _tokens(costs: Costs) -> Iterator[str]:
    """That a token of the scope stands for many, where it does."""
    share = costs.between(costs.tokens - 1)
    if share <= 1.0:
        return
    told = f"up to {seconds:.3g} s" if (seconds := _share_s(costs)) else "that long"
    yield (
        f"A token of the scope stands for {share:,.0f} of the output's "
        f"{costs.deployment.output:,}, and the quantity tokens is the time of them all. What had "
        "been computed of them when a worker fails in mid-decode is not counted: after each such "
        f"failure the least total may be too small by {told}."
    )


def _share_s(costs: Costs) -> float | None:
    """Seconds of the decode steps up to the last token; None where the model does not fit."""
    last = costs.tokens - 1
    workers = range(len(costs.placement.instances))
    try:
        steps = [costs.decode(worker, last + 0.5).seconds for worker in workers]
    except ModelError:
        return None
    return costs.between(last) * max(steps)


def _first() -> Iterator[str]:
    yield (
        "The first delivery is when tokens begin to flow: a client to whom tokens are streamed "
        "does not wait."
    )


def _room(costs: Costs, scope: Scope) -> Iterator[str]:
    """That a second request has to wait for the blocks of the first, or of its earlier attempt."""
    roles = {instance.role for instance in costs.placement.instances}
    if scope.blocks_per_worker == 1 and roles - {Role.AGGREGATED.value}:
        yield (
            "A worker has room for the KV of one request (blocks-per-worker: 1): waits for room, "
            "also for that of an attempt that failed, come from that."
        )
