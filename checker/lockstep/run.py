"""One run of an implementation in lock step with the model: an action, a look at what came of it,
and the question whether some run of the model explains all that was seen so far.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from types import FrameType
from typing import Any, Final, TypeVar

from attrs import evolve, frozen

from rackproof.checker.conform.watch import Unexplained, Watch, World
from rackproof.model.kernel import Firing, Observation, System
from rackproof.model.kernel.implementation import Implementation, Ineffective, Operation

T = TypeVar("T")
WAIT: Final = "wait"
MOST_STEPS: Final = 10_000
"""Steps after which an implementation that is still not quiet is given up."""


@frozen
class Action:
    """What is done to an implementation: an operation on something, or to wait for so many steps.

    It is written as ``kill worker-0``, ``wait 3``.
    """

    name: str
    of: str

    def __str__(self) -> str:
        """As people write it."""
        return f"{self.name} {self.of}"

    @classmethod
    def read(cls, text: str) -> Action:
        """What is written; ``ValueError`` where it is no action."""
        name, _, of = text.strip().partition(" ")
        if not of or (name == WAIT and not of.isdecimal()):
            raise ValueError(f"{text!r} is no action, such as `kill worker-0` or `wait 3`")
        return cls(name, of)


@frozen
class Limits:
    """How long things may take.

    seconds: that one call of an adapter may take. steps: after which it must be quiet, if nothing
    is done to it.
    """

    seconds: float = 60.0
    steps: int = MOST_STEPS


class AdapterFailed(Exception):
    """The adapter itself raised something, or did not return; the message says where."""


class Diverged(Exception):
    """The implementation did what no run of the model does; ``run`` is the run so far."""

    def __init__(self, run: Lockstep, unexplained: Unexplained | None) -> None:
        """unexplained: what was seen; None where too little was, and nothing more came."""
        super().__init__("no run of the model explains what was seen")
        self.run, self.unexplained = run, unexplained

    @property
    def seen(self) -> Observation | None:
        """The observation that is not explained."""
        return self.unexplained.at if self.unexplained else None


@frozen
class Entry:
    """An action, what is recorded of it, and what was seen after it; note: why it had no effect."""

    action: Action
    done: Observation | None = None
    seen: tuple[Observation, ...] = ()
    note: str = ""


@frozen(eq=False, slots=False)
class Subject:
    """What is tested: an implementation, and the world that it is held against.

    make: makes an implementation, for each run another one. world: its steps, as far as runs so far
    came.
    """

    make: Callable[[], Implementation]
    world: World
    limits: Limits

    @classmethod
    def of(cls, make: Callable[[], Implementation], system: System, limits: Limits) -> Subject:
        """The subject, before any run."""
        made = _made(make)
        deeds = {o.transition: (o.witness, o.kind) for o in made.operations if o.transition}
        return cls(make, World(made.looked_at(system), deeds, made.outside), limits)

    @property
    def system(self) -> System:
        """The system that it is held against."""
        return self.world.system

    @cached_property
    def is_asynchronous(self) -> bool:
        """Whether the implementation goes on by itself, so that no run can be repeated."""
        return _made(self.make).asynchronous

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        """The names of all identifiers, by their sort."""
        counts = self.system.schema.counts.items()
        return {sort.name: [self.system.label(sort, i) for i in range(n)] for sort, n in counts}


def _made(make: Callable[[], Implementation]) -> Implementation:
    made = make()
    if not isinstance(made, Implementation):
        raise TypeError(
            f"the adapter is to be made by a call, which gives {made!r}, and no Adapter"
        )
    return made


class Lockstep:
    """A run. ``entries`` are the actions so far, each with what was seen after it; ``broken`` the
    properties that it has broken in every run of the model that explains it, once it is over.
    """

    def __init__(self, subject: Subject) -> None:
        """Nothing is started."""
        self.subject, self.system = subject, subject.system
        self.implementation = made = self._call("the adapter", _made, subject.make)
        own = {(o.witness, o.kind) for o in made.operations if o.transition}
        self.entries: list[Entry] = []
        self.watch = Watch.at_start(subject.world, made.complete | own)
        self._operations = {o.name: o for o in made.operations if o.name in made.supported}
        self._done: set[Action] = set()
        self._idle: set[Action] = set()
        self.broken: frozenset[str] = frozenset()
        self.followed: tuple[Observation, ...] = ()
        self.is_stopped = False
        self.is_quiet = True

    @property
    def choosable(self) -> list[str]:
        """The operations that there is a choice of: those of which something is in the model."""
        return [o.name for o in self._operations.values() if o.transition is not None]

    @property
    def owed(self) -> list[str]:
        """The operations that are done once to each."""
        return [o.name for o in self._operations.values() if o.transition is None]

    def together(self, names: Collection[str]) -> frozenset[str]:
        """These operations, those that must be done before them, and those of which they are what
        must be done before.
        """
        pairs = ((o.name, o.needs) for o in self._operations.values() if o.needs in self.choosable)
        return frozenset(names).union(*({*pair} for pair in pairs if not {*pair}.isdisjoint(names)))

    # Acting

    def start(self) -> None:
        """Bring the implementation up."""
        self._call("start", self.implementation.start, self.system)

    def stop(self) -> None:
        """End it."""
        self.is_stopped = True
        self._call("stop", self.implementation.stop)

    def end(self) -> None:
        """End it unless that was done, after a failure that is to be told rather than another."""
        if not self.is_stopped:
            with suppress(AdapterFailed):
                self.stop()

    def offered(self) -> list[Action]:
        """The operations that make sense now: those that the adapter has and the model allows, and
        that did not turn out to have no effect since something was seen.
        """
        return [
            action
            for operation in self._operations.values()
            for of in self.subject.labels[operation.parameter]
            for action in (Action(operation.name, of),)
            if action not in self._idle and self._makes_sense(operation, of)
        ]

    def _makes_sense(self, operation: Operation, of: str) -> bool:
        if operation.transition is None:
            return Action(operation.name, of) not in self._done
        if operation.needs is not None and Action(operation.needs, of) not in self._done:
            return False
        return self.watch.may_do((operation.transition, operation.parameter, of)) is not None

    def firing(self, action: Action) -> tuple[Firing, Any] | None:
        """What an operation is in the model, with a state in which it may be done now; None where
        the model does not tell of it.
        """
        operation = self._operations[action.name]
        if operation.transition is None:
            return None
        return self.watch.may_do((operation.transition, operation.parameter, action.of))

    def is_outside(self, seen: Observation) -> bool:
        """Whether something was seen from outside."""
        return seen.witness == self.implementation.outside

    def do(self, action: Action) -> None:
        """Do something, and look at what comes of it; raises ``Diverged``."""
        if action.name == WAIT:
            self._wait(int(action.of))
            return
        self._done.add(action)
        self.is_quiet = False
        self.entries.append(Entry(action))
        try:
            self._call(str(action), self.implementation.do, action.name, action.of)
        except Ineffective as error:
            self._idle.add(action)
            self.entries[-1] = Entry(action, note=f"had no effect: {error}")
        else:
            self._record(self._operations[action.name], action)
        self._look()

    def _record(self, operation: Operation, action: Action) -> None:
        """What is done to the implementation is known of it, too."""
        if operation.transition is None:
            return
        deed = (operation.transition, operation.parameter, action.of)
        self.entries[-1] = evolve(self.entries[-1], done=operation.seen(action.of))
        if self.implementation.asynchronous and operation.witness == "operator":
            self.watch = self.watch.ordering(deed)
        else:
            after = self.watch.doing(deed)
            assert after is not None, "only what is offered is done"
            self.watch = after

    def wait_until_seen(self, most: int) -> None:
        """Let it go on until something is seen, but for no more than so many steps."""
        self._wait(most, until_seen=True)

    def _wait(self, most: int, *, until_seen: bool = False) -> bool:
        """Let it go on for so many steps, or until it is quiet, and say whether it is."""
        self.entries.append(Entry(Action(WAIT, "0")))
        for steps in range(1, most + 1):
            if not self._call("advance", self.implementation.advance):
                self.is_quiet = True
                return True
            self.entries[-1] = evolve(self.entries[-1], action=Action(WAIT, str(steps)))
            self._look()
            if until_seen and self.entries[-1].seen:
                break
        return False

    def finish(self) -> None:
        """Do what is still to be done once, wait until it is quiet, and look whether a run of the
        model may be over there; raises ``Diverged``.
        """
        for action in self.offered():
            if self._operations[action.name].transition is None:
                self.do(action)
        most = self.subject.limits.steps
        if not self._wait(most):
            raise AdapterFailed(f"advance: nothing was done, and after {most:,} steps it goes on")
        resting = self.watch.resting
        if not resting:
            raise Diverged(self, None)
        self.broken = frozenset.intersection(*resting)

    def follow(self) -> None:
        """After something that nothing explains: wait until it is quiet, so that the rest of what
        is seen is known too.
        """
        with suppress(AdapterFailed):
            for _ in range(self.subject.limits.steps):
                if not self._call("advance", self.implementation.advance):
                    break
            self.followed = tuple(self._call("observe", self.implementation.observe))

    # Looking

    def _look(self) -> None:
        """Ask what was seen, and what explains that."""
        seen = tuple(self._call("observe", self.implementation.observe))
        for item in seen:
            if not isinstance(item, Observation):
                raise AdapterFailed(f"observe: returned {item!r}, which is no Observation")
        last = self.entries[-1]
        self.entries[-1] = evolve(last, seen=(*last.seen, *seen))
        self._explain(seen)

    def _explain(self, seen: tuple[Observation, ...]) -> None:
        if seen:
            self._idle.clear()
            after = self.watch.after(seen)
            if isinstance(after, Unexplained):
                raise Diverged(self, after)
            self.watch = after

    def _call(self, what: str, function: Callable[..., T], *arguments: Any) -> T:
        """Call the adapter, and tell what goes wrong in it as its own."""
        try:
            with time_limit(self.subject.limits.seconds):
                return function(*arguments)
        except Ineffective:
            raise
        except TimeoutError as error:
            raise AdapterFailed(f"{what}: {error}") from error
        except Exception as error:
            raise AdapterFailed(f"{what}: raised {type(error).__name__}: {error}") from error


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise ``TimeoutError`` where something takes longer; in the main thread, for only that one
    can be interrupted. A time limit of somebody else goes on behind.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"did not return within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, end)
    others, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if others:
            signal.setitimer(signal.ITIMER_REAL, max(others - (seconds - left), 0.001))
