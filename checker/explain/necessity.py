"""Which steps a violation needs: each is left out, and the others are run again in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rackproof.checker.explain.explanation import Moment
from rackproof.checker.explain.onwards import Onwards
from rackproof.checker.explain.runs import SubRun, whole
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Property, Scope

LeadsThere = Callable[[Trace], bool | None]
"""Whether a run comes to the violation; None where that could not be told."""

MOST_STEPS: Final = 100
"""Of longer runs it is asked only of steps that are enough whether they are needed."""
MOST_AT_ONCE: Final = 40
"""Longer ones are shortened by their slice first, and not at all where it is not asked for."""


def leads_there(trace: Trace, prop: Property) -> LeadsThere:
    """Whether a run violates a property for some of those for whom another does: at any moment if
    it is asked always; else at its end, or where every fair run from there on comes to that by
    itself. Of one that goes round for ever, the loop is needed as it is.
    """
    culprits = tuple(trace.failing(prop))
    onwards = Onwards(trace.system, prop, culprits)

    def leads(run: Trace) -> bool | None:
        if prop.scope is Scope.ALWAYS:
            states = [run.system.initial, *(step.after for step in run.steps)]
            return any(not prop.function(s, *ids) for s in reversed(states) for ids in culprits)
        if run.loop is not None:
            return run.violates(prop) and not set(culprits).isdisjoint(run.failing(prop))
        return prop.scope is not Scope.SOMETIMES and onwards.ends_in_it(run.final)

    return leads


def needed(run: SubRun, candidates: Sequence[int], leads: LeadsThere) -> dict[int, bool]:
    """Of some steps of a run, whether the others do not lead there without it; those are left out
    of which that could not be told.

    What becomes impossible without it is left out too, or changes nothing any more.
    """
    found = {}
    for number in candidates:
        does = _does(run.only([n for n in run.numbers if n != number]), leads)
        if does is not None:
            found[number] = not does
    return found


def enough(run: SubRun, leads: LeadsThere) -> tuple[int, ...]:
    """The numbers of the steps when as many are left out as can be, one after another, faults
    first: what is left leads there, and does not with any one step less (Zeller and Hildebrandt,
    TSE 28(2), 2002); none where that could not be told.
    """
    while (less := _shorter(run, leads)) is not None:
        run = less
    is_known = leads(run.trace) and len(needed(run, run.numbers, leads)) == len(run.numbers)
    return run.numbers if is_known else ()


def plainly_enough(trace: Trace, prop: Property) -> tuple[int, ...]:
    """The numbers of such steps by the plain functions alone, of a run that is not long; all of
    them where nothing can be left out, none where that is not known or none is needed.
    """
    if len(trace.steps) > MOST_AT_ONCE or not trace.violates(prop):
        return ()
    return enough(whole(trace), leads_there(trace, prop))


def _shorter(run: SubRun, leads: LeadsThere) -> SubRun | None:
    """The run after all that could be left out in turn; None where nothing could."""
    steps = zip(run.numbers, run.trace.steps, strict=True)
    order = sorted(steps, key=lambda each: (not each[1].is_fault, -each[0]))
    best = run
    for number, _ in order:
        if number in best.numbers:
            left = best.only([n for n in best.numbers if n != number])
            if left is not None and _does(left, leads):
                best = left
    return best if best is not run else None


def _does(run: SubRun | None, leads: LeadsThere) -> bool | None:
    return False if run is None else leads(run.trace)


def told(
    moments: Sequence[Moment], least: Sequence[int], is_inevitable: bool = False
) -> Iterator[str]:
    """What a run needs, in words: which of its faults, and how many of its steps.

    least: the numbers of steps that lead there by themselves. is_inevitable: whether none is
    needed, as every fair run comes to it.
    """
    known = [moment for moment in moments if moment.needed is not None]
    if known and all(moment.needed for moment in moments):
        yield "Every step is needed: without any one of them the others do not lead there."
        return
    for moment in known:
        if moment.step.is_fault:
            what = f"the {_kebab(moment)} of step {moment.number}"
            does = "do not lead there" if moment.needed else "lead there all the same"
            yield f"Without {what} the other steps {does}."
    if is_inevitable and moments:
        yield (
            "No step has to be chosen: from the initial state on, what comes of itself leads there "
            "in whatever order."
        )
    elif least:
        yield (f"{alone(least)} ({len(least)} of {len(moments)}){_rest(least)}.")


def alone(least: Sequence[int]) -> str:
    """That some steps lead there by themselves."""
    return f"{_steps(least)} {'leads' if len(least) == 1 else 'lead'} there alone"


def _rest(least: Sequence[int]) -> str:
    return ", and none of them can be left out" if len(least) > 1 else ""


def _kebab(moment: Moment) -> str:
    return moment.step.firing.transition.name.replace("_", "-")


def _steps(numbers: Sequence[int]) -> str:
    """Step 3; Steps 1 to 4 and 7."""
    parts = list[tuple[int, int]]()
    for number in numbers:
        first = parts.pop()[0] if parts and number == parts[-1][1] + 1 else number
        parts.append((first, number))
    told = list[str]()
    for first, last in parts:
        apart = range(first, last + 1) if last <= first + 1 else ()
        told += map(str, apart) if apart else [f"{first} to {last}"]
    if len(numbers) == 1:
        return f"Step {told[0]}"
    return f"Steps {', '.join(told[:-1])} and {told[-1]}" if told[1:] else f"Steps {told[0]}"
