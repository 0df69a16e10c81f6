"""What the router holds against a worker: an error, a full queue, load reports that stay away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.endpoint import ANSWERS, Process
from rackproof.model.kernel import fault, step, timer, transition
from rackproof.model.sorts import Workers

if TYPE_CHECKING:
    from rackproof.model.world import World


@transition(timer, worker=Workers)
def restore(world: World, worker: int) -> World | None:
    """{worker} has been inhibited long enough: the router chooses it again."""
    endpoint, protocol = world.endpoints[worker], world.protocol
    if not endpoint.inhibited or not protocol.restore_inhibited:
        return None
    answers = endpoint.process in ANSWERS
    if protocol.probe_before_restore and not answers:
        return None
    untested = endpoint.restored_untested | (endpoint.listed & (not answers))
    return world.with_endpoint(worker, inhibited=False, restored_untested=untested)


@transition(fault, worker=Workers)
def overload(world: World, worker: int) -> World | None:
    """{worker} has more than it can take, and refuses what comes."""
    endpoint = world.endpoints[worker]
    if endpoint.process != Process.UP or endpoint.busy or not world.budget.overload:
        return None
    return world.spend("overload").with_endpoint(worker, busy=True)


@transition(step, worker=Workers)
def report_load(world: World, worker: int) -> World | None:
    """{worker} reports that it is overloaded, and the router marks it."""
    endpoint = world.endpoints[worker]
    if endpoint.process != Process.UP or not endpoint.busy or endpoint.overloaded:
        return None
    return world.with_endpoint(worker, overloaded=True)


@transition(step, worker=Workers)
def load_drops(world: World, worker: int) -> World | None:
    """{worker} has worked off its load."""
    endpoint = world.endpoints[worker]
    if not endpoint.busy or endpoint.process != Process.UP:
        return None
    return world.with_endpoint(worker, busy=False)


@transition(step, worker=Workers)
def clear_mark(world: World, worker: int) -> World | None:
    """The router takes the overload mark off {worker}."""
    endpoint = world.endpoints[worker]
    if endpoint.busy or not endpoint.overloaded or not world.protocol.clear_overload:
        return None
    return world.with_endpoint(worker, overloaded=False)


@transition(fault, worker=Workers)
def lost_report(world: World, worker: int) -> World | None:
    """The load reports of {worker} stay away, though it works."""
    if not world.budget.lost_report or world.endpoints[worker].stale:
        return None
    return world.spend("lost_report").with_endpoint(worker, stale=True)
