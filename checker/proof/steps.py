"""What the actions of a relation do in a state of z3, one after another; each asked for once."""

from __future__ import annotations

import z3

from rackproof.checker.lowering.relation import Action, Relation
from rackproof.checker.proof import z3terms
from rackproof.checker.proof.terms import Stepped, Vector

Z3Stepped = Stepped[z3.ArithRef, z3.BoolRef]


def merged(before: z3terms.State, changed: z3terms.State) -> z3terms.State:
    """The state after a step that changes some variables."""
    return Vector({**before.numbers, **changed.numbers}, {**before.truths, **changed.truths})


def value(state: z3terms.State, slot: int) -> z3.ArithRef | z3.BoolRef:
    """The value of a slot."""
    return state.numbers[slot] if slot in state.numbers else state.truths[slot]


class Steps:
    """The steps from a state."""

    def __init__(self, relation: Relation, state: z3terms.State) -> None:
        """Take the terms of the state's variables."""
        self.relation, self.state = relation, state
        self.terms = z3terms.terms(relation, state)
        self._stepped: dict[int, Z3Stepped] = {}
        self._after: dict[int, Steps] = {}

    def step(self, action: Action) -> Z3Stepped:
        """What an action does."""
        known = self._stepped.get(id(action))
        if known is None:
            known = self._stepped[id(action)] = self.terms.action(action)
        return known

    def enabled(self, action: Action) -> z3.BoolRef:
        """Whether an action takes effect."""
        return self.step(action).enabled

    def after(self, action: Action) -> Steps:
        """The steps from the state after an action."""
        known = self._after.get(id(action))
        if known is None:
            then = merged(self.state, self.step(action).after)
            known = self._after[id(action)] = Steps(self.relation, then)
        return known
