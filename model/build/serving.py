"""Requests and the workers that serve them, at the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rackproof.model.build.part import Part
from rackproof.model.endpoint import Endpoint, Role
from rackproof.model.kernel import Bundle, Identifiers
from rackproof.model.kv import Block, Load, Loads, Scales
from rackproof.model.rack import Placement
from rackproof.model.request import Request
from rackproof.model.retry import Retry
from rackproof.model.scope import Scope
from rackproof.model.sorts import Blocks, Requests, Scaled, Trays, Workers
from rackproof.model.stream import Attempt, Stream

_SORTS: Final = {sort.name: sort for sort in (Trays, Workers)}


def serving(scope: Scope, placement: Placement) -> Part:
    """The requests, the workers and their blocks."""
    homes = _homes(scope, placement)
    return Part(
        fields={**_settings(scope, placement, homes), **_states(scope, placement, homes)},
        sizes={
            "most": max(scope.tokens, scope.max_tokens or 0) + 1,
            "handles": scope.handles,
            "dispatches": scope.most_dispatches + 1,
            "round": scope.retry_limit + 2,
            "gateway_rounds": scope.gateway_retries,
            "client_rounds": scope.client_retries,
            "faults": max([1, *scope.faults.values()]),
            "tray": len(placement.trays),
            "request": scope.requests,
            "attempt": scope.most_dispatches,
            "block": len(homes),
        },
        names={
            Requests: tuple(f"request-{i}" for i in range(scope.requests)),
            Workers: tuple(instance.name for instance in placement.instances),
            Trays: placement.trays,
            Blocks: _block_names(placement, homes),
            Scaled: _block_names(placement, homes) if scope.quantised else (),
        },
        interchangeable=_alike(scope, placement, homes),
    )


def _settings(scope: Scope, placement: Placement, homes: Sequence[int]) -> dict[str, object]:
    """What does not change."""
    return {
        "tokens": scope.tokens,
        "max_tokens": scope.max_tokens or scope.tokens,
        "a_round": scope.retry_limit + 1,
        "gateway_retries": scope.gateway_retries,
        "client_retries": scope.client_retries,
        "most_dispatches": scope.most_dispatches,
        "handles": scope.handles,
        "sessions": scope.sessions,
        "given": scope.budget,
        "roles": tuple(Role(instance.role) for instance in placement.instances),
        "trays": tuple(instance.tray for instance in placement.instances),
        "homes": tuple(homes),
    }


def _states(scope: Scope, placement: Placement, homes: Sequence[int]) -> dict[str, object]:
    requests, attempts = range(scope.requests), range(scope.most_dispatches)
    shape = Request(
        guided=scope.guided,
        short=scope.short,
        withholds=scope.withholds,
        malformed=scope.malformed,
    )
    return {
        "requests": tuple(shape for _ in requests),
        "streams": tuple(Stream(attempts=tuple(Attempt() for _ in attempts)) for _ in requests),
        "loads": tuple(Loads(attempts=tuple(Load() for _ in attempts)) for _ in requests),
        "retries": tuple(Retry() for _ in requests),
        "endpoints": tuple(Endpoint() for _ in placement.instances),
        "blocks": tuple(Block() for _ in homes),
        "scales": tuple(Scales() for _ in homes if scope.quantised),
        "budget": scope.budget,
    }


def _homes(scope: Scope, placement: Placement) -> tuple[int, ...]:
    """The worker that each block is on; aggregated workers move no KV and need none."""
    return tuple(
        worker
        for worker, instance in enumerate(placement.instances)
        for _ in range(scope.blocks_per_worker)
        if Role(instance.role) is not Role.AGGREGATED
    )


def _block_names(placement: Placement, homes: Sequence[int]) -> tuple[str, ...]:
    return tuple(
        f"block-{homes[:i].count(home)}@{placement.instances[home].name}"
        for i, home in enumerate(homes)
    )


def _alike(
    scope: Scope, placement: Placement, homes: Sequence[int]
) -> tuple[tuple[Bundle, ...], ...]:
    """The rack's own symmetry, with the blocks on its workers; and requests, all alike."""
    requests = tuple(((Requests, i),) for i in range(scope.requests))
    rooms = (Blocks, Scaled) if scope.quantised else (Blocks,)
    classes = [tuple(_bundle(names, homes, rooms) for names in group) for group in placement.bundles]
    return (requests, *classes)


def _bundle(
    names: Sequence[tuple[str, int]], homes: Sequence[int], rooms: Sequence[Identifiers]
) -> Bundle:
    """What the rack exchanges together, and the blocks of its workers, with their scales."""
    lanes = [(_SORTS[name], index) for name, index in names]
    workers = [index for sort, index in lanes if sort == Workers]
    own = [i for worker in workers for i, home in enumerate(homes) if home == worker]
    blocks = [(room, i) for i in own for room in rooms]
    return (*lanes, *blocks)
