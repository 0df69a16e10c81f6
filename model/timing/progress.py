"""How far a request is, in the terms of time: what was computed, and whether tokens flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.endpoint import ANSWERS, Role
from rackproof.model.kv import Hold, Load
from rackproof.model.protocol import LoadFailure
from rackproof.model.request import Phase
from rackproof.model.stream import Attempt, Link, Stage

if TYPE_CHECKING:
    from rackproof.model.world import World


def has_come(world: World, request: int) -> bool:
    """Whether a request has come: all are there from the start, but are sent when they like."""
    here, retry = world.requests[request], world.retries[request]
    return here.phase != Phase.QUEUED or retry.dispatches > 0


def is_first(here: Attempt) -> bool:
    """Whether an attempt has emitted nothing yet."""
    return here.sent == here.start


def computes_itself(world: World, request: int, attempt: int) -> bool:
    """Whether the decode worker of an attempt has no KV of the prompt, and computes it."""
    here, load = world.streams[request].attempts[attempt], world.loads[request].attempts[attempt]
    if here.worker is None or world.roles[here.worker] != Role.DECODE:
        return False
    if world.requests[request].short:
        return False
    return load.prefill is None or (
        world.protocol.load_failure == LoadFailure.RECOMPUTE and _has_failed(load)
    )


def _has_failed(load: Load) -> bool:
    """Whether the load of an attempt that runs all the same did not come to its end."""
    return load.bad or load.mistimed or (load.hold == Hold.HELD and not load.ack_lost)


def computed_before(world: World, request: int, attempt: int) -> bool:
    """Whether the prompt of a request was computed in an attempt before this one."""
    held = (Hold.HELD, Hold.FREED)
    stages = (Stage.RUNNING, Stage.OVER)
    return any(
        world.loads[request].attempts[earlier].hold in held
        or world.streams[request].attempts[earlier].stage in stages
        for earlier in range(attempt)
    )


def streams(world: World, request: int) -> bool:
    """Whether tokens of a request flow: its attempt runs, and its client hears it."""
    current = world.retries[request].current
    if current is None or world.requests[request].phase != Phase.DECODING:
        return False
    here = world.streams[request].attempts[current]
    if here.stage != Stage.RUNNING or here.severed or here.link != Link.OPEN:
        return False
    if here.worker is None or world.endpoints[here.worker].process not in ANSWERS:
        return False
    prefills = computes_itself(world, request, current) or world.requests[request].short
    return not (prefills and is_first(here))
