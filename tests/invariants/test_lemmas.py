"""The lemmas of bundled properties are so, and they do what they are there for."""

from __future__ import annotations

import pytest
from attrs import evolve

from rackproof.checker.engines import Options, explore
from rackproof.checker.lowering import lower
from rackproof.checker.proof import checking
from rackproof.checker.proof.certificate import certificate
from rackproof.checker.proof.induction import Inductive, Undecided, induction, with_lemmas
from rackproof.checker.proof.obligations import obligation
from rackproof.checker.proof.proof import Proof
from rackproof.checker.status import Status
from rackproof.invariants.tokens import no_duplicate_tokens
from rackproof.model.kernel import System
from rackproof.scenarios.exams import exams


def world(exam: str) -> System:
    """The reference in an exam, with one property."""
    setting = next(item for item in exams() if item.name == exam).setting("reference")
    return evolve(setting.system, properties=(no_duplicate_tokens,)).with_lemmas


@pytest.mark.parametrize("exam", ["calm", "crash", "gateway-crash", "leave", "preemption"])
def test_no_run_contradicts_them(exam: str) -> None:
    found = explore(world(exam), None, Options())
    assert found.reason is None
    assert not found.violated


@pytest.mark.parametrize("exam", ["calm", "disconnect"])
def test_tokens_are_shown_by_them_in_one_step(exam: str) -> None:
    relation = lower(world(exam))
    alone = induction(obligation(relation, [no_duplicate_tokens.name]), most=1)
    assert isinstance(alone, Undecided)
    shown, found = with_lemmas(relation, no_duplicate_tokens, most=1)
    assert isinstance(found, Inductive)
    assert found.clauses is not None
    item = certificate("stack:reference", exam, Proof(shown, found.clauses, "induction", 0.0))
    assert checking.check(item).status is Status.OK
