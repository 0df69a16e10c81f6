"""Which steps a violation depends on: a dynamic slice, backwards from what it reads at the end.

A step belongs to it that changes a field which the violation, or a later step of the slice, reads.
What a step reads are the tests that decide what it does to such fields, and the fields that their
new values are made of. So the steps of the slice alone, in their order, do to these fields what the
whole run does, and end in the violation too (Agrawal and Horgan, PLDI 1990; that a step left out
does not write to them on another way either is what ``writes_to`` is for). It is run to see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import define, field, frozen

from rackproof.checker.explain.decisions import Decisions, writes_to
from rackproof.checker.explain.explanation import END
from rackproof.checker.explain.runs import SubRun, whole
from rackproof.checker.explain.stuck import Reads
from rackproof.checker.lowering.relation import Action
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Firing


@frozen
class Slice:
    """The steps that the end of a run depends on, by number.

    run: they alone, run again: it ends as the whole does. causes: of each, the earlier steps on
    which it depends. users: of each, by slot, the later steps that read what it wrote there; END
    for the violation. reads: what that depends on.
    """

    run: SubRun
    causes: Mapping[int, tuple[int, ...]]
    users: Mapping[int, Mapping[int, frozenset[int]]]
    reads: Reads

    @property
    def numbers(self) -> frozenset[int]:
        """The steps that matter."""
        return frozenset(self.run.numbers)


def sliced(
    decisions: Decisions, trace: Trace, reads: Callable[[Trace], Reads | None]
) -> Slice | None:
    """The slice of a run; None where the run does not end as asked.

    reads: what it depends on that a run ends as asked; None where it does not. Steps that change
    nothing once others are left out are left out too, until none is.
    """
    run, found = whole(trace), None
    while True:
        seen = reads(run.trace)
        if seen is None:
            return found
        following = _Backwards(decisions, run, seen)
        following.go()
        found = following.found
        left = run.only(following.kept)
        if left is None or left.numbers == run.numbers:
            return found
        run = left


@define
class _Backwards:
    """One pass from the end of a run to its beginning.

    live: the slots that are read later, each with who reads it.
    """

    decisions: Decisions
    run: SubRun
    end: Reads
    live: dict[int, set[int]] = field(factory=dict)
    causes: dict[int, set[int]] = field(factory=dict)
    users: dict[int, dict[int, set[int]]] = field(factory=dict)

    def go(self) -> None:
        """Follow the reads back."""
        trace = self.run.trace
        actions = {action.firing: action for action in self.decisions.relation.actions}
        flatten = trace.system.schema.flatten
        states = [flatten(trace.system.initial), *(flatten(step.after) for step in trace.steps)]
        self._need(self.end.slots, END)
        looping = self._looping(actions)
        self._need(looping, END)
        for at in reversed(range(len(trace.steps))):
            if at == trace.lead - 1:
                self._need(looping, END)
            action = actions.get(trace.steps[at].firing)
            if action is not None:
                self._step(at, action, states[at], states[at + 1])

    def _looping(self, actions: Mapping[Firing, Action]) -> frozenset[int]:
        """What the steps of a loop may write: it has to come back to where it was."""
        written = (actions[s.firing].writes for s in self.run.trace.repeated if s.firing in actions)
        return frozenset().union(*written)

    def _step(self, at: int, action: Action, before: Sequence[int], after: Sequence[int]) -> None:
        """What a step reads takes the place of what it writes, if anybody reads that."""
        number = self.run.numbers[at]
        changed = {slot for slot in self.live if before[slot] != after[slot]}
        if not changed and at < self.run.trace.lead:
            return
        live = frozenset(self.live)
        way = self.decisions.way(action.tree, before, writes_to(live), live)
        self.causes.setdefault(number, set())
        users = self.users.setdefault(number, {})
        read = set(self.decisions.slots(way.literals))
        for slot, parts in self.decisions.written(way.leaf, live):
            readers = self.live.pop(slot)
            users.setdefault(slot, set()).update(readers)
            for reader in readers - {END, number}:
                self.causes[reader].add(number)
            read |= parts
        self._need(read, number)

    def _need(self, slots: Iterable[int], number: int) -> None:
        for slot in slots:
            self.live.setdefault(slot, set()).add(number)

    @property
    def kept(self) -> list[int]:
        """The numbers of the steps that matter."""
        return [number for number in self.run.numbers if number in self.causes]

    @property
    def found(self) -> Slice:
        """What was found."""
        return Slice(
            self.run,
            {number: tuple(sorted(those)) for number, those in self.causes.items()},
            {
                number: {slot: frozenset(those) for slot, those in by_slot.items()}
                for number, by_slot in self.users.items()
            },
            self.end,
        )
