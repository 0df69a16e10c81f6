"""Some of the steps of a run, in their order, run again with the plain functions."""

from __future__ import annotations

from collections.abc import Collection

from attrs import frozen

from rackproof.checker.trace import Step, Trace


@frozen
class SubRun:
    """A run of some steps of another, by their numbers there (from one on)."""

    trace: Trace
    numbers: tuple[int, ...]

    def only(self, chosen: Collection[int]) -> SubRun | None:
        """Run some of the steps again; those that are not possible any more, or that change
        nothing, are left out. None where a loop is not one any more.
        """
        system, loop = self.trace.system, None
        state, steps, numbers = system.initial, list[Step](), list[int]()
        for at, (number, step) in enumerate(zip(self.numbers, self.trace.steps, strict=True)):
            if at == self.trace.loop:
                loop = len(steps)
            after = step.firing.apply(system, state) if number in chosen else None
            if after is not None:
                steps.append(Step(system, step.firing, state, after))
                numbers.append(number)
                state = after
            elif loop is not None:
                return None
        return SubRun(Trace(system, tuple(steps), loop), tuple(numbers))


def whole(trace: Trace) -> SubRun:
    """All steps of a run."""
    return SubRun(trace, tuple(range(1, len(trace.steps) + 1)))
