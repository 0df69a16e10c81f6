"""What proofs by induction rely on: true of every run of the reference, and asked of nobody."""

from __future__ import annotations

from rackproof.model.kernel import always
from rackproof.model.request import Phase
from rackproof.model.retry import used
from rackproof.model.sorts import Requests
from rackproof.model.world import World


@always(request=Requests)
def attempts_are_counted(world: World, request: int) -> bool:
    """Each attempt of a request is counted in its round, and one that waits has another left."""
    retry, waits = world.retries[request], world.requests[request].phase == Phase.QUEUED
    fits = retry.in_round + int(waits) <= world.a_round
    return fits and used(world, request) <= retry.gateway * world.a_round + retry.in_round


@always(request=Requests, lemmas=(attempts_are_counted,))
def resumes_where_it_stopped(world: World, request: int) -> bool:
    """The present attempt of a request has handed on exactly what its client has."""
    current, phase = world.retries[request].current, world.requests[request].phase
    if current == None or phase not in (Phase.PREFILLING, Phase.READY, Phase.DECODING):
        return True
    stream = world.streams[request]
    return stream.attempts[current].received == stream.delivered
