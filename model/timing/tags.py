"""What a step tells of the path that it is on, in the words by which paths are put into classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from rackproof.model.faults import Budget
from rackproof.model.kernel import Firing, Kind
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import Peers, Requests, Trays, Workers
from rackproof.model.stream import Finish, Stage
from rackproof.model.timing.progress import computed_before, computes_itself, is_first

if TYPE_CHECKING:
    from rackproof.model.world import World

FAULTS: Final = tuple(attribute.name for attribute in attrs.fields(Budget))


def tags(before: World, firing: Firing, after: World) -> tuple[str, ...]:
    """The tags of a firing: a fault and whom it hits when, what recovers the KV, how it ends."""
    return (*_fault(before, firing), *_recovery(before, firing, after), *_ends(before, after))


def _fault(world: World, firing: Firing) -> tuple[str, ...]:
    name = firing.transition.name
    if firing.transition.kind is not Kind.FAULT:
        return ()
    words = name.replace("_", " ")
    moments = sorted({moment(world, request) for request in _hit(world, firing)})
    told = tuple(f"{words} {moment}" for moment in moments) or (f"{words}, no request hit",)
    return (*told, "second failure") if _spent(world) else told


def _spent(world: World) -> int:
    """How many faults there were, not counting what clients and the environment do."""
    ours = [name for name in FAULTS if name not in ("leave", "removal", "pressure")]
    return sum(getattr(world.given, name) - getattr(world.budget, name) for name in ours)


def moment(world: World, request: int) -> str:
    """When in the life of a request."""
    retry, stream = world.retries[request], world.streams[request]
    here = None if retry.current is None else stream.attempts[retry.current]
    if here and (here.finish != Finish.NONE or here.sent >= world.tokens):
        return "after the last token"
    running = here is not None and here.stage == Stage.RUNNING
    return "mid-decode" if running or stream.delivered else "before the first token"


def _hit(world: World, firing: Firing) -> list[int]:
    """The requests that a fault touches: its own, or those that its workers serve."""
    sorts = {
        sort: index
        for (_, sort), index in zip(firing.transition.parameters, firing.arguments, strict=True)
    }
    live = [i for i, here in enumerate(world.requests) if here.phase not in TERMINAL]
    if Requests in sorts:
        return [request for request in live if request == sorts[Requests]]
    if Workers in sorts:
        return [request for request in live if sorts[Workers] in _served_by(world, request)]
    if Trays in sorts:
        lost = {w for w, tray in enumerate(world.trays) if tray == sorts[Trays]}
        return [request for request in live if lost & _served_by(world, request)]
    return [] if Peers in sorts else live


def _served_by(world: World, request: int) -> set[int]:
    """The workers that have a part of the present attempt of a request."""
    current = world.retries[request].current
    if current is None or world.requests[request].phase == Phase.QUEUED:
        return set()
    here, load = world.streams[request].attempts[current], world.loads[request].attempts[current]
    prefill = load.prefill if here.stage not in (Stage.RUNNING, Stage.OVER) else None
    return {worker for worker in (here.worker, prefill) if worker is not None}


def _recovery(before: World, firing: Firing, after: World) -> tuple[str, ...]:
    del after
    match firing.transition.name:
        case "prefill" | "start_stream":
            request, attempt, *_ = firing.arguments
            return ("KV recomputed",) if computed_before(before, request, attempt) else ()
        case "emit" | "finish_with_last_token":
            request, attempt, _ = firing.arguments
            first = is_first(before.streams[request].attempts[attempt])
            alone = first and computes_itself(before, request, attempt)
            return ("prefill at the decode worker",) if alone else ()
        case "load_ends":
            request, attempt, _ = firing.arguments
            return ("KV transferred",) if attempt and not _is_bad(before, request, attempt) else ()
        case "resume":
            kept = any(moment(before, r) == "mid-decode" for r in _hit(before, firing))
            return ("KV kept",) if kept else ()
        case "use":
            return ("KV from the store",)
        case _:
            return ()


def _is_bad(world: World, request: int, attempt: int) -> bool:
    return world.loads[request].attempts[attempt].bad


def _ends(before: World, after: World) -> tuple[str, ...]:
    ended = {
        now.phase
        for was, now in zip(before.requests, after.requests, strict=True)
        if now.phase != was.phase
    }
    words = {Phase.FAILED: "gives up", Phase.CANCELLED: "cancelled"}
    return tuple(told for phase, told in words.items() if phase in ended)
