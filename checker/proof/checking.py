"""Checking a certificate: every query put to two solvers, and a refutation told field by field."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from rackproof.checker.lowering.relation import Action, Relation, Update
from rackproof.checker.proof import reading, smtlib, solvers
from rackproof.checker.proof.certificate import Certificate, Query
from rackproof.checker.proof.formula import Formulas, state_in_words
from rackproof.checker.proof.solvers import SAT, UNKNOWN, UNSAT, Solver, SolverError, left
from rackproof.checker.proof.terms import limits
from rackproof.checker.status import Status
from rackproof.checker.trace import EngineError
from rackproof.scenarios.worlds import InputError


@frozen
class Refutation:
    """Why an invariant proves nothing: a state that it allows and should not, or does not keep.

    query: the title of the query that was answered. clauses: those that are false, in words.
    before, after: the fields that the query speaks of, as plain values; after a transition only.
    No run need come to such a state: it shows that the invariant is not inductive, nothing else.
    """

    query: str
    clauses: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str] | None = None

    @property
    def lines(self) -> list[str]:
        """The refutation in words."""
        what = [f"false {'afterwards' if self.after else 'there'}: {c}" for c in self.clauses]
        after = self.after or {}
        return [
            f"does not follow: {self.query}",
            *what,
            "in the state (no run need come to it): "
            + ", ".join(f"{k} {v}" for k, v in self.before.items()),
            *(
                f"{name}: {self.before.get(name)} -> {value}"
                for name, value in after.items()
                if self.before.get(name) != value
            ),
        ]


@frozen
class Answer:
    """What a solver said: unsat to every query, or the first other answer and to which query."""

    solver: str
    version: str
    said: str
    queries: int
    seconds: float
    query: str | None = None
    refutation: Refutation | None = None


@frozen
class Checked:
    """How a check went.

    status: OK where every solver that was asked answered unsat to every query of a certificate
    that is its target's. problem: why the file is no certificate of its target, or what could not
    be looked at.
    """

    status: Status
    answers: tuple[Answer, ...] = ()
    problem: str | None = None
    certificate: Certificate | None = None


def check(
    item: Certificate, seconds: float | None = None, names: Sequence[str] = solvers.NAMES
) -> Checked:
    """Put the queries of a certificate to solvers, each with so many seconds for all of them."""
    answers = tuple(_asked(item, name, seconds) for name in names)
    return Checked(_status(answers), answers, certificate=item)


def check_file(
    path: Path, seconds: float | None = None, names: Sequence[str] = solvers.NAMES
) -> Checked:
    """Check a file against the target it names.

    ``InputError`` where it is no certificate or its target cannot be loaded. Where the target is
    not here, the queries are asked as they stand, and the outcome is at best inconclusive.
    """
    file = reading.read(path)
    try:
        item = reading.derived(file)
    except reading.Mismatch as mismatch:
        return Checked(Status.VIOLATED, problem=str(mismatch))
    except reading.NotHere as missing:
        return _alone(file, str(missing), seconds, names)
    return check(item, seconds, names)


def _status(answers: Sequence[Answer]) -> Status:
    if any(answer.said == SAT for answer in answers):
        return Status.VIOLATED
    every = all(answer.said == UNSAT for answer in answers)
    return Status.OK if every and answers else Status.INCONCLUSIVE


def _asked(item: Certificate, name: str, seconds: float | None) -> Answer:
    started, document = time.monotonic(), item.document
    deadline = None if seconds is None else started + seconds
    solver = solvers.started(name)
    said, query, refutation, number = UNSAT, None, None, 0
    for asked in document.script:
        if isinstance(asked, str):
            solver.run(asked)
            continue
        number, said = number + 1, _put(solver, asked, deadline)
        if said != UNSAT:
            query = asked.title
            refutation = _refuted(item, asked, solver) if said == SAT else None
            break
        solver.run("(pop 1)")
    spent = time.monotonic() - started
    return Answer(name, solvers.version(name), said, number, spent, query, refutation)


def _put(solver: Solver, query: Query, deadline: float | None) -> str:
    seconds = left(deadline)
    if seconds == 0:
        return UNKNOWN
    solver.run(f"(push 1)\n{query.text}")
    return solver.check(seconds)


# What a model of a query means.


def _refuted(item: Certificate, query: Query, solver: Solver) -> Refutation:
    """The state in which a query is satisfied, told by the relation's own evaluation."""
    relation = item.obligation.relation
    before = _state(item, solver)
    after = None
    if query.is_step:
        assert isinstance(query.about, Action)
        after = _after(relation, query.about, before)
    lost = tuple(_lost(item, after or before)) if query.about is None or query.is_step else ()
    if query.is_step and not lost:
        raise EngineError(f"a solver refutes {query.title}, and the relation does not agree")
    words = dict(state_in_words(relation, before))
    return Refutation(
        query.title, lost, words, dict(state_in_words(relation, after)) if after else None
    )


