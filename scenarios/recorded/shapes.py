"""The small world in which one request is to be explained; those that look the same are one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import wraps
from math import prod
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import define, evolve, field, frozen

from rackproof.model.kernel import Kind, Property, System, Transition, environment, transition
from rackproof.model.kernel.properties import Predicate
from rackproof.model.marks import restore
from rackproof.model.protocol import Protocol, Replay, with_mechanisms
from rackproof.model.retry import Error, blamed
from rackproof.model.scope import MOST_DISPATCHES, Scope, limits
from rackproof.model.sorts import Workers
from rackproof.model.stream import emit
from rackproof.model.world import World
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting, with_own_scope
from rackproof.scenarios.stacks import load_stack


@frozen
class Shape:
    """What a case's world depends on.

    roles: how many workers there are of each. faults: how often each may happen. counted: whether
    the frontend counts the usage itself, as it does where a worker reports none. malformed: whether
    workers refuse the request as it is. blamed: the workers that fail other requests too.
    gateway_retries: how often a gateway in front of the router begins again. done_for: those that
    died for good, and to which the request was not sent again. spared: those to which no
    fault happens. used: by attempt, the first position of which no token can have come to the
    client; those behind the last have none. billed: whether the client was told of a usage, so that
    it can be wrong; None where it was, and nobody knows how much it should be.
    """

    roles: tuple[tuple[str, int], ...]
    tokens: int
    max_tokens: int
    retry_limit: int
    faults: tuple[tuple[str, int], ...]
    counted: bool = False
    malformed: bool = False
    blamed: tuple[int, ...] = ()
    gateway_retries: int = 0
    done_for: tuple[int, ...] = ()
    spared: tuple[int, ...] = ()
    used: tuple[int, ...] = ()
    billed: bool | None = True


MOST_GATEWAY_RETRIES: Final = (limits(attrs.fields(Scope).gateway_retries) or (0, 0))[1]
USAGE: Final = "usage-exact"
"""The property of what a client is told of its usage."""
MOST: Final = 1_000
"""Worlds that are kept."""


@define(eq=False)
class Worlds:
    """The worlds of a stack's requests, each made once.

    bundled: the stack, with what differs from it, and with its own retries where nothing does.
    """

    bundled: Bundled = field(converter=with_own_scope)
    made: dict[Shape, System] = field(factory=dict, init=False)
    protocol: Protocol = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Look up what the stack says of itself."""
        stack = load_stack(self.bundled.stack)
        self.protocol = with_mechanisms(stack.protocol, self.bundled.mechanisms)

    def _limit(self, name: str, otherwise: int = 0) -> int:
        return int(str(self.bundled.scope.get(name, otherwise)))

    @property
    def retry_limit(self) -> int:
        """How often a request is sent again."""
        return self._limit("retry-limit", 1)

    @property
    def is_plain(self) -> bool:
        """Whether no mechanism of the stack, as it is meant, has the client get a token twice."""
        protocol = self.protocol
        fenced = protocol.fence_attempts and protocol.fence_steps
        replays = protocol.gateway_replay in (Replay.NEVER, Replay.UNDISPATCHED)
        return fenced and replays and protocol.replay_delivered

    @property
    def most_retries(self) -> int:
        """The most retries that a world of this stack has room for."""
        layers = map(self._limit, ("gateway-retries", "client-retries"))
        return MOST_DISPATCHES // prod(retries + 1 for retries in layers) - 1

    @property
    def resumes(self) -> bool:
        """Whether every dispatch is an attempt of its own, that goes on where the client is."""
        scope = self.bundled.scope
        once = not any(scope.get(name) for name in ("gateway-retries", "client-retries", "guided"))
        return self.is_plain and once and self.protocol.count_failed_connects

    @property
    def gateway_retries(self) -> int:
        """How often a gateway begins again, of which the stack's scope has one that stands for all;
        none where it never does.
        """
        return self._limit("gateway-retries")

    def rounds(self, dispatches: int, retries: int) -> int:
        """How often a gateway began again, for a request with some dispatches of which each round
        has one and some retries, as far as a world has room.
        """
        wanted = -(-dispatches // (retries + 1)) - 1
        room = min(MOST_GATEWAY_RETRIES, MOST_DISPATCHES // (retries + 1) - 1)
        return min(max(wanted, self.gateway_retries), room) if self.gateway_retries else 0

    def of(self, shape: Shape) -> System:
        """The world of a shape."""
        found = self.made.get(shape)
        if found is None:
            found = self.made[shape] = self._make(shape)
            if len(self.made) > MOST:
                del self.made[next(iter(self.made))]
        return found

    def _make(self, shape: Shape) -> System:
        bundled = self.bundled
        rack = {key: value for key, value in bundled.rack.items() if key in ("preset", "path")}
        scope: dict[str, Any] = {
            **bundled.scope,
            "requests": 1,
            "tokens": shape.tokens,
            "max-tokens": shape.max_tokens,
            "retry-limit": shape.retry_limit,
            "malformed": shape.malformed,
        }
        if shape.gateway_retries:
            scope["gateway-retries"] = shape.gateway_retries
        mechanisms = dict(bundled.mechanisms)
        if "lost-renewal" in dict(shape.faults):  # leases did lapse, so that renewals came too late
            mechanisms["renew-in-time"] = False
        if shape.counted:
            mechanisms["usage-from-request"] = True
        changed = evolve(
            bundled,
            mechanisms=mechanisms,
            rack={**rack, **dict(shape.roles)},
            scope=scope,
            faults=dict(shape.faults),
        )
        system = bundled_setting(changed, Path()).system
        narrowed = {restore.name: _spared(shape.done_for), emit.name: _useful(shape.used)}
        possible = [
            _sparing(shape.spared, narrowed.get(item.name, item))
            for item in system.transitions
            if _is_possible(system, item)
        ]
        if shape.blamed:
            possible.append(blamed_by_another(frozenset(shape.blamed)))
        return evolve(
            system,
            transitions=tuple(possible),
            properties=tuple(_asked(system.properties, shape.billed)),
        )


def _spared(workers: Collection[int]) -> Transition[..., Any]:
    """``restore`` without workers of whom it makes no difference to any log: they would be chosen
    again, and were not.
    """

    @wraps(restore.function)
    def others(world: World, worker: int) -> World | None:
        return None if worker in workers else restore(world, worker)

    return evolve(restore, function=others) if workers else restore


def _sparing(workers: Collection[int], item: Transition[..., Any]) -> Transition[..., Any]:
    """A fault of one worker, which does not happen to some; anything else as it is."""
    of_worker = item.kind is Kind.FAULT and dict(item.parameters) == {"worker": Workers}
    if not workers or not of_worker:
        return item

    @wraps(item.function)
    def of_others(world: World, worker: int) -> World | None:
        return None if worker in workers else item.function(world, worker)

    return evolve(item, function=of_others)


def _useful(used: Sequence[int]) -> Transition[..., Any]:
    """``emit`` without tokens that nobody writes down, and that come to no client: the request was
    sent again without them, and the late ones of an attempt are not heard.
    """

    @wraps(emit.function)
    def heard(world: World, request: int, attempt: int, worker: int) -> World | None:
        sent = world.streams[request].attempts[attempt].sent
        if attempt < len(used) and sent >= used[attempt]:
            return None
        return emit(world, request, attempt, worker)

    return evolve(emit, function=heard) if used else emit


def _asked(properties: Iterable[Property], billed: bool | None) -> Iterator[Property]:
    """The properties, of which that of the usage says no more than what is known of it."""
    for prop in properties:
        if prop.name != USAGE or billed:
            yield prop
        elif billed is None:
            yield evolve(prop, function=_supposed(prop.function))


def _supposed(function: Predicate) -> Predicate:
    """A property that is broken by what would happen, where no log says whether it did."""

    @wraps(function)
    def holds(world: World, request: int) -> bool:
        return bool(function(world, request))

    holds.__doc__ = (function.__doc__ or "").replace(
        "counts tokens of its output as prompt.",
        "would count tokens of its output as prompt; how many the prompt has is not known.",
    )
    return holds


def _is_possible(system: System, item: Transition[..., Any]) -> bool:
    """Whether a transition has anybody to be of, and is no fault that does not happen."""
    counts = system.schema.counts
    there = all(counts[sort] for _, sort in item.parameters)
    return there and bool(getattr(system.initial.given, item.name, True))


def blamed_by_another(workers: Collection[int]) -> Transition[..., Any]:
    """What other requests may do to workers that are known to fail some."""

    @transition(environment, duration="any-time", worker=Workers)
    def another_request_fails(world: World, worker: int) -> World | None:
        """Another request ends in an error at {worker}, which the router holds against it."""
        return blamed(world, worker, Error.DISCONNECT) if worker in workers else None

    return another_request_fails
