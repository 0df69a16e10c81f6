"""A serving stack as an implementation: the adapter that a user writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import evolve, frozen

from rackproof.model.kernel import Evidence, Firing, Observation, Record, System, evidence_of
from rackproof.model.kernel.evidence import Kinds
from rackproof.model.kernel.implementation import Implementation, Operation, optional
from rackproof.scenarios.recorded.vocabulary import unknown_kind
from rackproof.scenarios.worlds import InputError


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
    prompt_tokens: how long its prompt is to be, where that can be chosen.
    """

    request: str
    tokens: int
    max_tokens: int
    prompt_tokens: int = 7


OPERATIONS: Final = (
    Operation("submit", "request"),
    Operation("cancel", "request", "leave", "client", "left", needs="submit"),
    Operation("kill", "worker", "crash", kind="crash"),
    Operation("freeze", "worker", "hang", kind="hang"),
    Operation("resume", "worker", "resume", kind="resume", needs="freeze"),
    Operation("drain", "worker", "drain", kind="drain"),
    Operation("restart", "worker", "restart", kind="restart"),
    Operation("partition", "request", "disconnect", kind="disconnect", needs="submit"),
)
"""What can be done to a serving stack, with the transition of the model that each is."""

CLIENT: Final[Kinds] = frozenset(
    ("client", kind) for kind in ("token", "finish", "error", "end", "left")
)
"""What every client sees."""

USAGE: Final[Kinds] = frozenset({("client", "usage")})
"""What a client sees too, where the stack reports usage."""


class Adapter(Implementation):
    """A serving stack, real or fake, behind one interface.

    What it must have: ``launch``, ``stop``, ``submit``, ``advance`` and ``observe``. The others are
    the faults that it can inject: define those it can, and no other one is ever chosen. Workers
    and requests go by the names in ``Setup`` and ``Ask``. A fault takes effect before its method
    returns; where nothing can come of it, the method raises ``Ineffective``.

    ``observe`` returns what the functions of ``seen`` make: of the client first of all (each token
    with its position in the output, the finish reason, an error, the end); of the frontend and the
    workers as far as they can be seen. ``complete`` says of which kinds every one is there: by
    default those of the client without usage. Of a client that left nothing more is reported.
    """

    operations = OPERATIONS
    complete = CLIENT
    outside = "client"

    def start(self, system: System) -> None:
        """Launch what the initial state of a world of serving has."""
        self._system = system
        self.launch(setup_of(system))

    def do(self, name: str, of: str) -> None:
        """Do an operation; what is submitted is a whole request."""
        if name == "submit":
            self.submit(ask_of(self._system, of))
        else:
            super().do(name, of)

    def looked_at(self, system: System) -> System:
        """The world, in which every record says of which request it is; ``InputError`` for a kind
        in ``complete`` that nobody writes.
        """
        for witness, kind in sorted(self.complete):
            if why := unknown_kind(witness, kind):
                raise InputError(f"{type(self).__name__}.complete: {why}")
        return evolve(system, evidence=_told(system))

    @abstractmethod
    def launch(self, setup: Setup) -> None:
        """Bring up a frontend and these workers, with nothing of an earlier run."""

    @abstractmethod
    def submit(self, ask: Ask) -> None:
        """Send a request, and go on reading its stream without waiting for it."""

    @optional
    def cancel(self, request: str) -> None:
        """The client of a request closes its connection."""

    @optional
    def kill(self, worker: str) -> None:
        """A worker is gone at once, its connections break: SIGKILL."""

    @optional
    def freeze(self, worker: str) -> None:
        """A worker does nothing any more, and its connections stay open: SIGSTOP."""

    @optional
    def resume(self, worker: str) -> None:
        """A frozen worker goes on where it was: SIGCONT."""

    @optional
    def drain(self, worker: str) -> None:
        """A worker is told to stop: it takes nothing new and finishes what it has: SIGTERM."""

    @optional
    def restart(self, worker: str) -> None:
        """A worker that is gone starts again under its name, and knows of nothing."""

    @optional
    def partition(self, request: str) -> None:
        """The connection that carries the stream of a request breaks, though its worker lives."""


def setup_of(system: System) -> Setup:
    """The deployment at the start of a world of serving."""
    world = system.initial
    roles = (str(role.value) for role in world.roles)
    return Setup(dict(zip(_names(system, "worker"), roles, strict=True)), world.a_round - 1)


def ask_of(system: System, request: str) -> Ask:
    """A request of a world of serving, as it is to be sent."""
    return Ask(request, system.initial.tokens, system.initial.max_tokens)


def _names(system: System, wanted: str) -> Sequence[str]:
    (names,) = (names for sort, names in system.names.items() if sort.name == wanted)
    return names


def _told(system: System) -> Evidence:
    """The evidence of a world, with the request by its name where there are several; and with the
    connections that break, of which no log tells.
    """
    told, requests = evidence_of(system), list(_names(system, "request"))

    def records(before: Any, firing: Firing, after: Any) -> Sequence[Record]:
        named = firing.named(system)
        of_one = len(requests) > 1 and "request" in named
        own = {"request": named["request"]} if of_one else {}
        found = [evolve(r, values={**r.values, **own}) for r in told.records(before, firing, after)]
        if firing.transition.name == "disconnect":
            found.append(Record("operator", "disconnect", own))
        return found

    def forced(state: Any, seen: Observation) -> Any | None:
        if told.forced is None:
            return None
        name = seen.values.get("request")
        at = requests.index(str(name)) if name in requests else 0
        after = told.forced(_exchanged(state, at), seen)
        return None if after is None else _exchanged(after, at)

    return evolve(told, records=records, forced=forced)


def _exchanged(world: Any, request: int) -> Any:
    """The world with a request and the first one exchanged: requests are all alike, and what is
    forced is told of the first.
    """
    if request == 0:
        return world
    changed = {}
    for name in ("requests", "streams", "loads", "retries"):
        items = list(getattr(world, name))
        items[0], items[request] = items[request], items[0]
        changed[name] = tuple(items)
    return evolve(world, **changed)
