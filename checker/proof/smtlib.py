"""Terms of SMT-LIB 2 (Barrett, Fontaine, Tinelli: The SMT-LIB Standard, version 2.6) as text.

Equal terms are one object, so that what is used twice can be written once, under a name.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.relation import Relation, Variable
from rackproof.checker.proof.terms import Algebra, Terms, Vector, is_truth, limits

WIDTH: Final = 100
SMALL: Final = 40
"""Terms of up to so many symbols are put in the order of their texts."""

INDENT: Final = "  "


@frozen(eq=False, slots=False)
class Term:
    """A symbol or numeral (without operands), or an operation."""

    head: str
    operands: tuple[Term, ...] = ()

    @cached_property
    def size(self) -> int:
        """How many symbols and operations it has when it is written out."""
        return 1 + sum(operand.size for operand in self.operands)

    @cached_property
    def key(self) -> tuple[bool, int, str]:
        """Where it belongs among others, whatever way it was put together: numbers come last, and
        what is large after what is small.
        """
        small = self.size <= SMALL
        return _is_number(self), self.size, str(self) if small else self._digest

    @cached_property
    def _digest(self) -> str:
        parts = (self.head, *(operand._digest for operand in self.operands))
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()

    @property
    def is_atom(self) -> bool:
        """Whether it is so short that no name for it would be shorter."""
        return not self.operands or (self.head in ("not", "-") and self.operands[0].is_atom)

    def __str__(self) -> str:
        if not self.operands:
            return self.head
        return f"({self.head} {' '.join(map(str, self.operands))})"


State = Vector[Term, Term]
SmtTerms = Terms[Term, Term]


class SmtAlgebra:
    """Operations of SMT-LIB over integers; what is plainly true or false is not written.

    The operands of what commutes are in an order of their own, so that a formula reads the same in
    whatever order it was put together.
    """

    def __init__(self) -> None:
        """Start with no term."""
        self._terms: dict[tuple[str, tuple[Term, ...]], Term] = {}
        self.true, self.false = self.make("true"), self.make("false")

    def make(self, head: str, *operands: Term) -> Term:
        """The one term that has this head and these operands."""
        key = head, operands
        return self._terms.get(key) or self._terms.setdefault(key, Term(head, operands))

    def constant(self, value: int) -> Term:
        return self.make("-", self.make(str(-value))) if value < 0 else self.make(str(value))

    def add(self, a: Term, b: Term) -> Term:
        return self.make("+", *_sorted((a, b)))

    def sub(self, a: Term, b: Term) -> Term:
        return self.make("-", a, b)

    def mul(self, a: Term, b: Term) -> Term:
        return self.make("*", *_sorted((a, b)))

    def eq(self, a: Term, b: Term) -> Term:
        return self.true if a is b else self.make("=", *_sorted((a, b)))

    def lt(self, a: Term, b: Term) -> Term:
        return self.make("<", a, b)

    def le(self, a: Term, b: Term) -> Term:
        return self.make("<=", a, b)

    def truth(self, value: bool) -> Term:
        return self.true if value else self.false

    def not_(self, a: Term) -> Term:
        if a in (self.true, self.false):
            return self.truth(a is self.false)
        return a.operands[0] if a.head == "not" else self.make("not", a)

    def and_(self, parts: Iterable[Term]) -> Term:
        return self._join("and", "or", parts, self.true, self.false)

    def or_(self, parts: Iterable[Term]) -> Term:
        return self._join("or", "and", parts, self.false, self.true)

    def choose(self, condition: Term, yes: Term, no: Term) -> Term:
        if yes is no:
            return yes
        if condition in (self.true, self.false):
            return yes if condition is self.true else no
        return self.make("ite", condition, yes, no)

    def _join(
        self, head: str, other: str, parts: Iterable[Term], neutral: Term, absorbing: Term
    ) -> Term:
        found = self._flat(head, parts, neutral)
        opposites = {self.not_(part) for part in found}
        for part in [part for part in found if part.head == other]:  # a or (not a and b): a or b
            left = [operand for operand in part.operands if operand not in opposites]
            if len(left) < len(part.operands):
                del found[part]
                rest = left[0] if len(left) == 1 else self.make(other, *left)
                found.update(self._flat(head, [rest] if left else [absorbing], neutral))
        if absorbing in found or any(self.not_(part) in found for part in found):
            return absorbing
        if len(found) < 2:
            return next(iter(found), neutral)
        return self.make(head, *_sorted(found))

    def _flat(self, head: str, parts: Iterable[Term], neutral: Term) -> dict[Term, None]:
        flat = (p for part in parts for p in (part.operands if part.head == head else (part,)))
        return {part: None for part in flat if part is not neutral}


def _sorted(operands: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(sorted(operands, key=lambda term: term.key))


def _is_number(term: Term) -> bool:
    return term.is_atom and str(term).strip("(- )").isdigit()


# A state.


def symbols(relation: Relation) -> dict[int, str]:
    """The symbol of each variable: its field's label in bars, what these cannot hold encoded as in
    a URL; with the number of its slot where two fields have one label.
    """
    slots = relation.system.schema.slots
    count = Counter(slot.label for slot in slots)
    found = {}
    for variable in relation.variables:
        label = slots[variable.slot].label
        unique = label if count[label] == 1 else f"{label}#{variable.slot}"
        found[variable.slot] = quoted(unique)
    return found


_UNQUOTABLE: Final = re.compile(r"[^ -$&-[\]-{}~]")
"""What is not printable ASCII, and the bar, the backslash and the percent sign."""


def quoted(label: str) -> str:
    """A text as a symbol."""
    return f"|{_UNQUOTABLE.sub(_encoded, label)}|"


def _encoded(character: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in character[0].encode(errors="surrogatepass"))


def primed(symbol: str) -> str:
    """The symbol of a field as it is after a transition."""
    return f"{symbol[:-1]}'|"


def state(relation: Relation, algebra: SmtAlgebra) -> State:
    """The term of each variable: its symbol."""
    terms = {slot: algebra.make(name) for slot, name in symbols(relation).items()}
    truths = {slot for slot in terms if is_truth(relation, slot)}
    return Vector(
        {slot: term for slot, term in terms.items() if slot not in truths},
        {slot: term for slot, term in terms.items() if slot in truths},
    )


def sort(relation: Relation, slot: int) -> str:
    """The sort of a variable."""
    return "Bool" if is_truth(relation, slot) else "Int"


def bounds(algebra: Algebra[Term, Term], variable: Variable, number: Term) -> Iterator[Term]:
    """That a number is one which the variable can take; nothing on a side without bound."""
    low, high = limits(variable)
    if low is not None:
        yield algebra.le(algebra.constant(low), number)
    if high is not None:
        yield algebra.le(number, algebra.constant(high))


def initial(terms: SmtTerms) -> Iterator[Term]:
    """That a state is the first one, or one of the first where the system leaves anything open."""
    algebra, relation = terms.algebra, terms.relation
    first, slots = relation.initial, relation.system.schema.slots
    for variable in relation.variables:
        number = terms.state.numbers.get(variable.slot)
        if number is not None and slots[variable.slot].free:
            yield from bounds(algebra, variable, number)
        elif number is not None:
            yield algebra.eq(number, algebra.constant(first[variable.slot]))
    for slot, truth in terms.state.truths.items():
        yield truth if first[slot] else algebra.not_(truth)
    for node in relation.given_of({*terms.state.numbers, *terms.state.truths}):
        yield terms.truth(node)


def rigid(terms: SmtTerms) -> Iterator[Term]:
    """What is given of parameters alone, which is true in every state."""
    slots = terms.relation.system.schema.slots
    parameters = [slot for slot in terms.state.numbers if slots[slot].rigid]
    for node in terms.relation.given_of(parameters):
        yield terms.truth(node)


# Text.


def written(term: Term, depth: int = 0) -> str:
    """A term on one line if it fits, else an operand a line."""
    text, margin = str(term), INDENT * depth
    if len(margin + text) <= WIDTH or not term.operands:
        return margin + text
    inner = "\n".join(written(operand, depth + 1) for operand in term.operands)
    return f"{margin}({term.head}\n{inner})"


def command(head: str, body: Term) -> str:
    """A command that ends with a term."""
    text = f"({head} {body})"
    return text if len(text) <= WIDTH else f"({head}\n{written(body, 1)})"


def definition(name: str, parameters: str, sort_: str, body: Term) -> str:
    """A command that gives a term a name."""
    return command(f"define-fun {name} ({parameters}) {sort_}", body)


def shared(
    roots: Sequence[Term], is_boolean: Callable[[Term], bool]
) -> tuple[list[str], list[Term]]:
    """Definitions of what is used more than once in some terms, and the terms with these names."""
    uses = Counter[Term]()
    order: list[Term] = []
    for root in roots:
        _count(root, uses, order)
    names: dict[Term, Term] = {}
    done: dict[Term, Term] = {}
    lines = []
    for term in order:  # operands first
        body = Term(term.head, tuple(done.get(o, o) for o in term.operands))
        if uses[term] > 1 and not term.is_atom:
            names[term] = done[term] = Term(f"?{len(names) + 1}")
            lines.append(
                definition(names[term].head, "", "Bool" if is_boolean(term) else "Int", body)
            )
        else:
            done[term] = body if term.operands else term
    return lines, [done[root] for root in roots]


def _count(root: Term, uses: Counter[Term], order: list[Term]) -> None:
    """Count how often each subterm is an operand, and list each after its operands."""
    pending = [(root, False)]
    while pending:
        term, is_done = pending.pop()
        if is_done:
            order.append(term)
            continue
        uses[term] += 1
        if uses[term] == 1:
            pending.append((term, True))
            pending += ((operand, False) for operand in reversed(term.operands))


_BOOLEAN: Final = frozenset(("true", "false", "not", "and", "or", "=", "<", "<="))


def is_boolean(term: Term) -> bool:
    """Whether an operation gives a truth value."""
    return term.head in _BOOLEAN


# Reading.


class SyntaxProblem(Exception):
    """Text that is not SMT-LIB, or not of the kind that is expected; with the line."""

    def __init__(self, line: int, what: str) -> None:
        """Take the line (from 1) and what is wrong there."""
        super().__init__(what)
        self.line, self.what = line, what


@frozen
class Expression:
    """A symbol, numeral or string (text), or a list (parts), with the line on which it begins."""

    line: int
    text: str = ""
    parts: tuple[Expression, ...] | None = None

    @property
    def head(self) -> str:
        """The text, of a list that of its first part."""
        if self.parts is None:
            return self.text
        return self.parts[0].head if self.parts else ""


_TOKEN: Final = re.compile(r';[^\n]*|\|[^|\\]*\||"(?:[^"]|"")*"|[()]|[^\s()|";]+|\s+')


DEEPEST: Final = 200
"""Brackets in each other; what is written here has far fewer."""
LONGEST_NUMBER: Final = 40
"""Digits of a number."""


def expressions(text: str) -> list[Expression]:
    """The expressions of a text; ``SyntaxProblem`` where there are none such."""
    open_: list[tuple[int, list[Expression]]] = [(1, [])]
    line, at = 1, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise SyntaxProblem(line, f"{text[at]} is opened and never closed")
        token = match[0]
        if token == "(":
            open_.append((line, []))
            if len(open_) > DEEPEST:
                raise SyntaxProblem(line, f"there are more than {DEEPEST} brackets in each other")
        elif token == ")":
            if len(open_) == 1:
                raise SyntaxProblem(line, ") closes nothing")
            start, parts = open_.pop()
            open_[-1][1].append(Expression(start, parts=tuple(parts)))
        elif not token.isspace() and token[0] != ";":
            open_[-1][1].append(Expression(line, token))
        line, at = line + token.count("\n"), match.end()
    if len(open_) > 1:
        raise SyntaxProblem(open_[-1][0], "( is opened and never closed")
    return open_[0][1]


_OPERATIONS: Final[Mapping[str, Op]] = {
    "+": Op.ADD,
    "-": Op.SUB,
    "*": Op.MUL,
    "=": Op.EQ,
    "<": Op.LT,
    "<=": Op.LE,
    "not": Op.NOT,
    "and": Op.AND,
    "or": Op.OR,
}


def node(relation: Relation, expression: Expression) -> Node:
    """The arena's node that an expression over the fields states; ``SyntaxProblem`` where none."""
    slots = {name: slot for slot, name in symbols(relation).items()}
    return _node(relation, expression, slots)


