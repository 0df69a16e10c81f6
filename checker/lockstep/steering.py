"""What to do next to an implementation: what was not done yet in such a phase of a run.

The phase is that of the model (see ``rackproof.checker.sample.phases``), in one of the states in
which the run may be, with how much was seen from outside so far and what was seen last: before the
first token, behind the first one, between the last one and the end, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from rackproof.checker.lockstep.run import Action, Lockstep
from rackproof.checker.sample.phases import Phases
from rackproof.model.kernel import System


class Steering:
    """How often each operation was done in each phase, over all runs.

    What was noted counts from the next ``learn`` on: until then the same choices of Hypothesis make
    the same run.
    """

    def __init__(self, system: System) -> None:
        """Nothing was done yet."""
        self._phases = Phases(system)
        self._done: Counter[Hashable] = Counter()
        self._noted: Counter[Hashable] = Counter()

    def best(self, run: Lockstep, actions: Sequence[Action]) -> tuple[list[Action], bool]:
        """Those of the actions that were done least often where the run is; whether never."""
        times = [self._done[self._pair(run, action)] for action in actions]
        least = min(times, default=1)
        return [a for a, count in zip(actions, times, strict=True) if count == least], least == 0

    def note(self, run: Lockstep, action: Action) -> None:
        """An action is about to be done."""
        self._noted[self._pair(run, action)] += 1

    def learn(self) -> None:
        """Have what was noted count."""
        self._done += self._noted
        self._noted.clear()

    def _pair(self, run: Lockstep, action: Action) -> Hashable:
        seen = [o for entry in run.entries for o in entry.seen if run.is_outside(o)]
        last = seen[-1].kind if seen else ""
        step = run.firing(action)
        phase = self._phases.pair(*step, last) if step else None
        return action.name, len(seen), last, phase
