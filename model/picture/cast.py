"""Who takes part in a world of LLM serving, from left to right, and what things are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

from rackproof.model.endpoint import Role
from rackproof.model.kernel import Identifiers, Lane
from rackproof.model.rack import Placement
from rackproof.model.scope import Scope
from rackproof.model.sorts import Clients, Requests, Segments, Workers

GATEWAY: Final = "gateway"
FRONTEND: Final = "frontend"
ROUTER: Final = "router"
INDEX: Final = "cache index"
DISCOVERY: Final = "discovery"
NVLINK: Final = "NVLink domain"
MASTER: Final = "master"
METADATA: Final = "metadata server"
USER: Final = "user"

STRIKING: Final = (
    "crash",
    "restart",
    "hang",
    "resume",
    "drain",
    "tray-loss",
    "overload",
    "lost-report",
    "lost-renewal",
    "churn",
    "discovery-outage",
    "frontend-drain",
    "clock-skew",
)
"""The faults that strike workers, or what is thought of them, whatever a scope looks at."""
LEAVING: Final = (
    "crash",
    "hang",
    "drain",
    "tray-loss",
    "lost-renewal",
    "churn",
    "discovery-outage",
    "rejoin",
    "reregistration",
    "router-restart",
)
"""The faults after which discovery has something to say."""


@frozen(slots=False)
class Cast:
    """Who takes part, and the names of all identifiers."""

    lanes: tuple[Lane, ...]
    names: Mapping[Identifiers, Sequence[str]]
    prefill_side: str
    decode_side: str

    @cached_property
    def there(self) -> frozenset[str]:
        """The names of the lanes."""
        return frozenset(lane.name for lane in self.lanes)

    def called(self, sort: Identifiers, index: int) -> str:
        """What an identifier is called."""
        return self.names[sort][index]

    def client(self, request: int) -> str:
        """The client of a request."""
        return client(self.names[Requests], request)

    def worker(self, worker: int) -> str:
        """A worker."""
        return self.called(Workers, worker)


def client(requests: Sequence[str], request: int) -> str:
    """The client of a request; where there is one only, just that."""
    return f"client of {requests[request]}" if len(requests) > 1 else "client"


def cast(scope: Scope, placement: Placement, names: Mapping[Identifiers, Sequence[str]]) -> Cast:
    """Who takes part in a scope: none that no transition could ever concern."""
    prefill, decode = (_side(placement, role) for role in (Role.PREFILL, Role.DECODE))
    lanes = (
        *_in_front(scope, names),
        *_workers(scope, placement),
        *(Lane(name, kind) for name, kind in _sides(scope, placement, prefill, decode)),
        *_behind(scope),
        *_store(scope, names),
    )
    return Cast(lanes, names, prefill, decode)


def _has(scope: Scope, faults: Sequence[str]) -> bool:
    return any(scope.faults.get(name) for name in faults)


def _routed(scope: Scope) -> bool:
    """Whether a router has anything to do."""
    return bool(scope.requests or scope.prefixes or _has(scope, STRIKING))


def _in_front(scope: Scope, names: Mapping[Identifiers, Sequence[str]]) -> Iterator[Lane]:
    for request in range(scope.requests):
        yield Lane(client(names[Requests], request), "client")
    if scope.requests and scope.gateway_retries:
        yield Lane(GATEWAY, "gateway")
    if scope.requests or _has(scope, ["frontend-drain"]):
        yield Lane(FRONTEND, "frontend")
    if _routed(scope):
        yield Lane(ROUTER, "router")
    if scope.prefixes:
        yield Lane(INDEX, "index")


def _workers(scope: Scope, placement: Placement) -> Iterator[Lane]:
    if _routed(scope) or scope.links:
        for instance in placement.instances:
            yield Lane(instance.name, instance.role)


def _side(placement: Placement, role: Role) -> str:
    """Who is on one side of bootstrap rooms: the worker of a role where there is just one."""
    found = [instance.name for instance in placement.instances if instance.role == role.value]
    return found[0] if len(found) == 1 else f"{role.value} worker"


def _sides(
    scope: Scope, placement: Placement, prefill: str, decode: str
) -> Iterator[tuple[str, str]]:
    """The two sides of the rooms, where they are not workers with a lane of their own."""
    drawn = {lane.name for lane in _workers(scope, placement)}
    for name, role in ((prefill, Role.PREFILL), (decode, Role.DECODE)):
        if scope.rooms and name not in drawn:
            yield name, role.value


def _behind(scope: Scope) -> Iterator[Lane]:
    if _has(scope, ["domain-fault"]):
        yield Lane(NVLINK, "network")
    if _has(scope, LEAVING):
        yield Lane(DISCOVERY, "discovery")


def _store(scope: Scope, names: Mapping[Identifiers, Sequence[str]]) -> Iterator[Lane]:
    if not scope.clients:
        return
    if _has(scope, ["removal"]):
        yield Lane(USER, "client")
    yield from (Lane(name, "engine") for name in names[Clients])
    yield Lane(MASTER, "store")
    yield from (Lane(name, "segment") for name in names[Segments])
    if _has(scope, ["metadata-loss"]):
        yield Lane(METADATA, "store")
