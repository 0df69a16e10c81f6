"""What takes how long by nature: steps of engines, transfers, messages, restarts.

Each is taken for an instance in the state in which it becomes possible: how far the request is, and
between which workers its KV moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from attrs import frozen

from rackproof.model.endpoint import Role
from rackproof.model.kernel import Firing, Quantity
from rackproof.model.timing.costs import Costs
from rackproof.model.timing.deployment import TIMES, source_of
from rackproof.model.timing.progress import computes_itself, has_come, is_first

if TYPE_CHECKING:
    from rackproof.model.performance.hardware import Link
    from rackproof.model.world import World

_ROOFLINE: Final = "model/performance/roofline.py"
_WAYS: Final = "the slowest link of the rack's graph on the way"
_TEXTS: Final[Mapping[str, str]] = {
    "queue-wait": "How long a request waits in the queue of a worker, at the worst.",
    "network-rtt": "A message and its answer, at the worst.",
    "processing": "How long a process takes to get to something that is ready, at the worst.",
    "discovery-event": "How long until a change in discovery is heard of, at the worst.",
    "event-delivery": "How long until the router has applied an event of a cache, at the worst.",
    "index-dump": "How long until a worker has told the router all it holds, at the worst.",
    "backlog": "How long until a worker that had too much has worked it off, at the worst.",
    "outage": "How long discovery is away, at the worst.",
    "registration": "How long an instance takes to allocate and register its memory, at the worst.",
    "key-unpack": "How long a reader takes to unpack the keys of a peer's memory, at the worst.",
    "process-restart": "How long a process without a model takes to start again, at the best.",
    "restart": "How long an instance takes to start again, at the best.",
    "restart-at-worst": "How long an instance takes to start again, at the worst.",
}
"""The times of a deployment."""


def natural(costs: Costs) -> dict[str, Quantity]:
    """The quantities of a deployment that nobody sets."""
    taken = _Taken(costs)
    constant = {key: getattr(costs.deployment, key.replace("-", "_")) for key in TIMES}
    times = [Quantity(k, _TEXTS[k], constant[k], source_of(k, constant[k])) for k in TIMES]
    return {quantity.name: quantity for quantity in (*times, *_computed(taken))}


def _computed(taken: _Taken) -> tuple[Quantity, ...]:
    worst = f"{_WAYS}, with the share of it that is left"
    return (
        Quantity(
            "arrival",
            "How long a request takes to come: however long, and no time once it is there.",
            taken.arrival,
            "a client's choice",
        ),
        Quantity(
            "prefill", "The prefill of the prompt and what was emitted.", taken.prefill, _ROOFLINE
        ),
        Quantity(
            "decode-step",
            "A decode step of a whole batch, half-way through the output.",
            taken.decode_step,
            _ROOFLINE,
        ),
        Quantity(
            "tokens",
            "The decode steps up to the next token of the world, which stands for many.",
            taken.tokens,
            _ROOFLINE,
        ),
        Quantity("kv-transfer", "A piece of a request's KV, on idle links.", taken.transfer, _WAYS),
        Quantity(
            "kv-transfer-at-worst",
            "A piece of a request's KV, on links that others use.",
            taken.slow_transfer,
            worst,
        ),
        Quantity(
            "overwriting",
            "How much longer a read of a block that was given away may run into what the next "
            "prefill writes there: the world has it written at the end, and it begins at once.",
            taken.overwriting,
            _ROOFLINE,
        ),
        Quantity(
            "store-transfer",
            "An object between an instance and the store, on idle links.",
            taken.store_transfer,
            _WAYS,
        ),
        Quantity(
            "store-transfer-at-worst",
            "An object between an instance and the store, on links that others use.",
            taken.slow_store_transfer,
            worst,
        ),
    )


@frozen
class _Taken:
    """Seconds of an instance of a transition in a state."""

    costs: Costs

    def arrival(self, world: World, firing: Firing) -> float:
        return 0.0 if has_come(world, firing.arguments[0]) else math.inf

    def prefill(self, world: World, firing: Firing) -> float:
        if firing.transition.name not in ("prefill", "start_stream"):
            return self.costs.prefill(0, 0).seconds
        request, attempt, worker, *_ = firing.arguments
        return self.costs.prefill(worker, world.streams[request].attempts[attempt].start).seconds

    def decode_step(self, world: World, firing: Firing) -> float:
        del world, firing
        return self.costs.step_s(0)

    def tokens(self, world: World, firing: Firing) -> float:
        request, attempt, worker = firing.arguments
        here, costs = world.streams[request].attempts[attempt], self.costs
        ahead = costs.between(here.sent)
        if not is_first(here):
            return ahead * costs.decode(worker, here.sent + 0.5).seconds
        # The step with which an attempt began to run has led to the first token.
        left = ahead - 1 if costs.tokens == 1 else 0.0
        rest = left * costs.decode(worker, here.sent + 0.5).seconds
        if computes_itself(world, request, attempt):
            return rest + costs.prefill(worker, here.start).seconds
        alone = world.requests[request].short and world.roles[worker] == Role.DECODE
        return rest + (costs.step_s(worker) if alone else 0.0)

    def transfer(self, world: World, firing: Firing) -> float:
        return self._over_way(world, firing, worst=False)

    def slow_transfer(self, world: World, firing: Firing) -> float:
        return self._over_way(world, firing, worst=True)

    def _over_way(self, world: World, firing: Firing, worst: bool) -> float:
        size = piece(self.costs, world, firing)
        return self.costs.over(way_of(self.costs, world, firing), size, worst)

    def overwriting(self, world: World, firing: Firing) -> float:
        if firing.transition.name != "land":
            return 0.0
        request, _, source, _ = firing.arguments
        given_away = world.blocks[source].owner != request
        return self.costs.prefill(world.homes[source], 0).seconds if given_away else 0.0

    def store_transfer(self, world: World, firing: Firing) -> float:
        del world, firing
        return self.costs.over(self.costs.store_way, self.costs.kv_bytes(0), worst=False)

    def slow_store_transfer(self, world: World, firing: Firing) -> float:
        del world, firing
        return self.costs.over(self.costs.store_way, self.costs.kv_bytes(0), worst=True)


def piece(costs: Costs, world: World, firing: Firing) -> float:
    """Bytes of KV that a firing moves."""
    if firing.transition.name != "land":
        return costs.kv_bytes(0)
    request, attempt, *_ = firing.arguments
    start = world.streams[request].attempts[attempt].start
    return costs.kv_bytes(start) / world.handles


def way_of(costs: Costs, world: World, firing: Firing) -> Link:
    """The way over which a firing moves KV."""
    match firing.transition.name:
        case "land":
            _, _, source, target = firing.arguments
            return costs.way(world.homes[source], world.homes[target])
        case "data_lands":
            (link,) = firing.arguments
            fallen_back = world.links[link].mapped is None
            return costs.way(world.link_owners[link], world.link_readers[link], fallen_back)
        case _:
            return costs.way(0, len(world.roles) - 1)
