"""What is to be done to a live deployment, so that it goes the way of a run of the model.

The steps of the protocol are not commanded: the deployment does them by itself. Of the run only the
choices remain: when the request is sent, and at which points which faults are injected. A point is
a place in the output of an attempt, at which its worker waits until everything was done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Protocol

from attrs import evolve, frozen

from rackproof.model.endpoint import Role
from rackproof.model.kernel import Firing, System
from rackproof.model.protocol import ZeroBudget, mechanisms
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.retry import used
from rackproof.model.sorts import Requests, Workers
from rackproof.model.stream import Finish, limit
from rackproof.model.world import World
from rackproof.scenarios.live.deployment import DECODE, PREFILL, Settings
from rackproof.scenarios.live.dynamo import Engine
from rackproof.scenarios.schema import Setting
from rackproof.scenarios.stacks import load_stack
from rackproof.scenarios.worlds import InputError

STACK: Final = "dynamo"
INJECTED: Final = {
    "crash": "SIGKILL",
    "hang": "SIGSTOP",
    "resume": "SIGCONT",
    "drain": "SIGTERM",
    "restart": "started anew under its name",
    "leave": "the client closes its connection",
}
"""What can be done to a live deployment, and how."""
BEFORE, AFTER = "before", "after"
FINISH, END = "finish", "end"
MOST: Final = 3
"""Requests of a run that can be sent."""
SCALE: Final = 10
"""Tokens of the deployment for one of the model, unless told otherwise."""
SHORT: Final = 3.0
"""Seconds of the stream timeout of a live deployment, whatever it is in the model."""
SAID_BY_ENGINES: Final = ("usage-exact",)
"""Properties of what engines say of an output beside its tokens."""
ADJUSTABLE: Final = ("stream-timeout", "zero-budget")
"""Mechanisms that are set for a live deployment; it has all the others as they are."""


class Moment(Protocol):
    """A step of a run, with the state before."""

    @property
    def firing(self) -> Firing:
        """What happens."""

    @property
    def before(self) -> World:
        """The state in which it happens."""


@frozen
class Point:
    """When something is done: before a request is sent, after it is over, or at a place in one of
    its attempts: during prefill where that is apart, at a position of the output, before the finish
    reason, or behind it. request: its number, from 0.
    """

    attempt: int
    place: int | str
    request: int = 0

    def __str__(self) -> str:
        """In words."""
        return f"{self._words} (request-{self.request})" if self.request else self._words

    @property
    def _words(self) -> str:
        match self.place:
            case "before":
                return "before the request is sent"
            case "after":
                return "once the request is over"
            case "prefill":
                return f"attempt {self.attempt}, during prefill"
            case "finish":
                return f"attempt {self.attempt}, all tokens sent, before the finish reason"
            case "end":
                return f"attempt {self.attempt}, behind the finish reason, before the stream ends"
        return f"attempt {self.attempt}, before the token at position {self.place}"


@frozen
class Action:
    """Something that is done: to which worker of the model (None: by the client), and at which
    step of the run, counted from one.
    """

    step: int
    point: Point
    does: str
    worker: str | None

    def __str__(self) -> str:
        """In words."""
        who = f" of {self.worker}" if self.worker else ""
        return f"step {self.step}: {self.does}{who} ({INJECTED[self.does]}) at {self.point}"


@frozen
class Asked:
    """A request that is sent: its number in the model and its name, the step at which it first is
    dispatched, and the workers of the model that serve each attempt, and that compute its prefill
    where that is apart.
    """

    number: int
    name: str
    step: int
    serves: Mapping[int, str]
    prefills: Mapping[int, str] = {}

    def worker(self, point: Point) -> str | None:
        """The worker that is at a point of it."""
        return (self.prefills if point.place == PREFILL else self.serves).get(point.attempt)


@frozen
class Plan:
    """All that is done, and how what the model says is to be understood of the deployment.

    settings: how it is started; engines: the engine of each worker; workers: what each is called
    in the model. requests: those that are sent, in order. tokens: how many each asks for. mapping:
    what stands for what. steps: those of the run, in words.
    """

    settings: Settings
    engines: tuple[Engine, ...]
    workers: tuple[str, ...]
    requests: tuple[Asked, ...]
    tokens: int
    actions: tuple[Action, ...]
    mapping: tuple[str, ...]

    @property
    def groups(self) -> list[tuple[Point, list[Action]]]:
        """What is done at each point, in order; what comes behind a request that is sent is a group
        of its own.
        """

        def at(action: Action) -> tuple[Point, int]:
            return action.point, sum(asked.step < action.step for asked in self.requests)

        return [(point, list(those)) for (point, _), those in groupby(self.actions, at)]

    @property
    def apart(self) -> bool:
        """Whether prefill and decode are."""
        return bool(self.settings.roles)


def planned(
    setting: Setting, run: Sequence[Moment], sought: str | None = None, scale: int = SCALE
) -> Plan:
    """The plan for a run of stack dynamo; ``InputError`` where it cannot be tried for real.

    sought: the property that the run violates.
    """
    world = _checked(setting)
    actions = tuple(_actions(setting.system, run, scale))
    stops = {name: value for name, value in _mechanisms(setting).items() if name in ADJUSTABLE}
    timeout = SHORT if stops["stream-timeout"] else None
    names = tuple(setting.system.label(Workers, worker) for worker in range(len(world.roles)))
    settings = Settings(len(names), world.a_round - 1, timeout, **_output(world, scale))
    if Role.PREFILL in world.roles:
        settings = evolve(settings, roles=tuple(role.value for role in world.roles))
    requests = _asked(setting.system, run)
    refused = settings.length is None and any(a.point.place in (FINISH, END) for a in actions)
    said = (refused and not settings.emits) or sought in SAID_BY_ENGINES
    engines = _engines(requests, names, mocked=said and not settings.roles)
    if settings.roles and sought in SAID_BY_ENGINES and _midway(actions):
        engines = tuple("mocker" if role == DECODE else "oracle" for role in settings.roles)
    mapping = (*_mapping(world, settings, scale, engines), *_notes(actions, sought, settings))
    tokens = world.max_tokens * scale
    return Plan(settings, engines, names, requests, tokens, actions, mapping)


def _checked(setting: Setting) -> World:
    """The initial state, of a world that can be deployed."""
    world, bundled = setting.system.initial, setting.bundled
    if bundled is None or not isinstance(world, World):
        raise InputError("is a world of its own; what can be driven is stack dynamo")
    if bundled.stack != STACK:
        raise InputError(f"is of stack {bundled.stack}; what can be driven is stack {STACK}")
    _check_shape(world)
    theirs, now = load_stack(STACK).protocol, _mechanisms(setting)
    for mechanism in mechanisms():
        is_so, was = now[mechanism.name], getattr(theirs, mechanism.field)
        if is_so != was and mechanism.name not in ADJUSTABLE:
            raise InputError(
                f"sets {mechanism.name} otherwise than stack {STACK}; a live deployment has it as "
                "it is, so that nothing it does could confirm this run"
            )
    if now["zero-budget"] == ZeroBudget.FINISH:
        raise InputError("sets zero-budget: finish, which is up to the frontend, and is not so")
    return world


def _check_shape(world: World) -> None:
    """Refuse the worlds that have what a deployment on this machine has not."""
    roles, count = set(world.roles), len(world.requests)
    if roles not in ({Role.AGGREGATED}, {Role.PREFILL, Role.DECODE}):
        raise InputError(
            "mixes workers for both halves with others; what can be driven is aggregated workers "
            "(rack: {aggregated: N}), or prefill and decode workers (rack: {prefill: N, decode: N})"
        )
    if not count:
        raise InputError("has no request; what can be driven is what happens to requests")
    if count > MOST:
        raise InputError(f"has {count} requests; up to {MOST} can be driven")
    if world.sessions:
        raise InputError("has a session; sessions cannot be driven")
    for flag in ("guided", "withholds", "malformed", "short"):
        if any(getattr(request, flag) for request in world.requests):
            raise InputError(f"has a request that is {flag} (in its scope); the driver's is plain")
    if world.gateway_retries or world.client_retries:
        raise InputError("has a gateway or a client that asks again; the driver's asks once")


def _mechanisms(setting: Setting) -> dict[str, Any]:
    protocol = setting.system.initial.protocol
    return {mechanism.name: getattr(protocol, mechanism.field) for mechanism in mechanisms()}


def _actions(system: System, run: Sequence[Moment], scale: int) -> Iterator[Action]:
    """The choices of a run; what cannot be done is refused before anything is started."""
    last = Point(0, BEFORE)
    for number, moment in enumerate(run, 1):
        name = moment.firing.transition.name
        if moment.firing.is_progress:
            continue
        if name not in INJECTED:
            known = ", ".join(INJECTED)
            raise InputError(
                f"step {number} is {name.replace('_', '-')}, which cannot be done to a live "
                f"deployment; what can: {known}"
            )
        given = _given(moment.firing)
        worker = given.get("worker")
        request = given.get("request", _near(moment.before, worker, last.request))
        last = _point(moment.before, request, scale, last)
        yield Action(number, last, name, moment.firing.named(system).get("worker"))


def _given(firing: Firing) -> dict[str, int]:
    """The identifiers that were chosen."""
    names = (name for name, _ in firing.transition.parameters)
    return dict(zip(names, firing.arguments, strict=True))


def _near(world: World, worker: int | None, otherwise: int) -> int:
    """The request that a worker has when something is done to it; if none, the one before."""
    for number in range(len(world.requests)):
        current = world.retries[number].current
        if current is None or world.requests[number].phase in TERMINAL:
            continue
        here = world.streams[number].attempts[current]
        if worker in (here.worker, world.loads[number].attempts[current].prefill):
            return number
    return otherwise


def _point(world: World, number: int, scale: int, last: Point) -> Point:
    """Where a live deployment is what the model is in this state, as far as can be seen.

    Between two attempts there is no moment in which to act: what is done then is done where the
    attempt before it came to, unless that is over.
    """
    request, current = world.requests[number], world.retries[number].current
    if request.phase in TERMINAL:
        return Point(world.retries[number].dispatches, AFTER, number)
    if current is None:
        return Point(0, BEFORE, number)
    if request.phase == Phase.QUEUED:
        return last
    if request.phase == Phase.PREFILLING:
        return Point(current, PREFILL, number)
    here = world.streams[number].attempts[current]
    if here.finish != Finish.NONE:
        return Point(current, END, number)
    if here.sent >= limit(world, number, here):
        return Point(current, FINISH, number)
    return Point(current, here.sent * scale, number)


def _output(world: World, scale: int) -> dict[str, Any]:
    """How the engines behave: where an output ends by itself, and what they make of no budget."""
    length = None if world.tokens == world.max_tokens else world.tokens * scale
    return {"length": length, "emits": world.protocol.zero_budget == ZeroBudget.EMIT}


def _asked(system: System, run: Sequence[Moment]) -> tuple[Asked, ...]:
    """The requests of a run by when they are first dispatched; the first is sent in any case."""
    found: dict[int, Asked] = {}
    for number, moment in enumerate(run, 1):
        if not moment.firing.transition.name.startswith("dispatch"):
            continue
        given, world = _given(moment.firing), moment.before
        request, worker = given["request"], given["worker"]
        name = system.label(Requests, request)
        asked = found.setdefault(request, Asked(request, name, number, {}, {}))
        attempt = given.get("attempt", used(world, request))
        place = asked.prefills if world.roles[worker] == Role.PREFILL else asked.serves
        place[attempt] = system.label(Workers, worker)  # type: ignore[index]
    return tuple(found.values()) or (Asked(0, system.label(Requests, 0), len(run) + 1, {}, {}),)


def _engines(
    requests: Sequence[Asked],
    names: Sequence[str],
    mocked: bool,
) -> tuple[Engine, ...]:
    """The engine of each worker: the oracle, whose tokens are known. Where the run is about what an
    engine says beside tokens (that it refuses to generate nothing, how much it used), only the
    worker that serves first is (``mocked``): how the others say it is then not of our making. Where
    prefill and decode are apart nobody knows which worker will be next, so that each is one that
    can wait.
    """
    others: Engine = "mocker" if mocked else "oracle"
    first = requests[0].serves.get(0, names[0])
    return tuple("oracle" if name == first else others for name in names)


def _mapping(
    world: World, settings: Settings, scale: int, engines: Sequence[Engine]
) -> Iterator[str]:
    most, limit = world.max_tokens * scale, settings.migration_limit
    yield f"one token of the model is {scale} of the deployment: max_tokens {most}"
    yield f"retry-limit {limit} is --migration-limit {limit}"
    if settings.stream_timeout is not None:
        yield f"stream-timeout is DYN_HTTP_BACKEND_STREAM_TIMEOUT_SECS={settings.stream_timeout:g}"
    if settings.length is not None:
        yield f"the engines stop by themselves after {settings.length} tokens"
    if settings.emits:
        yield "the engines emit a token where none is left to generate, as zero-budget: emit says"
    mocked = engines.count("mocker")
    if mocked and not settings.roles:
        yield (
            f"{mocked} of {len(engines)} workers are Dynamo's own mocker, since the run is about "
            "what engines say beside tokens; the one that serves first is the oracle"
        )


def _midway(actions: Sequence[Action]) -> bool:
    """Whether all is done in the midst of an output, where a client can see how far that is."""
    return all(isinstance(action.point.place, int) and action.point.place for action in actions)


def _notes(actions: Sequence[Action], sought: str | None, settings: Settings) -> Iterator[str]:
    """What of a run is otherwise in a deployment, or cannot be seen there."""
    if settings.roles:
        yield (
            "prefill workers are oracles: no KV is moved, so that transfers, and what they hold, "
            "are not observed"
        )
        yield "the router takes the worker with the least load (--router-mode kv)"
    if settings.roles and sought in SAID_BY_ENGINES and _midway(actions):
        yield (
            "decode workers are Dynamo's own mocker, since the run is about what engines say "
            "beside tokens; they do not wait: what is done is done once the client has the tokens"
        )
    elif settings.roles and sought in SAID_BY_ENGINES:
        yield (
            "oracles say nothing of a usage, and the frontend counts right: a usage that is wrong "
            "because of what engines say cannot be confirmed"
        )
    if settings.roles and any(action.point.place in (FINISH, END) for action in actions):
        yield (
            "an oracle that is asked for no token ends the request with an error, where the model "
            "has it sent on"
        )
    if any(action.does == "restart" for action in actions):
        yield (
            "a worker that starts again keeps its name; Dynamo gives it a new instance id, where "
            "the model has the old one"
        )
