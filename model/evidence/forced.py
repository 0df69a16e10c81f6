"""What follows from something that was observed though nothing allows it.

It is made of the functions that the transitions are made of, without their guards, so that the
properties can be asked of what comes out. It is always about the first request, as a record is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rackproof.model.endpoint import crash, drain, hang, restart, resume
from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import ERRORS, FRONTEND, OUTCOMES
from rackproof.model.evidence.operators import DISCOVERY, OPERATOR
from rackproof.model.kernel import Observation, evolve
from rackproof.model.request import TERMINAL, Phase, leave
from rackproof.model.retry import noted, recover, send, used
from rackproof.model.stream import Finish, Stage, deliver, receive_finish
from rackproof.model.world import World

REQUEST: Final = 0
_FAULTS: Final = {item.name: item for item in (crash, hang, resume, drain, restart)}


def forced(workers: Sequence[str]) -> Callable[[World, Observation], World | None]:
    """The world after an observation, whatever there was before; None where it tells of nothing
    that the world knows. workers: what they are called.
    """

    def after(world: World, seen: Observation) -> World | None:
        happens = _HAPPENS.get((seen.witness, seen.kind))
        if happens is None or not world.requests:
            return None
        name = str(seen.values.get("worker"))
        return happens(world, seen, workers.index(name) if name in workers else None)

    return after


def _token(world: World, seen: Observation, _worker: int | None) -> World:
    """A token of the position that the log has, or of the next one; counted, if it is numbered.
    One that has no position in the output is counted alone.
    """
    stream = world.streams[REQUEST]
    position = seen.values.get("position", stream.delivered)
    if isinstance(position, int):
        world = deliver(world, REQUEST, min(position, world.max_tokens))
    many = int(seen.aside.get("number", position)) >= world.max_tokens
    stream = world.streams[REQUEST]
    return world.with_stream(REQUEST, over_budget=stream.over_budget | many, withheld=False)


def _finish(world: World, _seen: Observation, _worker: int | None) -> World:
    """The finish reason of the present attempt, as if all that was sent before it had come."""
    current = world.retries[REQUEST].current
    if current is None:
        return world.with_stream(REQUEST, finished=True)
    here = world.streams[REQUEST].attempts[current]
    ready = world.with_attempt(REQUEST, current, finish=Finish.SENT, sent=here.received)
    ready = ready.with_request(REQUEST, phase=Phase.DECODING)
    return receive_finish(ready, REQUEST, current) or world


def _usage(world: World, seen: Observation, _worker: int | None) -> World:
    stream = world.streams[REQUEST]
    inflated = stream.inflated | bool(seen.values.get("more", False))
    return world.with_stream(REQUEST, inflated=inflated)


def _error(world: World, _seen: Observation, _worker: int | None) -> World:
    return world.end(REQUEST, Phase.FAILED)


def _end(world: World, _seen: Observation, _worker: int | None) -> World:
    """The end of the stream. One that ends with neither a finish nor an error leaves the request
    open, though its worker is through with it and nothing more comes.
    """
    current = world.retries[REQUEST].current
    if world.requests[REQUEST].phase in TERMINAL:
        return world
    if world.streams[REQUEST].finished or current is None:
        return world.end(REQUEST, Phase.DONE)
    here = world.streams[REQUEST].attempts[current]
    return world.with_retry(REQUEST, booked=frozenset()).with_attempt(
        REQUEST, current, stage=Stage.OVER, sent=here.received, finish=Finish.NONE
    )


def _left(world: World, _seen: Observation, _worker: int | None) -> World | None:
    return leave(_allowed(world, "leave"), REQUEST)


def _allowed(world: World, fault: str) -> World:
    """The world in which a fault may happen once more, if it may not at all."""
    least = max(1, getattr(world.budget, fault))
    return evolve(world, budget=evolve(world.budget, **{fault: least}))


def _dispatch(world: World, _seen: Observation, worker: int | None) -> World | None:
    """A dispatch to a worker that the router should not, or could not, have chosen."""
    if worker is None:
        return None
    if used(world, REQUEST) < len(world.streams[REQUEST].attempts):
        ready = world.with_request(REQUEST, phase=Phase.QUEUED)
        return send(ready.with_retry(REQUEST, booked=frozenset()), REQUEST, worker)
    # There is no attempt left for it: the last one goes on, and this one is only counted.
    retry = noted(world, REQUEST, worker).retries[REQUEST]
    many = min(retry.dispatches + 1, world.most_dispatches + 1)
    return world.with_retry(REQUEST, dispatches=many, to_removed=retry.to_removed)


def _decode(world: World, _seen: Observation, worker: int | None) -> World | None:
    current = world.retries[REQUEST].current
    if worker is None or current is None:
        return None
    return noted(world, REQUEST, worker).with_attempt(REQUEST, current, worker=worker)


def _failed(world: World, seen: Observation, worker: int | None) -> World | None:
    """An attempt that failed: by the error that the log names, or any that has it retried."""
    if worker is None:
        return None
    called = {name: error for error, name in ERRORS.items()}
    error = called.get(str(seen.values.get("error")), called["disconnected"])
    return recover(world, REQUEST, worker, error)


def _done(world: World, _seen: Observation, _worker: int | None) -> World:
    return world if world.requests[REQUEST].phase in TERMINAL else world.end(REQUEST, Phase.DONE)


def _over(world: World, seen: Observation, worker: int | None) -> World | None:
    ends = {name: phase for phase, name in OUTCOMES.items()}
    phase = ends.get(str(seen.values.get("outcome")))
    if phase is Phase.DONE:
        return _done(world, seen, worker)
    return None if phase is None else world.end(REQUEST, phase)


def _fault(world: World, seen: Observation, worker: int | None) -> World | None:
    return None if worker is None else _FAULTS[seen.kind](_allowed(world, seen.kind), worker)


def _listing(world: World, seen: Observation, worker: int | None) -> World | None:
    return None if worker is None else world.with_endpoint(worker, listed=seen.kind == "listed")


_Happens = Callable[[World, Observation, int | None], World | None]

_HAPPENS: Final[dict[tuple[str, str], _Happens]] = {
    (CLIENT, "token"): _token,
    (CLIENT, "finish"): _finish,
    (CLIENT, "usage"): _usage,
    (CLIENT, "error"): _error,
    (CLIENT, "end"): _end,
    (CLIENT, "left"): _left,
    (FRONTEND, "dispatch"): _dispatch,
    (FRONTEND, "decode"): _decode,
    (FRONTEND, "failed"): _failed,
    (FRONTEND, "done"): _done,
    (FRONTEND, "over"): _over,
    **{(OPERATOR, deed): _fault for deed in _FAULTS},
    **{(DISCOVERY, kind): _listing for kind in ("removed", "listed")},
}
