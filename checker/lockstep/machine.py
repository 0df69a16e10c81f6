"""Many runs in lock step: a Hypothesis state machine chooses what is done to the implementation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from attrs import define, field
from hypothesis import Phase, seed
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    get_state_machine_test,
    initialize,
    rule,
)

from rackproof.checker.conform.watch import TooMany
from rackproof.checker.drawing import quiet
from rackproof.checker.lockstep.run import (
    WAIT,
    Action,
    AdapterFailed,
    Diverged,
    Lockstep,
    Subject,
)
from rackproof.checker.lockstep.steering import Steering

LONGEST_WAIT: Final = 40
"""Steps after which it is waited no more for something to be seen."""
BATCH: Final = 10
"""Runs that learn nothing from one another, but from all those before them."""
MOST_USED: Final = 2
"""Kinds of operations of one run, beside those that belong to them."""
FIRST: Final = (True, True, True, False)
"""Whether what is owed once comes first: little comes of the others before."""
NEW: Final = (True, False)
KNOWN: Final = (True, False, False, False)
"""Whether something is done rather than waited: something new, or what was done before."""
WAITS: Final = (0, 0, 0, 1, 2, 3)
"""How many steps it may go on; 0 is until something is seen."""
MOST_AGAIN: Final = 300
"""How often a failure is run again, to find out which of its actions it needs."""

Failure = AdapterFailed | Diverged | TooMany


@define
class Tally:
    """What happened in all runs, those aside that only make a failure smaller.

    runs: how many. actions: how often each was done, by its name. idle: how often that had no
    effect. seen: how many observations were explained. broken: in how many runs a property was
    broken as the model predicts.
    """

    runs: int = 0
    actions: Counter[str] = field(factory=Counter)
    idle: Counter[str] = field(factory=Counter)
    seen: int = 0
    broken: Counter[str] = field(factory=Counter)

    def add(self, run: Lockstep) -> None:
        """Count a run."""
        self.runs += 1
        for entry in run.entries:
            steps = int(entry.action.of) if entry.action.name == WAIT else 1
            self.actions[entry.action.name] += steps
            self.seen += len(entry.seen)
            if entry.note:
                self.idle[entry.action.name] += 1
        self.broken.update(run.broken)


@define
class Found:
    """A failure: the run, and what ended it. first: the same as it was before it was made smaller.
    runs: how many there had been.
    """

    run: Lockstep
    failure: Failure
    first: Sequence[Action]
    runs: int

    @property
    def actions(self) -> list[Action]:
        """What was done."""
        return [entry.action for entry in self.run.entries]

    def is_like(self, other: Found) -> bool:
        """Whether another failure is of the same kind."""
        return self._kind == other._kind

    @property
    def _kind(self) -> tuple[object, ...]:
        seen = self.failure.seen if isinstance(self.failure, Diverged) else None
        return type(self.failure), seen and (seen.witness, seen.kind)


class Machine(RuleBasedStateMachine):
    """A run of which every action is drawn.

    A few operations are used in each run, so that they come together more often. What was not done
    yet in such a phase of a run is preferred; where all of it was, the run goes on.
    """

    subject: ClassVar[Subject]
    steering: ClassVar[Steering]
    tally: ClassVar[Tally]
    found: ClassVar[list[Found]]

    def __init__(self) -> None:
        """Start the implementation."""
        super().__init__()
        self.run = Lockstep(self.subject)
        self.used: frozenset[str] = frozenset()
        self.is_over = False
        try:
            self._guarded(self.run.start)
        except AdapterFailed:
            self.run.end()
            raise

    @initialize(data=st.data())
    def choose(self, data: st.DataObject) -> None:
        """Choose the operations of this run."""
        names = sorted(self.run.choosable)
        some = st.sets(st.sampled_from(names), min_size=1, max_size=MOST_USED)
        self.used = self.run.together(data.draw(some) if names else ()).union(self.run.owed)

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """Do something to the implementation, or let it go on."""
        offered = [action for action in self.run.offered() if action.name in self.used]
        owed = [action for action in offered if action.name in self.run.owed]
        if owed and data.draw(st.sampled_from(FIRST)):
            offered = owed
        best, is_new = self.steering.best(self.run, offered)
        acts = self.run.is_quiet or data.draw(st.sampled_from(NEW if is_new else KNOWN))
        if best and acts:
            action = data.draw(st.sampled_from(best))
            self.steering.note(self.run, action)
            self._guarded(self.run.do, action)
        elif not self.run.is_quiet:
            self._wait(data.draw(st.sampled_from(WAITS)))

    def _wait(self, steps: int) -> None:
        """Let it go on for some steps, or until something is seen."""
        if steps:
            self._guarded(self.run.do, Action(WAIT, str(steps)))
        else:
            self._guarded(self.run.wait_until_seen, LONGEST_WAIT)

    def teardown(self) -> None:
        """Wait until it is quiet, and end it."""
        try:
            if not self.is_over:
                self._guarded(self.run.finish)
                self._guarded(self.run.stop)
        finally:
            self.run.end()
        if not self.found:
            self.tally.add(self.run)

    def _guarded(self, act: Any, *arguments: Any) -> None:
        try:
            act(*arguments)
        except (AdapterFailed, Diverged, TooMany) as failure:
            self.is_over = True
            if isinstance(failure, Diverged):
                self.run.follow()
            actions = [entry.action for entry in self.run.entries]
            self.found.append(Found(self.run, failure, actions, self.tally.runs + 1))
            raise


def search(subject: Subject, examples: int, steps: int, number: int) -> tuple[Tally, Found | None]:
    """Run so many examples of so many actions, and make the first failure smaller. number: of the
    random choices; the same one makes the same runs.
    """
    tally, found = Tally(), list[Found]()
    steering = Steering(subject.system)
    body = {"subject": subject, "steering": steering, "tally": tally, "found": found}
    machine = type("LockstepMachine", (Machine,), body)
    for batch, first in enumerate(range(0, examples, BATCH)):
        try:
            _run(machine, min(BATCH, examples - first), steps, number * examples + batch)
        except Exception:
            if not found:
                raise
            smaller = not subject.is_asynchronous
            return tally, _smallest(subject, found[0]) if smaller else found[0]
        steering.learn()
    return tally, None


def _run(machine: type[Machine], examples: int, steps: int, number: int) -> None:
    # Hypothesis leaves much in that is not needed: see _smallest.
    how = quiet(examples, steps, phases=[Phase.generate])
    seed(number)(get_state_machine_test(machine, settings=how))()


def _smallest(subject: Subject, first: Found) -> Found:
    """A failure of the same kind with what of its actions it needs: each is left out in turn."""
    best, left = first, MOST_AGAIN
    changed = True
    while changed:
        changed = False
        for actions in _smaller(best.actions):
            left -= 1
            if left < 0:
                return best
            again = repeat(subject, actions)
            if again and again.is_like(best) and size(again.actions) < size(best.actions):
                best = Found(again.run, again.failure, first.first, first.runs)
                changed = True
                break
    return best


def _smaller(actions: list[Action]) -> list[list[Action]]:
    """The same with one action less, or with a shorter wait."""
    fewer = [actions[:at] + actions[at + 1 :] for at in range(len(actions))]
    shorter = [
        [*actions[:at], Action(WAIT, str(int(action.of) - 1)), *actions[at + 1 :]]
        for at, action in enumerate(actions)
        if action.name == WAIT and int(action.of) > 1
    ]
    return fewer + shorter


def size(actions: Sequence[Action]) -> tuple[int, int]:
    """How many actions there are that are no waits, and how long the waits are with them."""
    waits = [int(action.of) for action in actions if action.name == WAIT]
    return len(actions) - len(waits), sum(waits) + len(waits)


def repeat(subject: Subject, actions: Sequence[Action], tally: Tally | None = None) -> Found | None:
    """Do these actions in a run of their own; what makes no sense where its turn comes is passed
    over. None where nothing fails. tally: where to count it.
    """
    run = Lockstep(subject)
    try:
        run.start()
        for action in actions:
            if action.name == WAIT or action in run.offered():
                run.do(action)
        run.finish()
    except (AdapterFailed, Diverged, TooMany) as failure:
        if isinstance(failure, Diverged):
            run.follow()
        return Found(run, failure, [entry.action for entry in run.entries], 1)
    finally:
        run.end()
    if tally is not None:
        tally.add(run)
    return None