def _state(item: Certificate, solver: Solver) -> dict[int, int]:
    """The ordinals of the variables in the model that a solver has found."""
    names = item.document.symbols
    if not names:
        return {}
    said = smtlib.expressions(solver.run(f"(get-value ({' '.join(names.values())}))"))
    pairs = said[0].parts or ()
    values = {pair.parts[0].text: _number(pair.parts[1]) for pair in pairs if pair.parts}
    return {slot: values[_bare(name, values)] for slot, name in names.items()}


def _bare(name: str, values: Mapping[str, int]) -> str:
    """A solver leaves out the bars where a symbol needs none."""
    return name if name in values else name.strip("|")


def _number(value: smtlib.Expression) -> int:
    if value.parts is not None:
        return -int(value.parts[1].text)
    return int(value.text) if value.text.isdigit() else int(value.text == "true")


def _after(relation: Relation, action: Action, before: Mapping[int, int]) -> dict[int, int]:
    ordinals = _ordinals(relation, before)
    leaf = relation.leaf(action.tree, ordinals)
    writes = leaf.writes if isinstance(leaf, Update) else ()
    return {**before, **{slot: relation.value(node, ordinals) for slot, node in writes}}


def _lost(item: Certificate, state: Mapping[int, int]) -> Iterator[str]:
    """What the invariant asks and a state does not give, in words."""
    relation = item.obligation.relation
    ordinals = _ordinals(relation, state)
    formulas = Formulas(relation)
    for variable in relation.variables:
        low, high = limits(variable)
        value, label = state[variable.slot], formulas.slots[variable.slot].label
        if low is not None and value < low:
            yield f"{label} >= {low}"
        if high is not None and value > high:
            yield f"{label} <= {high}"
    for clause in item.clauses:
        if not relation.value(clause, ordinals):
            yield formulas.told(clause)


def _ordinals(relation: Relation, state: Mapping[int, int]) -> list[int]:
    return [state.get(slot, ordinal) for slot, ordinal in enumerate(relation.initial)]


# A file whose target is not here.


def _alone(file: reading.File, why: str, seconds: float | None, names: Sequence[str]) -> Checked:
    answers = tuple(_as_it_stands(file, name, seconds) for name in names)
    status = Status.VIOLATED if any(a.said == SAT for a in answers) else Status.INCONCLUSIVE
    told = f"{why}; what the file itself states was checked, not the model"
    return Checked(status, answers, told)


def _as_it_stands(file: reading.File, name: str, seconds: float | None) -> Answer:
    started = time.monotonic()
    deadline = None if seconds is None else started + seconds
    solver, said, asked, query = solvers.started(name), UNKNOWN, 0, None
    for command in file.commands:
        _check_command(file, command)
        try:
            if command.head == "check-sat":
                asked, query = asked + 1, f"the query of line {command.line}"
                said = UNKNOWN if left(deadline) == 0 else solver.check(left(deadline))
            elif command.head != "set-info":
                solver.run(_text(command))
        except SolverError as error:
            raise InputError(f"{file.path}:{command.line}: {error}") from None
        if asked and said != UNSAT:
            break
    spent = time.monotonic() - started
    return Answer(name, solvers.version(name), said, asked, spent, None if said == UNSAT else query)


HARMLESS: Final = (
    *("set-info", "set-logic", "declare-const", "define-fun", "assert", "push", "pop"),
    *("check-sat", "exit"),
)
"""The commands of a certificate; others may write files, or take for ever."""


def _check_command(file: reading.File, command: smtlib.Expression) -> None:
    parts = command.parts or ()
    steps = [part.text for part in parts[1:]] if command.head in ("push", "pop") else ["1"]
    if command.head not in HARMLESS or steps != ["1"]:
        raise InputError(
            f"{file.path}:{command.line}: ({command.head} ...) is no command of a certificate"
        )


def _text(expression: smtlib.Expression) -> str:
    if expression.parts is None:
        return expression.text
    return f"({' '.join(map(_text, expression.parts))})"
