"""A Hypothesis state machine of any world: its rules are the transitions, its preconditions the
guards, its invariant the properties.

A rule is a transition, and draws one of the firings of it that are possible. In half of the runs
that is all; in the others a swarm is drawn. What nobody is owed (faults, clients, the environment)
is drawn for when it is possible for the first time: whether it may happen in this run at all, how
often, from which step on, or only in phases of the protocol in which it was seldom tried. What
happens by itself is drawn for too: whether it is slow in this run, so that it comes only where
nothing else does. At the end of a run Hypothesis is told how rare its steps were, and aims for
rarer ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, ClassVar, Final, Protocol

from attrs import frozen
from hypothesis import strategies as st
from hypothesis import target
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rackproof.checker.sample.phases import Pair, Phases
from rackproof.checker.sample.point import Choices, Move, Point
from rackproof.checker.sample.tally import Plan, Tally
from rackproof.model.kernel import Firing, Property, Scope, System

RESTS: Final = "_nothing_more_happens"
"""The rule that is left where no other is."""
NEVER, ONCE, OFTEN, AIMED = range(4)
"""How a run may use what nobody is owed; AIMED: only in phases in which it was seldom tried."""
SLOW: Final = 3
"""The one of the numbers from 0 on that makes what happens by itself slow."""


class Driver(Protocol):
    """What goes along with the machine, step by step, such as a real implementation.

    What it raises fails the run, and Hypothesis looks for a shorter one that it fails too.
    """

    def start(self, system: System) -> None:
        """A run begins, in the initial state."""

    def step(self, firing: Firing, before: Any, after: Any) -> None:
        """The model has taken a step."""

    def finish(self) -> None:
        """The run is over, however it ended."""


class Violated(AssertionError):
    """A run violates a property, whose name is the message; each has a class of its own, so that
    Hypothesis keeps them apart.
    """


@frozen
class Asked:
    """A property with all that it is asked of; violated: what is raised where it fails."""

    prop: Property
    arguments: tuple[tuple[int, ...], ...]
    violated: type[Violated]

    def is_true_at(self, point: Point) -> bool:
        """Whether the property is true, of some identifiers where it is to happen, else of all."""
        name = self.prop.name
        if name not in point.answers:
            every = any if self.prop.scope is Scope.SOMETIMES else all
            said = (self.prop.function(point.state, *ids) for ids in self.arguments)
            point.answers[name] = every(said)
        return point.answers[name]


@frozen
class Judged:
    """What is asked of every state, of states at rest, and until it happens."""

    always: Sequence[Asked]
    resting: Sequence[Asked]
    goals: Sequence[Asked]

    def violated_in(
        self, point: Point, settled: Collection[str], reached: set[str]
    ) -> Asked | None:
        """The first property that a state violates and that is not settled; what it reaches is
        added.
        """
        for goal in self.goals:
            if goal.prop.name not in reached and goal.is_true_at(point):
                reached.add(goal.prop.name)
        for asked in (*self.always, *(self.resting if point.rests else ())):
            if asked.prop.name not in settled and not asked.is_true_at(point):
                return asked
        return None


@frozen
class Share:
    """How a run may use a transition that nobody is owed: one of the four ways, and from which step
    on.
    """

    way: int
    since: int

    def is_spent(self, times: int) -> bool:
        """Whether it may not happen any more, after so many times."""
        return self.way == NEVER or (self.way == ONCE and times > 0)


@frozen
class Hooks:
    """What is called beside a run: see ``state_machine``."""

    driver: Callable[[], Driver] | None
    before_run: Callable[[], None] | None


class WorldMachine(RuleBasedStateMachine):
    """What every such machine has; ``state_machine`` adds the rules of a world."""

    system: ClassVar[System]
    choices: ClassVar[Choices]
    phases: ClassVar[Phases]
    asked: ClassVar[Judged]
    plan: ClassVar[Plan]
    tally: ClassVar[Tally]
    hooks: ClassVar[Hooks]

    def __init__(self) -> None:
        """Begin a run in the initial state."""
        super().__init__()
        if self.hooks.before_run is not None:
            self.hooks.before_run()
        self._of_name = {one.function.__name__: one for one in self._rules_strategy.rules}
        # Hypothesis would switch rules off at random, those of the protocol too, after which most
        # runs can go nowhere: rules are drawn among those that can be taken.
        self._rules_strategy = _next_rule(self)  # type: ignore[assignment]
        self.point = self.choices.at(self.system.initial)
        self.firings: list[Firing] = []
        self.is_swarm: bool | None = None
        self.shares: dict[str, Share] = {}
        self.slow: dict[str, bool] = {}
        self.spent: Counter[str] = Counter()
        self.is_asked = self.is_counted = False
        self.driver = None if self.hooks.driver is None else self.hooks.driver()
        if self.driver is not None:
            self.driver.start(self.system)

    def take(self, move: Move) -> None:
        """Go on to the next state."""
        before, name = self.point.state, move.firing.transition.name
        if name not in self.choices.owed:
            self.tally.tried(self._pair(move))
        self.spent[name] += 1
        self.firings.append(move.firing)
        self.system.schema.check_step(before, move.after)
        self.point, self.is_asked = self.choices.at(move.after), False
        self.tally.came_to(move.after)
        self._drive(move.firing, before, move.after)

    def _drive(self, firing: Firing, before: Any, after: Any) -> None:
        """Let the driver go along; what it raises is told with the steps that led there."""
        if self.driver is None:
            return
        try:
            self.driver.step(firing, before, after)
        except Exception as error:
            steps = [firing.words(self.system) for firing in self.firings]
            told = "\n".join(f"  {number}. {words}" for number, words in enumerate(steps, 1))
            error.add_note(f"in a run of these steps:\n{told}")
            raise

    @invariant()
    def keeps_its_properties(self) -> None:
        """Ask every property of the state that is asked there, once."""
        if self.is_asked:
            return
        self.is_asked = True
        broken = self.asked.violated_in(self.point, self.plan.settled, self.tally.reached)
        if broken is not None:
            self._violates(broken)

    def _violates(self, asked: Asked) -> None:
        self._count()
        self.tally.violates(asked.prop.name, self.firings)
        raise asked.violated(asked.prop.name)

    def teardown(self) -> None:
        """Count the run, and tell Hypothesis how rare its steps were."""
        try:
            if self.driver is not None:
                self.driver.finish()
        finally:
            if not self.is_counted:
                self._count()
                target(self._rarity(), label="rare transitions")

    def _count(self) -> None:
        self.is_counted = True
        self.tally.run_ended(self.spent, self.point.rests)

    def _rarity(self) -> float:
        """How rare the transitions of this run were, before this batch."""
        return math.fsum(1 / (1 + self.plan.fired[name]) for name in sorted(self.spent))

    # What may be drawn next

    def allowed(self, draw: st.DrawFn) -> dict[str, tuple[Move, ...]]:
        """The moves that this run may make now, by their transition: what is aimed at, where that
        is possible; else what is usual; else what is late, be it slow or put off.
        """
        if not self._is_swarm(draw):
            return {name: self.point.moves(name) for name in self.point.possible}
        aimed: dict[str, tuple[Move, ...]] = {}
        usual: dict[str, tuple[Move, ...]] = {}
        late: dict[str, tuple[Move, ...]] = {}
        for name in self.point.possible:
            moves = self.point.moves(name)
            if name in self.choices.owed:
                (late if self._is_slow(name, draw) else usual)[name] = moves
            elif not (share := self._share(name, draw)).is_spent(self.spent[name]):
                if len(self.firings) < share.since:
                    late[name] = moves
                elif share.way != AIMED:
                    usual[name] = moves
                elif seldom := tuple(filter(self._is_seldom, moves)):
                    aimed[name] = seldom
        return aimed or usual or late

    def _is_swarm(self, draw: st.DrawFn) -> bool:
        """Whether anything is drawn for in this run: drawn at its first step."""
        if self.is_swarm is None:
            self.is_swarm = draw(st.booleans())
        return self.is_swarm

    def pick(self, draw: st.DrawFn, moves: Sequence[Move]) -> Move:
        """One of the moves."""
        return moves[draw(st.integers(0, len(moves) - 1))] if len(moves) > 1 else moves[0]

    def _is_slow(self, name: str, draw: st.DrawFn) -> bool:
        """Whether something is slow in this run: drawn when it is possible for the first time."""
        if name not in self.slow:
            self.slow[name] = draw(st.integers(0, SLOW)) == SLOW
        return self.slow[name]

    def _share(self, name: str, draw: st.DrawFn) -> Share:
        """How this run may use a transition: drawn when it is possible for the first time."""
        if name not in self.shares:
            way = draw(st.integers(NEVER, AIMED))
            waits = way != NEVER and draw(st.booleans())
            later = draw(st.integers(1, self.plan.longest)) if waits else 0
            self.shares[name] = Share(way, len(self.firings) + later)
        return self.shares[name]

    def _is_seldom(self, move: Move) -> bool:
        pair = self._pair(move)
        self.tally.seen.add(pair)
        return self.plan.pairs[pair] <= self.plan.seldom

    def _pair(self, move: Move) -> Pair:
        last = self.firings[-1].transition.name if self.firings else ""
        return self.phases.pair(move.firing, self.point.state, last)


@st.composite
def _next_rule(draw: st.DrawFn, machine: WorldMachine) -> tuple[Any, dict[str, Any]]:
    """A rule that the run may take now, with its argument."""
    allowed = machine.allowed(draw)
    if not allowed:
        return machine._of_name[RESTS], {}
    moves = [move for those in allowed.values() for move in those]
    move = machine.pick(draw, machine.plan.visits.least(moves))
    return machine._of_name[move.firing.transition.name], {"move": move}


def state_machine(
    system: System,
    *,
    plan: Plan | None = None,
    tally: Tally | None = None,
    driver: Callable[[], Driver] | None = None,
    before_run: Callable[[], None] | None = None,
) -> type[WorldMachine]:
    """The state machine of a system, to be run by ``hypothesis.stateful``, or subclassed.

    plan: what is known before; tally: where to count; driver: makes what goes along with a run;
    before_run: called before each, and may end the runs by an exception.
    """
    body: dict[str, Any] = {
        "system": system,
        "choices": Choices(system),
        "phases": Phases(system),
        "asked": asked_of(system),
        "plan": plan or Plan(),
        "tally": Tally() if tally is None else tally,
        "hooks": Hooks(driver, before_run),
    }
    return type("World", (WorldMachine,), {**body, **dict(_rules(system))})


def asked_of(system: System) -> Judged:
    """What is asked of every state, of states at rest, and until it happens.

    A run that comes to rest where it is false violates what is to hold eventually, too.
    """
    goals = {prop.premise for prop in system.properties if prop.premise is not None}
    goals |= {prop for prop in system.properties if prop.scope is Scope.SOMETIMES}

    def asked(prop: Property) -> Asked:
        raised = type("Violated", (Violated,), {"__doc__": prop.statement})
        return Asked(prop, tuple(system.choices(prop.parameters)), raised)

    judged = [prop for prop in system.properties if prop.scope is not Scope.SOMETIMES]
    return Judged(
        [asked(prop) for prop in judged if prop.scope is Scope.ALWAYS],
        [asked(prop) for prop in judged if prop.scope is not Scope.ALWAYS],
        [asked(prop) for prop in sorted(goals, key=lambda prop: prop.name)],
    )


def _rules(system: System) -> Iterator[tuple[str, Any]]:
    """A rule for each transition, and the one that is left at the end."""
    for transition in system.transitions:  # whose names might be those of our own methods
        yield f"rule_{transition.name}", _rule(transition.name)

    def rests(_: WorldMachine) -> None:
        """The run is over."""

    rests.__name__ = RESTS
    yield "rule_rests", precondition(lambda machine: not machine.point.possible)(rule()(rests))


def _rule(name: str) -> Any:
    """The rule of one transition."""

    def fire(machine: WorldMachine, move: Move) -> None:
        machine.take(move)

    fire.__name__ = fire.__qualname__ = name
    moves = st.runner().flatmap(lambda machine: st.sampled_from(machine.point.moves(name)))
    return precondition(lambda machine: bool(machine.point.moves(name)))(rule(move=moves)(fire))
