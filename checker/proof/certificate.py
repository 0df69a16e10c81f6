"""A certificate: an invariant with all that must be unsatisfiable for it to prove a property.

One file of SMT-LIB that any solver can run. But for the clauses of the invariant, every line of it
is derived from the target it names, and a check derives it anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Final

from attrs import field, frozen

from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.relation import Action, Predicate, Relation
from rackproof.checker.proof import smtlib
from rackproof.checker.proof.formula import Formulas, ordered
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.proof import Proof
from rackproof.checker.proof.smtlib import SmtAlgebra, Term, primed
from rackproof.checker.proof.terms import Terms
from rackproof.model.kernel import System
from rackproof.scenarios.worlds import InputError

FIELDS: Final = ("version", "target", "case", "properties", "open", "scope", "method")
NOTHING: Final = "nothing"
VALUES, INVARIANT, CLAUSE = "|the values|", "|the invariant|", "|clause "
"""Names that no field has: theirs have no space in them before a bracket."""

ASSUMPTION: Final = f"\n; From here on the invariant is assumed\n(assert {INVARIANT})\n"
HOW: Final = """\
; A certificate of rackproof. Every (check-sat) must answer unsat; then no run, of whatever length,
; comes to a state in which a property below is false or in which the model raises an error: the
; invariant holds at the start (1), every transition keeps it (2), it excludes all such states (3).
; Check it against the target itself: rackproof check-certificate FILE"""


def version_here() -> str:
    """The version of rackproof that runs."""
    return version("rackproof")


@frozen
class Query:
    """What must be unsatisfiable: a title in words, and the commands up to ``(check-sat)``.

    about: the action that keeps the invariant, or the instance or action that is never bad; None
    where it is about the start.
    """

    title: str
    text: str
    about: Action | Predicate | None = None
    is_step: bool = False


@frozen
class Certificate:
    """An inductive invariant that proves properties of a target.

    target: as it is given on a command line. case: ``as reported``, ``with the fix``, or, of a
    stack, the name of the exam. properties: their names, lemmas among them. method: how the
    invariant was found. clauses: nodes of the arena of the obligation's relation; all of them hold.
    open: the freedoms for every value of which it is a proof.
    """

    target: str
    case: str
    properties: tuple[str, ...]
    method: str
    obligation: Obligation
    clauses: tuple[Node, ...]
    open: tuple[str, ...] = ()
    version: str = field(factory=version_here)

    @cached_property
    def document(self) -> Document:
        """The certificate as text, in its parts."""
        return Document(self)

    @property
    def words(self) -> tuple[str, ...]:
        """The clauses of the invariant, as a person reads them."""
        formulas = Formulas(self.obligation.relation)
        return tuple(formulas.told(clause) for clause in self.clauses)


def certificate(target: str, case: str, proof: Proof) -> Certificate:
    """The certificate of a proof, its clauses in their order."""
    shown = proof.obligation
    names = tuple(dict.fromkeys(predicate.property.name for predicate in shown.predicates))
    canonical = [_as_read(shown.relation, clause) for clause in proof.clauses]
    clauses = ordered(shown.relation, canonical)
    return Certificate(target, case, names, proof.method, shown, clauses, proof.open)


def _as_read(relation: Relation, clause: Node) -> Node:
    """The clause as whoever reads the file makes it of its text."""
    text = None
    while text != (text := str(stated(relation, clause))):
        clause = smtlib.node(relation, smtlib.expressions(text)[0])
    return clause


def stated(relation: Relation, clause: Node) -> Term:
    """A clause as a term, the same in whatever order it was put together."""
    algebra = SmtAlgebra()
    return Terms(relation, algebra, smtlib.state(relation, algebra)).truth(clause)


def write(item: Certificate, path: Path) -> None:
    """Write a certificate to a file; ``InputError`` where that is not possible."""
    try:
        path.write_text(item.document.text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or 'cannot be written').lower()}") from None


class Document:
    """The text of a certificate: a head, what all queries share, and the queries."""

    def __init__(self, item: Certificate) -> None:
        """Translate the relation; the text is put together when it is asked for."""
        self.item, self.relation = item, item.obligation.relation
        self.symbols = smtlib.symbols(self.relation)
        self.algebra = SmtAlgebra()
        self.state = smtlib.state(self.relation, self.algebra)
        self.terms = Terms(self.relation, self.algebra, self.state)
        self.clauses = [stated(self.relation, clause) for clause in item.clauses]
        self.reads = [sorted(self.relation.arena.slots(clause)) for clause in item.clauses]

    @cached_property
    def text(self) -> str:
        """The whole file."""
        return f"{self.head}{''.join(map(_section, self.script))}(exit)\n"

    @cached_property
    def script(self) -> tuple[str | Query, ...]:
        """What is told to a solver, one part after the other."""
        return (self.shared, self._start(), ASSUMPTION, *self._steps(), *self._implied())

    @cached_property
    def head(self) -> str:
        """What it is a certificate of, and the invariant in words."""
        item = self.item
        told = [f";   {n}. {_line(clause)}" for n, clause in enumerate(item.words, 1)]
        fields = {
            "version": item.version,
            "target": item.target,
            "case": item.case,
            "properties": ", ".join(item.properties),
            "open": ", ".join(item.open) or NOTHING,
            "scope": scope(self.relation.system),
            "method": item.method,
        }
        infos = [f"(set-info :rackproof-{key} {_string(value)})" for key, value in fields.items()]
        lines = [HOW, ";", "; The invariant: every field has a value it can take, and", *told]
        return "\n".join([*lines, "", "(set-info :smt-lib-version 2.6)", *infos, ""])

    @cached_property
    def shared(self) -> str:
        """The fields, the values they take, and the clauses."""
        lines = [f"(set-logic {_logic(self.relation)})", "", "; The fields of a state"]
        lines += self._declarations()
        taken = [*self._values(self.state.numbers), *smtlib.rigid(self.terms)]
        values = self.algebra.and_(taken)
        lines.append(smtlib.definition(VALUES, "", "Bool", values))
        lines += ["", "; The clauses of the invariant"]
        for number, (term, reads) in enumerate(zip(self.clauses, self.reads, strict=True), 1):
            takes = " ".join(f"({self.symbols[s]} {self._sort(s)})" for s in reads)
            lines.append(smtlib.definition(f"{CLAUSE}{number}|", takes, "Bool", term))
        parts = [self._clause(n, frozenset()) for n in range(len(self.clauses))]
        whole = self.algebra.and_([self.algebra.make(VALUES), *parts])
        lines.append(smtlib.definition(INVARIANT, "", "Bool", whole))
        return "\n".join([*lines, ""])

    def touched(self, slots: Iterable[int]) -> list[int]:
        """The indices of the clauses that read one of some slots."""
        changed = set(slots)
        return [n for n, reads in enumerate(self.reads) if changed.intersection(reads)]

    def _start(self) -> Query:
        refuted = self.algebra.not_(self.algebra.make(INVARIANT))
        text = _asserted(*smtlib.initial(self.terms), refuted)
        return Query("1. The invariant holds at the start", text)

    def _steps(self) -> Iterator[Query]:
        for number, action in enumerate(self.relation.actions, 1):
            words = _line(action.firing.words(self.relation.system))
            title = f"2.{number} It is kept by {action.firing.transition.name}: {words}"
            yield Query(title, self._step(action), action, is_step=True)

    def _step(self, action: Action) -> str:
        stepped = self.terms.action(action)
        after = {**stepped.after.numbers, **stepped.after.truths}
        lines, (enabled, *news) = smtlib.shared(
            [stepped.enabled, *after.values()], smtlib.is_boolean
        )
        for slot, new in zip(after, news, strict=True):
            name = primed(self.symbols[slot])
            lines.append(smtlib.definition(name, "", self._sort(slot), new))
        kept = [self._clause(n, after.keys()) for n in self.touched(after)]
        new_numbers = {s: self.algebra.make(primed(self.symbols[s])) for s in stepped.after.numbers}
        lost = self.algebra.not_(self.algebra.and_([*self._values(new_numbers), *kept]))
        return _commands(lines) + _asserted(enabled, lost)

    def _implied(self) -> Iterator[Query]:
        shown = self.item.obligation
        about_each: list[Predicate | Action] = [*shown.predicates, *self.relation.actions]
        ways = zip(about_each, shown.bads(self.terms), strict=True)
        possible = [(about, bad) for about, bad in ways if bad is not self.algebra.false]
        for number, (about, bad) in enumerate(possible, 1):
            lines, (told,) = smtlib.shared([bad], smtlib.is_boolean)
            text = _commands(lines) + _asserted(told)
            yield Query(f"3.{number} {_never(self.relation, about)}", text, about)

    def _clause(self, number: int, changed: Iterable[int]) -> Term:
        """A clause of the state, with the new values of fields that are changed."""
        new = set(changed)
        names = {slot: self.symbols[slot] for slot in self.reads[number]}
        operands = [self.algebra.make(primed(n) if s in new else n) for s, n in names.items()]
        return self.algebra.make(f"{CLAUSE}{number + 1}|", *operands)

    def _values(self, numbers: Mapping[int, Term]) -> Iterator[Term]:
        for variable in self.relation.variables:
            if variable.slot in numbers:
                yield from smtlib.bounds(self.algebra, variable, numbers[variable.slot])

    def _declarations(self) -> Iterator[str]:
        formulas = Formulas(self.relation)
        for slot, name in self.symbols.items():
            values = formulas.values.get(slot, ())
            told = [f"{v} {formulas.value(slot, v)}" for v in values]
            is_plain = self._sort(slot) == "Bool" or all(t.split()[0] == t.split()[1] for t in told)
            comment = "" if is_plain else f" ; {_line(', '.join(told))}"
            yield f"(declare-const {name} {self._sort(slot)}){comment}"

    def _sort(self, slot: int) -> str:
        return smtlib.sort(self.relation, slot)


def scope(system: System) -> str:
    """How many there are of what, and the sizes that bounds name."""
    counts = {sort.name: count for sort, count in system.schema.counts.items()}
    return ", ".join(f"{name} {number}" for name, number in {**counts, **system.sizes}.items())


def _section(part: str | Query) -> str:
    if isinstance(part, str):
        return part
    asked = f"{part.text}(set-info :status unsat)\n(check-sat)"
    return f"\n; {part.title}\n(push 1)\n{asked}\n(pop 1)\n"


def _never(relation: Relation, about: Action | Predicate) -> str:
    if isinstance(about, Action):
        return f"It excludes that this raises an error: {about.firing.transition.name}"
    prop, system = about.property, relation.system
    pairs = zip(prop.parameters, about.arguments, strict=True)
    names = ", ".join(system.label(sort, index) for (_, sort), index in pairs)
    return _line(f"It excludes that {prop.name} is false{f' of {names}' if names else ''}")


def _logic(relation: Relation) -> str:
    """Linear arithmetic, but where two numbers that vary are multiplied."""
    arena = relation.arena
    products = (
        all(arena.value(operand) is None for operand in operands)
        for _, op, operands in arena.nodes()
        if op is Op.MUL
    )
    return "QF_NIA" if any(products) else "QF_LIA"


def _asserted(*terms: Term) -> str:
    return "".join(f"{smtlib.command('assert', term)}\n" for term in terms)


def _commands(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _line(text: str) -> str:
    """A text on one line, so that a comment with it ends where it should."""
    return " ".join(text.split())


def _string(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
