"""An explanation: all there is to say of a run, in no particular form.

Every form (terminal, Markdown, HTML, ...) is written from this and from nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

from rackproof.checker.report.timed import WithinTimes
from rackproof.checker.timing.possible import Possible
from rackproof.checker.trace import Step, Trace
from rackproof.model.kernel import Belief, Charge, Lane, Message, Property
from rackproof.scenarios.fields import Field, Fields
from rackproof.scenarios.schema import Setting

OPEN: Final = " (whether without it too was not found out)"
"""Ends what is told of a side effect of which nothing is known without the change."""
END: Final = 0
"""Stands for the violation among the numbers of steps."""


@frozen
class Condition:
    """A test that had to come out as it did for a step to be possible.

    text: in words, with the value: request-0.phase is queued. since: the number of the step that
    made that so; None where it was so from the start.
    """

    text: str
    since: int | None = None


@frozen
class Moment:
    """One step of a run, explained.

    number: from one on. why: what made it possible. causes: the numbers of earlier steps that it
    depends on. matters: whether the violation depends on it. needed: whether the violation does not
    come about when it is left out and the other steps are run in their order, as far as they are
    possible then; None where that was not asked. at: when it happens in a run as early as it can
    be, in seconds. users: by the label of a field that it changed, the numbers of the later steps
    that depend on that; ``END`` among them for the violation itself.
    """

    number: int
    step: Step
    message: Message
    why: tuple[Condition, ...] = ()
    causes: tuple[int, ...] = ()
    matters: bool = True
    needed: bool | None = None
    at: Fraction | None = None
    charge: Charge | None = None
    beliefs: tuple[Belief, ...] = ()
    """Those that are held after the step, true or not."""
    users: Mapping[str, tuple[int, ...]] = field(factory=dict)

    @property
    def mistaken(self) -> tuple[Belief, ...]:
        """The beliefs after the step that are not true, but for those that are only behind."""
        return tuple(belief for belief in self.beliefs if belief.mistaken)


@frozen
class Parting:
    """Where a run and the same steps with a change of mechanisms part, and how, in words."""

    number: int
    words: str
    changes: tuple[str, ...] = ()


@frozen
class Pivot:
    """The last step before which another choice would have saved the run.

    number: that step, the last of those at which another choice or a mechanism would have saved it.
    choice: the step of that choice; None where that could not be told, 0 where there is none.
    instead: in words, what else could have happened there, from where some way on does not end in
    the violation. mechanisms: under which changes a step would not have been possible, or would
    have led elsewhere, and which; partings: the same, with the numbers of these steps. words: all
    of that in a few sentences, the first mechanism alone.
    """

    number: int
    words: str
    instead: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    choice: int | None = None
    partings: tuple[Parting, ...] = ()


@frozen
class NearMiss:
    """The closest run that is safe; parts: the number of its first step that differs. violates: the
    names of other properties that it violates.
    """

    trace: Trace
    parts: int
    words: str
    violates: tuple[str, ...] = ()


@frozen
class Smallest:
    """The least faults and scope in which the property is still violated.

    faults: those that are needed, with how many. scope: the sizes that could be made smaller, such
    as "requests: 2 -> 1". needed: what could not be, with why. words: in a sentence or two.
    """

    words: str
    faults: Mapping[str, int] = field(factory=dict)
    scope: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()


@frozen
class Mend:
    """A change under which the property is not violated, and how that is known.

    changes: such as "finish-latch: false -> true". verdict: what was found with it, in words.
    source: whose idea it is, such as "the scenario's fix" or "a least change of mechanisms".
    side_effects: the properties that are violated only with it (or, of those that must be
    reachable, no longer are).
    """

    changes: tuple[str, ...]
    verdict: str
    source: str
    side_effects: tuple[str, ...] = ()


@frozen
class Footing:
    """What every result says of itself: reproduce: the line that shows it again. not_checked: what
    was not looked at. next_moves: what to do with it.
    """

    reproduce: str
    not_checked: tuple[str, ...] = ()
    next_moves: tuple[str, ...] = ()


@frozen(slots=False)
class Explanation:
    """A run explained: of a violation, or one that was written down.

    prop: the property that is violated; of a replay, the first that it says to be and that is.
    verdict: in words, with the size. where: in which state it fails, and for whom. outcome: in
    which state, and what is so instead, where the property says that; it is to stand for ``where``.
    reads: the labels of the fields by which it fails. scope: how much was explored, in words.
    complaints: what in a replay is not as written. facts: what it was to lead to: in words, what
    was found, and whether that is as written. failing: by what it fails, with the values. stays:
    why nothing that may still happen changes that, where a run comes to rest or goes round for
    ever. enough: the numbers of steps that lead there by themselves, none of which can be left out;
    empty where that was not asked. necessity: which faults and steps are needed, in sentences.
    unexplained: why there is no more to say. setting: what describes the world; its relative paths
    begin in ``base``. file: the scenario that has that setting, if one does. folder: where what is
    written of it is going to lie. fewest_faults: whether it was shown that no run with fewer faults
    violates the property. in_time: what the times make of the violation, in any run. untold: what
    was asked and could not be found out, with why.
    """

    title: str
    trace: Trace
    moments: tuple[Moment, ...]
    lanes: tuple[Lane, ...]
    footing: Footing
    prop: Property | None = None
    verdict: str = ""
    where: str = ""
    outcome: str = ""
    reads: tuple[str, ...] = ()
    scope: str | None = None
    source: str | None = None
    notes: str | None = None
    timing: Possible | None = None
    in_time: WithinTimes | None = None
    pivot: Pivot | None = None
    near_miss: NearMiss | None = None
    smallest: Smallest | None = None
    mends: tuple[Mend, ...] = ()
    complaints: tuple[str, ...] = ()
    facts: tuple[tuple[str, str, bool], ...] = ()
    failing: tuple[Condition, ...] = ()
    stays: tuple[Condition, ...] = ()
    enough: tuple[int, ...] = ()
    necessity: tuple[str, ...] = ()
    unexplained: str | None = None
    setting: Setting | None = None
    base: Path = Path()
    file: Path | None = None
    folder: Path = Path()
    fewest_faults: bool = False
    untold: tuple[str, ...] = ()

    @cached_property
    def fields(self) -> Fields:
        """The fields of its world."""
        return Fields(self.trace.system)

    @cached_property
    def culprits(self) -> tuple[Mapping[str, str], ...]:
        """The identifiers for which the property fails, by parameter."""
        return tuple(self.trace.culprits(self.prop)) if self.prop else ()

    @cached_property
    def broken(self) -> tuple[str, ...]:
        """What is so instead for each of them, in a sentence, where the property says that."""
        return self.trace.broken(self.prop) if self.prop else ()

    @property
    def timing_words(self) -> tuple[str, ...]:
        """What the times make of the violation, or else of this very run."""
        known = self.in_time or self.timing
        return tuple(known.lines) if known else ()

    @property
    def states(self) -> Sequence[Any]:
        """The initial state and that after each step."""
        return [self.trace.system.initial, *(step.after for step in self.trace.steps)]

    def values(self, state: Any) -> dict[str, str]:
        """Each field of a state by its whole path, with its value in words."""
        ordinals = self.trace.system.schema.flatten(state)
        return {field.label: field.words(field.value(ordinals)) for field in self.fields.all}

    def name(self, field: Field) -> str:
        """The shortest name of a field that leaves no doubt."""
        return self.fields.short[field.label]
