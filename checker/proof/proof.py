"""Why a property holds in runs of any length."""

from __future__ import annotations

from attrs import frozen

from rackproof.checker.lowering.arena import Node
from rackproof.checker.proof.obligations import Obligation


@frozen
class Proof:
    """An inductive invariant: true at the start, kept by every transition, and no bad state has it.

    obligation: what it shows, of which properties. clauses: their conjunction is the invariant.
    method: how it was found. seconds: how long that took. checkers: the solvers that found nothing
    wrong with it, each by itself, from the lowered relation. open: the freedoms of the system for
    every value of which it is shown.
    """

    obligation: Obligation
    clauses: tuple[Node, ...]
    method: str
    seconds: float
    checkers: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
