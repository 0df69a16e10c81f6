"""What the router holds against a worker: an error, a full queue, load reports that stay away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.endpoint import ANSWERS, Process
from rackproof.model.kernel import evolve, fault, step, timer, transition
from rackproof.model.logic import some
from rackproof.model.request import asked, serves, waits
from rackproof.model.sorts import Workers

if TYPE_CHECKING:
    from rackproof.model.world import World


@transition(timer, duration="inhibition", worker=Workers)
def restore(world: World, worker: int) -> World | None:
    """{worker} has been inhibited long enough: the router chooses it again."""
    endpoint, protocol = world.endpoints[worker], world.protocol
    if not endpoint.inhibited or not protocol.restore_inhibited or protocol.half_open:
        return None
    answers = endpoint.process in ANSWERS
    if protocol.probe_before_restore and not answers:
        return None
    untested = endpoint.restored_untested | (endpoint.listed & (not answers))
    return world.with_endpoint(worker, inhibited=False, restored_untested=untested)


@transition(timer, duration="inhibition", worker=Workers)
def half_open(world: World, worker: int) -> World | None:
    """{worker} has been inhibited long enough: it is to be sent one request on trial."""
    endpoint = world.endpoints[worker]
    if not world.protocol.half_open or not endpoint.inhibited or endpoint.half_open:
        return None
    if endpoint.on_trial and not (world.protocol.trials_expire and _idle(world, worker)):
        return None
    return world.with_endpoint(worker, half_open=True, on_trial=False)


def _idle(world: World, worker: int) -> bool:
    """Whether no request waits for a worker."""
    return not some(
        (serves(world, request, worker) | asked(world, request, worker)) & waits(world, request)
        for request in range(len(world.requests))
    )


def acquitted(world: World, worker: int) -> World:
    """A prefill worker has shown that it works: a trial is passed."""
    if not world.protocol.half_open or not world.endpoints[worker].on_trial:
        return world
    return world.with_endpoint(worker, inhibited=False, on_trial=False)


def passed(world: World, request: int) -> World:
    """The worker that serves a request has shown that it works: a trial is passed."""
    if not world.protocol.half_open:
        return world
    endpoints = []
    for worker, endpoint in enumerate(world.endpoints):
        cleared = endpoint.on_trial & serves(world, request, worker)
        changed = evolve(
            endpoint,
            inhibited=endpoint.inhibited & (cleared == False),
            on_trial=endpoint.on_trial & (cleared == False),
        )
        endpoints.append(changed)
    return evolve(world, endpoints=tuple(endpoints))


@transition(fault, duration="any-time", worker=Workers)
def overload(world: World, worker: int) -> World | None:
    """{worker} has more than it can take, and refuses what comes."""
    endpoint = world.endpoints[worker]
    if endpoint.process != Process.UP or endpoint.busy or not world.budget.overload:
        return None
    return world.spend("overload").with_endpoint(worker, busy=True)


@transition(step, duration="load-report", worker=Workers)
def report_load(world: World, worker: int) -> World | None:
    """{worker} reports that it is overloaded, and the router marks it."""
    endpoint = world.endpoints[worker]
    if endpoint.process != Process.UP or not endpoint.busy or endpoint.overloaded:
        return None
    return world.with_endpoint(worker, overloaded=True)


@transition(step, duration="backlog", worker=Workers)
def load_drops(world: World, worker: int) -> World | None:
    """{worker} has worked off its load."""
    endpoint = world.endpoints[worker]
    if not endpoint.busy or endpoint.process != Process.UP:
        return None
    return world.with_endpoint(worker, busy=False)


@transition(step, duration="load-report", worker=Workers)
def clear_mark(world: World, worker: int) -> World | None:
    """The router takes the overload mark off {worker}."""
    endpoint = world.endpoints[worker]
    if endpoint.busy or not endpoint.overloaded or not world.protocol.clear_overload:
        return None
    return world.with_endpoint(worker, overloaded=False)


@transition(fault, duration="any-time", worker=Workers)
def lost_report(world: World, worker: int) -> World | None:
    """The load reports of {worker} stay away, though it works."""
    if not world.budget.lost_report or world.endpoints[worker].stale:
        return None
    return world.spend("lost_report").with_endpoint(worker, stale=True)
