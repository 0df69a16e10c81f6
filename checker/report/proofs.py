"""Proofs in words: of what, found how, confirmed by whom; and the invariant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rackproof.checker.proof.formula import Formulas, ordered
from rackproof.checker.proof.proof import Proof
from rackproof.checker.verdicts import Verdict, counted
from rackproof.checker.verify import Run
from rackproof.scenarios.quantities import in_words


def proofs(run: Run) -> list[tuple[Proof, list[str]]]:
    """The proofs of a run, each with the properties that it shows and that say something."""
    found: dict[int, tuple[Proof, list[str]]] = {}
    for result in run.results:
        if result.verdict is Verdict.PROVED and result.proof is not None and result.judged:
            found.setdefault(id(result.proof), (result.proof, []))[1].append(result.prop.name)
    return list(found.values())


def lines(run: Run, in_full: bool, saved: Mapping[int, Path]) -> Iterator[str]:
    """What is told of the proofs of a run; in full: with the invariants."""
    for proof, names in proofs(run):
        checkers = " and ".join(proof.checkers)
        how = f"{proof.method}, {in_words(proof.seconds)}; confirmed by {checkers}"
        anything = f" for any {', '.join(proof.open)}" if proof.open else ""
        yield f"proved{anything}: {', '.join(names)}"
        yield f"  by an invariant of {counted(len(proof.clauses), 'clause')} ({how})"
        if id(proof) in saved:
            yield f"  certificate: rackproof check-certificate {saved[id(proof)]}"
        if in_full:
            yield from (f"  {number}. {text}" for number, text in enumerate(words(proof), 1))
    yield from unproved(run)


def words(proof: Proof) -> list[str]:
    """The clauses of an invariant, as a person reads them."""
    relation = proof.obligation.relation
    formulas = Formulas(relation)
    return [formulas.told(clause) for clause in ordered(relation, proof.clauses)]


def as_data(proof: Proof) -> dict[str, Any]:
    """A proof as plain values."""
    return {
        "method": proof.method,
        "open": list(proof.open),
        "seconds": round(proof.seconds, 6),
        "confirmed_by": list(proof.checkers),
        "invariant": words(proof),
    }


def unproved(run: Run) -> Iterator[str]:
    """What holds in the scope, and why not beyond it."""
    found: dict[str, list[str]] = {}
    for result in run.results:
        if result.judged and result.verdict is Verdict.HOLDS and result.reason:
            found.setdefault(result.reason, []).append(result.prop.name)
    for reason, names in found.items():
        yield f"holds in this scope only: {', '.join(names)} ({reason})"
