"""What stands between an implementation and the model: what it can be made to do, and what it is
seen to do.

For a serving stack, write an ``Adapter``: five methods, and one more for each fault that it can
inject. An implementation of a world of one's own is an ``Implementation``, with operations of its
own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from attrs import frozen

from rackproof.model.kernel import Observation, System

Kinds = frozenset[tuple[str, str]]
"""Witnesses, each with a kind of what it tells, such as ``("client", "token")``."""


class Ineffective(Exception):
    """A fault was to be injected and nothing came of it: it counts as not done.

    Raised by an adapter's method, such as ``partition`` of a request that no connection carries.
    """


@frozen
class Operation:
    """Something that is done to an implementation from outside, by a method of that name.

    parameter: the identifier that the method is called with, and of the transition the one it is
    found under. transition: what it is in the model; None for what the model does not tell, which
    is done once for each identifier. witness, kind: what is recorded of it.
    """

    name: str
    parameter: str
    transition: str | None = None
    witness: str = "operator"
    kind: str = ""

    def seen(self, identifier: str) -> Observation:
        """What is recorded of it."""
        return Observation(self.witness, self.kind, {self.parameter: identifier})


class Implementation(ABC):
    """Something that runs, and is to do nothing but what the model does.

    operations: all that can be done to it from outside. complete: the witnesses and kinds of which
    ``observe`` gives every single record, so that what is not there did not happen; what else it
    gives is used where it is there. asynchronous: it goes on by itself while it is not looked at,
    so that what is seen after an operation may have happened before it.
    """

    operations: ClassVar[Sequence[Operation]] = ()
    complete: Kinds = frozenset()
    asynchronous: bool = False

    @abstractmethod
    def start(self, system: System) -> None:
        """Bring it up as the initial state of the model says, with nothing of an earlier run."""

    @abstractmethod
    def stop(self) -> None:
        """End it, whatever state it is in; called once for each ``start``, a failed one too."""

    @abstractmethod
    def advance(self) -> bool:
        """Let it go on a little: by one step where it is stepped, else by a moment of real time.

        False once it is quiet: unless something is done to it, nothing more will be observed. An
        asynchronous one says so after a wait that is longer than any of its own time-outs.
        """

    @abstractmethod
    def observe(self) -> Sequence[Observation]:
        """What was seen since this was last asked, in the order in which each witness saw it."""

    @property
    def supported(self) -> frozenset[str]:
        """The names of the operations that it has; no other one is ever chosen."""
        return frozenset(item.name for item in self.operations if self._has(item.name))

    def _has(self, name: str) -> bool:
        """Whether a method is there and no longer that of a base class here, which does nothing."""
        method = getattr(type(self), name, None)
        return method is not None and not getattr(method, "__isunsupported__", False)


@frozen
class Setup:
    """The deployment that an adapter is to start.

    workers: their names, and what each serves: ``aggregated``, ``prefill`` or ``decode``.
    retry_limit: how often a request may be sent again after its first dispatch.
    """

    workers: Mapping[str, str]
    retry_limit: int


@frozen
class Ask:
    """A request to send.

    request: its name, which observations of it give back. tokens: how many its output has where
    nothing fails: the engine must end it there by itself if that is less than max_tokens.
    """

    request: str
    tokens: int
    max_tokens: int
    prompt_tokens: int = 7


OPERATIONS: Final = (
    Operation("submit", "request"),
    Operation("cancel", "request", "leave", "client", "left"),
    Operation("kill", "worker", "crash", kind="crash"),
    Operation("freeze", "worker", "hang", kind="hang"),
    Operation("resume", "worker", "resume", kind="resume"),
    Operation("drain", "worker", "drain", kind="drain"),
    Operation("restart", "worker", "restart", kind="restart"),
    Operation("partition", "request", "disconnect", kind="disconnect"),
)
"""What can be done to a serving stack, with the transition of the model that each is."""

CLIENT: Final[Kinds] = frozenset(
    ("client", kind) for kind in ("token", "finish", "error", "end", "left")
)
"""What every client sees."""

USAGE: Final[Kinds] = frozenset({("client", "usage")})
"""What a client sees too, where the stack reports usage."""


def _unsupported(method: Any) -> Any:
    """Mark a method as one that adapters need not have."""
    method.__isunsupported__ = True
    return method


class Adapter(Implementation):
    """A serving stack, real or fake, behind a uniform interface.

    What it must have: ``launch``, ``stop``, ``submit``, ``advance`` and ``observe``. The others are
    the faults that it can inject: override those it can, and no other one is ever chosen. Workers
    and requests go by the names in ``Setup`` and ``Ask``. A fault takes effect before its method
    returns; where nothing can come of it, the method raises ``Ineffective``.

    ``observe`` returns what ``rackproof.checker.adapters.seen`` makes: of the client first of all
    (each token with its position in the output, the finish reason, an error, the end); of the
    frontend and the workers as far as they can be seen. ``complete`` says of which kinds every one
    is there: by default those of the client without usage. A client that left sees nothing more.
    """

    operations = OPERATIONS
    complete = CLIENT

    def start(self, system: System) -> None:
        """Launch what the initial state of a world of serving has."""
        self.launch(setup_of(system))

    @abstractmethod
    def launch(self, setup: Setup) -> None:
        """Bring up a frontend and these workers, with nothing of an earlier run."""

    @abstractmethod
    def submit(self, ask: Ask) -> None:
        """Send a request, and go on reading its stream without waiting for it."""

    @_unsupported
    def cancel(self, request: str) -> None:
        """The client of a request closes its connection."""

    @_unsupported
    def kill(self, worker: str) -> None:
        """A worker is gone at once, its connections break: SIGKILL."""

    @_unsupported
    def freeze(self, worker: str) -> None:
        """A worker does nothing any more, and its connections stay open: SIGSTOP."""

    @_unsupported
    def resume(self, worker: str) -> None:
        """A frozen worker goes on where it was: SIGCONT."""

    @_unsupported
    def drain(self, worker: str) -> None:
        """A worker is told to stop: it takes nothing new and finishes what it has: SIGTERM."""

    @_unsupported
    def restart(self, worker: str) -> None:
        """A worker that is gone starts again under its name, and knows of nothing."""

    @_unsupported
    def partition(self, request: str) -> None:
        """The connection that carries the stream of a request breaks, though its worker lives."""


def setup_of(system: System) -> Setup:
    """The deployment at the start of a world of serving."""
    world, labels = system.initial, {sort.name: sort for sort in system.names}
    workers = {
        system.label(labels["worker"], index): str(role.value)
        for index, role in enumerate(world.roles)
    }
    return Setup(workers, world.a_round - 1)


def ask_of(system: System, request: str) -> Ask:
    """A request of a world of serving, as it is to be sent."""
    return Ask(request, system.initial.tokens, system.initial.max_tokens)
