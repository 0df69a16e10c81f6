"""What is to be done to a live deployment, so that it goes the way of a run of the model.

The steps of the protocol are not commanded: the deployment does them by itself. Of the run only the
choices remain: when the request is sent, and at which points which faults are injected. A point is
a place in the output of an attempt, at which its worker waits until everything was done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, Protocol

from attrs import frozen

from rackproof.model.endpoint import Role
from rackproof.model.kernel import Firing, System
from rackproof.model.protocol import ZeroBudget, mechanisms
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import Workers
from rackproof.model.stream import Finish, limit
from rackproof.model.world import World
from rackproof.scenarios.live.deployment import Settings
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
    "leave": "the client closes its connection",
}
"""What can be done to a live deployment, and how."""
BEFORE, AFTER = "before", "after"
FINISH, END = "finish", "end"
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
    """When something is done: before the request is sent, after it is over, or at a place in the
    output of one of its attempts: a position, before the finish reason, or behind it.
    """

    attempt: int
    place: int | str

    def __str__(self) -> str:
        """In words."""
        match self.place:
            case "before":
                return "before the request is sent"
            case "after":
                return "once the request is over"
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
class Plan:
    """All that is done, and how what the model says is to be understood of the deployment.

    settings: how it is started; engines: the engine of each worker. serves: the worker of the model
    that has each attempt. tokens: how many the request asks for. mapping: what stands for what.
    """

    settings: Settings
    engines: tuple[Engine, ...]
    workers: tuple[str, ...]
    serves: tuple[str, ...]
    tokens: int
    actions: tuple[Action, ...]
    mapping: tuple[str, ...]

    @property
    def groups(self) -> list[tuple[Point, list[Action]]]:
        """What is done at each point, in order."""
        return [(point, list(those)) for point, those in groupby(self.actions, lambda a: a.point)]


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
    engines = _engines(setting.system, run, names, sought)
    mapping = tuple(_mapping(world, settings, scale, engines))
    tokens = world.max_tokens * scale
    serves = tuple(_serves(setting.system, run))
    return Plan(settings, engines, names, serves, tokens, actions, mapping)


def _checked(setting: Setting) -> World:
    """The initial state, of a world that can be deployed."""
    world, bundled = setting.system.initial, setting.bundled
    if bundled is None or not isinstance(world, World):
        raise InputError("is a world of its own; what can be driven is stack dynamo")
    if bundled.stack != STACK:
        raise InputError(f"is of stack {bundled.stack}; what can be driven is stack {STACK}")
    if any(role != Role.AGGREGATED for role in world.roles):
        raise InputError(
            "has prefill and decode workers; what can be driven is aggregated workers "
            "(rack: {aggregated: N})"
        )
    if len(world.requests) != 1:
        raise InputError(f"has {len(world.requests)} requests; one at a time can be driven")
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
        named = moment.firing.named(system)
        last = _point(moment.before, scale, last)
        yield Action(number, last, name, named.get("worker"))


def _point(world: World, scale: int, last: Point) -> Point:
    """Where a live deployment is what the model is in this state, as far as can be seen.

    Between two attempts there is no moment in which to act: what is done then is done where the
    attempt before it came to, unless that is over.
    """
    request, retry, stream = world.requests[0], world.retries[0], world.streams[0]
    if request.phase in TERMINAL:
        return Point(retry.dispatches, AFTER)
    if retry.current is None:
        return Point(0, BEFORE)
    if request.phase == Phase.QUEUED:
        return last
    here = stream.attempts[retry.current]
    if here.finish != Finish.NONE:
        return Point(retry.current, END)
    if here.sent >= limit(world, 0, here):
        return Point(retry.current, FINISH)
    return Point(retry.current, here.sent * scale)


def _output(world: World, scale: int) -> dict[str, Any]:
    """How the engines behave: where an output ends by itself, and what they make of no budget."""
    length = None if world.tokens == world.max_tokens else world.tokens * scale
    return {"length": length, "emits": world.protocol.zero_budget == ZeroBudget.EMIT}


def _serves(system: System, run: Sequence[Moment]) -> Iterator[str]:
    for moment in run:
        if moment.firing.transition.name == "dispatch":
            yield moment.firing.named(system)["worker"]


def _engines(
    system: System, run: Sequence[Moment], names: Sequence[str], sought: str | None
) -> tuple[Engine, ...]:
    """The engine of each worker: the oracle, whose tokens are known. Where the run is about what an
    engine says beside tokens (that it refuses, how much it used), only the worker that serves first
    is: how the others say it is then not of our making.
    """
    refuses = any(moment.firing.transition.name == "refuse" for moment in run)
    others: Engine = "mocker" if refuses or sought in SAID_BY_ENGINES else "oracle"
    first = next(_serves(system, run), names[0])
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
    if mocked:
        yield (
            f"{mocked} of {len(engines)} workers are Dynamo's own mocker, since the run is about "
            "what engines say beside tokens; the one that serves first is the oracle"
        )
