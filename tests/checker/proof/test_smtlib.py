"""SMT-LIB text means what the terms of z3 mean, and is read back as it was written."""

from __future__ import annotations

import pytest
import worlds
import z3
from attrs import evolve
from random_worlds import random_world

from rackproof.checker.lowering import Relation, lower
from rackproof.checker.proof import smtlib, z3terms
from rackproof.checker.proof.certificate import stated
from rackproof.checker.proof.smtlib import SmtAlgebra, SyntaxProblem, Term
from rackproof.checker.proof.terms import Terms
from rackproof.model.kernel import System


@pytest.mark.parametrize("seed", range(12))
def test_of_random_worlds(seed: int) -> None:
    agree(lower(random_world(seed)))


@pytest.mark.parametrize("name", ["lease", "pool-2-1", "ring-3", "stream-3-restart"])
def test_of_small_worlds(name: str) -> None:
    agree(lower(worlds.WORLDS[name][0]()))


def agree(relation: Relation) -> None:
    """Every action and predicate, as text and as terms of z3, is the same function."""
    algebra = SmtAlgebra()
    text = Terms(relation, algebra, smtlib.state(relation, algebra))
    known = z3terms.terms(relation, z3terms.state(relation))
    pairs = [(text.holds(p), known.holds(p)) for p in relation.predicates]
    for action in relation.actions:
        said, meant = text.action(action), known.action(action)
        pairs += [(said.enabled, meant.enabled), (said.raises, meant.raises)]
        pairs += [(said.after.numbers[s], n) for s, n in meant.after.numbers.items()]
        pairs += [(said.after.truths[s], t) for s, t in meant.after.truths.items()]
    solver = z3.Solver()
    solver.add(z3terms.within(relation, known.state))
    solver.add(z3.Or([parsed(relation, said) != meant for said, meant in pairs]))
    assert solver.check() == z3.unsat


def parsed(relation: Relation, term: Term) -> z3.ExprRef:
    """What z3 makes of a term's text, by way of its definitions."""
    names = smtlib.symbols(relation)
    declared = "".join(
        f"(declare-const {name} {smtlib.sort(relation, slot)})" for slot, name in names.items()
    )
    lines, (body,) = smtlib.shared([term], smtlib.is_boolean)
    is_truth = smtlib.is_boolean(term) or term.head in {
        name for slot, name in names.items() if smtlib.sort(relation, slot) == "Bool"
    }
    zero = "false" if is_truth else "0"
    said = f"{declared}{''.join(lines)}(assert (= {smtlib.written(body)} {zero}))"
    equation = z3.parse_smt2_string(said)[0]
    if is_truth:
        return z3.Not(equation)
    return equation.arg(0)


@pytest.mark.parametrize("seed", range(15))
def test_clauses_are_read_as_they_were_written(seed: int) -> None:
    system = random_world(seed)
    relation = lower(system)
    for predicate in relation.predicates:
        for node in conditions(predicate.tree):
            text = str(stated(relation, node))
            again = smtlib.node(relation, smtlib.expressions(text)[0])
            once = str(stated(relation, again))
            assert once == str(stated(relation, smtlib.node(relation, smtlib.expressions(once)[0])))
            same(relation, node, again)


def conditions(tree: object) -> set[int]:
    found: set[int] = set()
    pending = [tree]
    while pending:
        item = pending.pop()
        if hasattr(item, "condition"):
            found.add(item.condition)
            pending += [item.yes, item.no]
        elif hasattr(item, "value"):
            found.add(item.value)
    return found


def same(relation: Relation, one: int, other: int) -> None:
    terms = z3terms.terms(relation, z3terms.state(relation))
    solver = z3.Solver()
    solver.add(z3terms.within(relation, terms.state))
    solver.add(terms.truth(one) != terms.truth(other))
    assert solver.check() == z3.unsat


def test_what_is_put_together_in_another_order_reads_the_same() -> None:
    relation = lower(worlds.pool(2, 1, 1))
    arena = relation.arena
    a, b, c = (arena.eq(arena.var(v.slot), arena.const(0)) for v in relation.variables[:3])
    one = arena.or_(arena.not_(a), arena.or_(b, c))
    other = arena.or_(arena.or_(c, arena.not_(a)), b)
    assert str(stated(relation, one)) == str(stated(relation, other))


@pytest.mark.parametrize(
    ("label", "symbol"),
    [
        ("streams[request-0].sent", "|streams[request-0].sent|"),
        ("of[a|b]", "|of[a%7Cb]|"),
        ("of[a\\b\n]", "|of[a%5Cb%0A]|"),
        ("of[50%]", "|of[50%25]|"),
        ("of[é]", "|of[%C3%A9]|"),
    ],
)
def test_any_label_is_a_symbol(label: str, symbol: str) -> None:
    assert smtlib.quoted(label) == symbol


def test_names_of_identifiers_may_be_alike() -> None:
    system = worlds.pool(2, 1, 1)
    twins = evolve(system, names={worlds.Workers: ("w|", "w\\")})
    assert isinstance(twins, System)
    names = list(smtlib.symbols(lower(twins)).values())
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("(a\n(b)", 1, "( is opened and never closed"),
        ("(a)\n)", 2, ") closes nothing"),
        ("(a)\n(b |c", 2, "| is opened and never closed"),
        ('(a)\n\n(b "c)', 3, '" is opened and never closed'),
    ],
)
def test_what_is_no_text_of_smtlib(text: str, line: int, what: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        smtlib.expressions(text)
    assert (caught.value.line, caught.value.what) == (line, what)
