"""Terms of z3: integers for numbers, so that they may be without bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import z3

from rackproof.checker.lowering.relation import Relation, Variable
from rackproof.checker.proof.smtlib import symbols
from rackproof.checker.proof.terms import Terms, Vector, is_truth

State = Vector[z3.ArithRef, z3.BoolRef]
Z3Terms = Terms[z3.ArithRef, z3.BoolRef]


class Z3Algebra:
    """Operations of z3."""

    def constant(self, value: int) -> z3.ArithRef:
        return z3.IntVal(value)

    def add(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        return a + b

    def sub(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        return a - b

    def mul(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        return a * b

    def eq(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
        return a == b

    def lt(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
        return a < b

    def le(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
        return a <= b

    def truth(self, value: bool) -> z3.BoolRef:
        return z3.BoolVal(value)

    def not_(self, a: z3.BoolRef) -> z3.BoolRef:
        return z3.Not(a)

    def and_(self, parts: Iterable[z3.BoolRef]) -> z3.BoolRef:
        return z3.And(*parts)

    def or_(self, parts: Iterable[z3.BoolRef]) -> z3.BoolRef:
        return z3.Or(*parts)

    def choose(self, condition: z3.BoolRef, yes: z3.ArithRef, no: z3.ArithRef) -> z3.ArithRef:
        return z3.If(condition, yes, no)


def state(relation: Relation, suffix: str = "") -> State:
    """A constant of z3 for each variable, named after its field."""
    names = symbols(relation)
    numbers, truths = {}, {}
    for variable in relation.variables:
        name = names[variable.slot].strip("|") + suffix
        if is_truth(relation, variable.slot):
            truths[variable.slot] = z3.Bool(name)
        else:
            numbers[variable.slot] = z3.Int(name)
    return Vector(numbers, truths)


def terms(relation: Relation, given: State) -> Z3Terms:
    """The trees of a relation over a state."""
    return Terms(relation, Z3Algebra(), given)


def within(relation: Relation, given: State) -> list[z3.BoolRef]:
    """Every variable has a value that it can take."""
    found = []
    for variable in relation.variables:
        if variable.slot in given.numbers:
            found += _bounds(given.numbers[variable.slot], variable)
    return found


def _bounds(number: z3.ArithRef, variable: Variable) -> list[z3.BoolRef]:
    least = variable.low <= number
    return [least] if variable.end is None else [least, number <= variable.end]


def initial(relation: Relation, given: State) -> list[z3.BoolRef]:
    """The state is the first one, or one of the first where the system leaves anything open."""
    first, slots = relation.initial, relation.system.schema.slots
    numbers = [n == first[slot] for slot, n in given.numbers.items() if not slots[slot].free]
    truths = [truth == bool(first[slot]) for slot, truth in given.truths.items()]
    said = terms(relation, given)
    known = relation.given_of({*given.numbers, *given.truths})
    return numbers + truths + [said.truth(node) for node in known]


def rigid(relation: Relation, given: State) -> list[z3.BoolRef]:
    """What is given of parameters alone, which is true in every state."""
    said, slots = terms(relation, given), relation.system.schema.slots
    parameters = [slot for slot in given.numbers if slots[slot].rigid]
    return [said.truth(node) for node in relation.given_of(parameters)]


def becomes(before: State, after: State, changed: State) -> list[z3.BoolRef]:
    """What was changed has its new value after, and the rest has what it had."""
    truths = [after.truths[s] == changed.truths.get(s, t) for s, t in before.truths.items()]
    numbers = [after.numbers[s] == changed.numbers.get(s, n) for s, n in before.numbers.items()]
    return truths + numbers


def values(model: z3.ModelRef, given: State) -> Mapping[int, int]:
    """The ordinals that a model gives the variables of a state."""
    numbers = {s: model.eval(n, True).as_long() for s, n in given.numbers.items()}
    truths = {s: int(z3.is_true(model.eval(t, True))) for s, t in given.truths.items()}
    return {**numbers, **truths}
