"""What the trees of a world tell of a run: why each step was possible, and what depends on what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial

from attrs import frozen

from rackproof.checker.explain import stuck
from rackproof.checker.explain.causes import Slice, sliced
from rackproof.checker.explain.decisions import Decisions
from rackproof.checker.explain.explanation import END, Condition
from rackproof.checker.explain.given import Literal
from rackproof.checker.explain.guards import Guards
from rackproof.checker.explain.necessity import (
    MOST_AT_ONCE,
    MOST_STEPS,
    LeadsThere,
    enough,
    leads_there,
    needed,
)
from rackproof.checker.explain.runs import whole
from rackproof.checker.explain.stuck import Reads
from rackproof.checker.lowering import lower
from rackproof.checker.lowering.relation import Action
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Firing, Property, System
from rackproof.scenarios.fields import Field, Fields


@lru_cache(maxsize=1)
def decisions(system: System) -> Decisions:
    """The trees of a world, lowered once for all of its runs that are told one after another."""
    return Decisions(lower(system))


@frozen(slots=False, eq=False)
class Study:
    """A run, and what it comes to.

    reads: what it depends on that a run comes to that; None where it does not; the first way to
    tell that counts. leads: whether a run does.
    """

    decisions: Decisions
    trace: Trace
    fields: Fields
    reads: Sequence[Callable[[Trace], Reads | None]]
    leads: LeadsThere

    @cached_property
    def slice(self) -> Slice | None:
        """The steps on which it depends."""
        for reads in self.reads:
            found = sliced(self.decisions, self.trace, reads)
            if found is not None and self.leads(found.run.trace) is not False:
                return found
        return None

    @cached_property
    def needed(self) -> Mapping[int, bool]:
        """Of each step, whether the others do not lead there without it, as far as it is known."""
        run = whole(self.trace)
        is_short = len(run.numbers) <= MOST_STEPS
        return needed(run, run.numbers if is_short else self.enough, self.leads)

    @cached_property
    def enough(self) -> tuple[int, ...]:
        """Steps that lead there by themselves, and of which none can be left out."""
        run = whole(self.trace)
        if len(run.numbers) > MOST_AT_ONCE and self.slice is not None:
            run = self.slice.run
        is_known = len(run.numbers) <= MOST_STEPS and self.leads(run.trace)
        return enough(run, self.leads) if is_known else ()

    @cached_property
    def is_inevitable(self) -> bool:
        """Whether every fair run comes to it, with no step but those that come of themselves."""
        return bool(self.leads(Trace(self.trace.system, ())))

    def why(self, number: int) -> tuple[Condition, ...]:
        """What made a step possible."""
        return self._guards.conditions(self._tests(number), self._states[:number])

    def causes(self, number: int) -> tuple[int, ...]:
        """The earlier steps on which a step depends."""
        if self.slice is not None and number in self.slice.causes:
            return self.slice.causes[number]
        slots = self.decisions.slots(self._tests(number))
        return tuple(sorted({at for slot in slots if (at := self._writer(slot, number))}))

    def users(self, number: int) -> dict[str, tuple[int, ...]]:
        """By the label of a field that a step changed, the later steps that depend on that."""
        by_slot = self.slice.users.get(number, {}) if self.slice is not None else {}
        found: dict[str, set[int]] = {}
        for slot, those in by_slot.items():
            if self._states[number][slot] != self._states[number - 1][slot]:
                found.setdefault(self._label(slot), set()).update(those)
        order = sorted(found, key=lambda label: self.fields.by_label[label].slots)
        return {label: tuple(sorted(found[label], key=lambda n: (n == END, n))) for label in order}

    @property
    def failing(self) -> tuple[Condition, ...]:
        """By what it fails at the end."""
        return self._at_end(self.slice.reads.property) if self.slice else ()

    @property
    def stays(self) -> tuple[Condition, ...]:
        """Why nothing changes that any more: what the run has done first."""
        told = self._at_end(self.slice.reads.stays) if self.slice else ()
        others = [condition for condition in told if condition not in self.failing]
        return tuple(sorted(others, key=lambda condition: condition.since is None))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the fields by which it fails."""
        tests = self.slice.reads.property if self.slice else ()
        return tuple(dict.fromkeys(self._label(s) for s in sorted(self.decisions.slots(tests))))

    def _at_end(self, literals: Sequence[Literal]) -> tuple[Condition, ...]:
        return self._guards.conditions(literals, self._states)

    @cached_property
    def _guards(self) -> Guards:
        return Guards(self.decisions, self.fields)

    @cached_property
    def _states(self) -> list[tuple[int, ...]]:
        flatten = self.trace.system.schema.flatten
        return [flatten(self.trace.system.initial), *(flatten(s.after) for s in self.trace.steps)]

    @cached_property
    def _actions(self) -> dict[Firing, Action]:
        return {action.firing: action for action in self.decisions.relation.actions}

    @cached_property
    def _owners(self) -> dict[int, Field]:
        return {slot: field for field in self.fields.all for slot in field.slots}

    def _label(self, slot: int) -> str:
        return self._owners[slot].label

    def _tests(self, number: int) -> tuple[Literal, ...]:
        """The tests by which a step was possible; none where its tree says nothing, as nothing that
        it changes is read.
        """
        step = self.trace.steps[number - 1]
        action = self._actions.get(step.firing)
        if action is None:
            return ()
        before, after = self._states[number - 1 : number + 1]
        spent = frozenset(slot for slot in self._owners if step.spends(self._label(slot)))
        return tuple(self._guards.least(action.tree, before, after, spent))

    def _writer(self, slot: int, number: int) -> int | None:
        """The last step before another that changed a slot."""
        before = range(number - 1, 0, -1)
        return next((n for n in before if self._states[n][slot] != self._states[n - 1][slot]), None)


def of_property(trace: Trace, prop: Property, fields: Fields) -> Study:
    """A run that violates a property."""
    trees, culprits = decisions(trace.system), frozenset(trace.failing(prop))

    def reads(for_good: bool, run: Trace) -> Reads | None:
        return stuck.reads(trees, prop, run, culprits, for_good)

    ways = [partial(reads, True), partial(reads, False)]
    return Study(trees, trace, fields, ways, leads_there(trace, prop))


def of_values(trace: Trace, chosen: Sequence[Field], fields: Fields) -> Study:
    """A run that ends with some fields as they are; of none where nothing depends on them."""
    trees, flatten = decisions(trace.system), trace.system.schema.flatten
    known = {variable.slot for variable in trees.relation.variables}
    slots = frozenset(slot for field in chosen for slot in field.slots)
    final = flatten(trace.final)
    varying = slots & {*known, *trees.relation.unread}

    def leads(run: Trace) -> bool:
        ordinals = flatten(run.final)
        is_run = run.loop is None or run.flaw is None
        return is_run and all(ordinals[slot] == final[slot] for slot in slots)

    def reads(run: Trace) -> Reads | None:
        is_told = varying and varying <= known and leads(run)
        return Reads((), (), varying) if is_told else None

    return Study(trees, trace, fields, [reads], leads)