def _node(relation: Relation, expression: Expression, slots: Mapping[str, int]) -> Node:
    arena, parts = relation.arena, expression.parts
    if parts is None:
        return _leaf(relation, expression, slots)
    op = _OPERATIONS.get(expression.head)
    if expression.head == "ite" and [part.text for part in parts[2:]] == ["1", "0"]:
        return _node(relation, parts[1], slots)  # a truth value as a number
    if op is None or len(parts) < 2:
        raise SyntaxProblem(expression.line, f"({expression.head} ...) is no part of a clause")
    operands = [_node(relation, part, slots) for part in parts[1:]]
    if op is Op.NOT or (op is Op.SUB and len(operands) == 1):
        first = operands[0]
        return arena.not_(first) if op is Op.NOT else arena.sub(arena.const(0), first)
    result = operands[0]
    for operand in operands[1:]:
        result = arena.apply(op, (result, operand))
    return result


def _leaf(relation: Relation, expression: Expression, slots: Mapping[str, int]) -> Node:
    arena, text = relation.arena, expression.text
    if text in ("true", "false"):
        return arena.const(int(text == "true"))
    if text.isascii() and text.isdigit():
        if len(text) > LONGEST_NUMBER:
            raise SyntaxProblem(expression.line, f"a number of {len(text)} digits")
        return arena.const(int(text))
    if text not in slots:
        raise SyntaxProblem(expression.line, f"there is no field {text}")
    return arena.var(slots[text])
