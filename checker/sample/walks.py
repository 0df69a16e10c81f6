"""Random walks that go where the runs came least often, each such step as likely as the others.

Hypothesis varies what it has seen, so that many of its runs are alike; walks are not.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from rackproof.checker.sample.machine import Asked, asked_of
from rackproof.checker.sample.point import Choices, Point
from rackproof.checker.sample.tally import Plan, Tally
from rackproof.model.kernel import Firing, System


class Walks:
    """Walks of one system."""

    def __init__(self, system: System, seed: int) -> None:
        """Begin with a number that all of them are drawn by."""
        self.choices, self.dice = Choices(system), Random(seed)
        self.asked = asked_of(system)

    def walk(self, plan: Plan, tally: Tally, length: int) -> None:
        """One run, counted, and known to the next one; it ends where it violates a property that is
        not settled.
        """
        point, firings = self.choices.at(self.choices.system.initial), list[Firing]()
        broken = self._judged(point, plan, tally)
        while broken is None and len(firings) < length:
            moves = [move for name in point.possible for move in point.moves(name)]
            if not moves:
                break
            move = self.dice.choice(tally.visits.least(moves))
            self.choices.system.schema.check_step(point.state, move.after)
            point = self.choices.at(move.after)
            tally.came_to(move.after)
            firings.append(move.firing)
            broken = self._judged(point, plan, tally)
        tally.visits.settle()
        tally.run_ended(Counter(one.transition.name for one in firings), point.rests)
        if broken is not None:
            tally.violates(broken.prop.name, firings)

    def _judged(self, point: Point, plan: Plan, tally: Tally) -> Asked | None:
        """The first property that a state violates; what it reaches is noted."""
        return self.asked.violated_in(point, plan.settled, tally.reached)
