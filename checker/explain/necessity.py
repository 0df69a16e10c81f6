"""Which steps a violation needs: each is left out, and the others are run again in their order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from rackproof.checker.explain.explanation import Moment
from rackproof.checker.explain.runs import SubRun
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Property, Scope, holds

LeadsThere = Callable[[Trace], bool]
"""Whether a run comes to the violation."""

MOST_STEPS: Final = 100
"""Of longer runs it is not asked which steps they need."""


def violated_on_the_way(trace: Trace, prop: Property) -> bool:
    """Whether a run violates a property at its end, or at any moment if it is asked always."""
    if prop.scope is not Scope.ALWAYS:
        return trace.violates(prop)
    states = [trace.system.initial, *(step.after for step in trace.steps)]
    return not all(holds(trace.system, prop, state) for state in reversed(states))


def needed(run: SubRun, candidates: Collection[int], leads_there: LeadsThere) -> dict[int, bool]:
    """Of some steps of a run, whether the others do not lead there without it.

    What becomes impossible without it is left out too, or changes nothing any more.
    """
    return {
        number: not _does(run.only([n for n in run.numbers if n != number]), leads_there)
        for number in candidates
    }


def enough(run: SubRun, leads_there: LeadsThere) -> SubRun:
    """The run with as many steps left out as can be, one after another, faults first: what is left
    leads there, and does not with any one step less (Zeller and Hildebrandt, TSE 28(2), 2002).
    """
    while (less := _shorter(run, leads_there)) is not None:
        run = less
    return run


def _shorter(run: SubRun, leads_there: LeadsThere) -> SubRun | None:
    """The run after all that could be left out in turn; None where nothing could."""
    steps = zip(run.numbers, run.trace.steps, strict=True)
    order = sorted(steps, key=lambda each: (not each[1].is_fault, -each[0]))
    best = run
    for number, _ in order:
        if number in best.numbers:
            left = best.only([n for n in best.numbers if n != number])
            if left is not None and _does(left, leads_there):
                best = left
    return best if best is not run else None


def _does(run: SubRun | None, leads_there: LeadsThere) -> bool:
    return run is not None and leads_there(run.trace)


def told(moments: Sequence[Moment], least: Sequence[int]) -> Iterator[str]:
    """What a run needs, in words: which of its faults, and how many of its steps.

    least: the numbers of steps that lead there by themselves.
    """
    known = [moment for moment in moments if moment.needed is not None]
    for moment in known:
        if moment.step.is_fault:
            what = f"the {_kebab(moment)} of step {moment.number}"
            does = "do not lead there" if moment.needed else "lead there all the same"
            yield f"Without {what} the other steps {does}."
    if known and all(moment.needed for moment in known):
        yield "No step can be left out: without any one of them the others do not lead there."
    elif least:
        yield (
            f"{_steps(least)} {'leads' if len(least) == 1 else 'lead'} there alone "
            f"({len(least)} of {len(moments)}), and none of them can be left out."
        )


def _kebab(moment: Moment) -> str:
    return moment.step.firing.transition.name.replace("_", "-")


def _steps(numbers: Sequence[int]) -> str:
    """Step 3; steps 1 to 4 and 7."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    parts = [f"{g[0]} to {g[-1]}" if len(g) > 2 else " and ".join(map(str, g)) for g in groups]
    told = ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1]
    return f"Step {told}" if len(numbers) == 1 else f"Steps {told}"
