"""Sizes that are left open: outputs of any length, any retry limit, any number of workers.

A search of the scope as it is stands at the beginning: what it violates is violated, and the
premises that it meets are met.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import define, evolve, field

from rackproof.checker.proof.cutoff import Cutoff, Family, for_any
from rackproof.checker.proof.cutoff import told as in_words
from rackproof.checker.proof.proof import Proof
from rackproof.checker.proof.prover import Answer, confirmed
from rackproof.checker.proof.unbounded import Refuted, Unproved, prove_for_any
from rackproof.checker.search import Limits
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Findings, Verdict, counted
from rackproof.model.kernel import Scope, System

OPEN_SECONDS: Final = 600.0
"""What a proof may take where no limit is given."""
LOOPS: Final = "a proof says nothing of loops"
NOT_ALWAYS: Final = "a cutoff is for what must always hold"


def proved_for_any(
    near: Findings, system: System, names: Sequence[str], sizes: Sequence[str], seconds: float
) -> Findings:
    """What is known of properties for every value of some sizes.

    near: of a search of the scope as it is.
    """
    work = _Opened(system.with_lemmas, tuple(sizes), time.monotonic() + seconds)
    work.prove([name for name in names if name not in near.violated])
    known = {p.name: LOOPS for p in system.properties if p.scope is Scope.EVENTUALLY}
    return evolve(
        near,
        engine="prove",
        seconds=near.seconds + time.monotonic() - work.started,
        violated={**work.violated, **near.violated},
        proofs=work.proofs,
        reasons={**known, **work.reasons},
        open=frozenset(work.reasons),
        note=_values(work.violated),
    )


@define
class _Opened:
    """Proofs with sizes left open, until the deadline."""

    system: System
    sizes: tuple[str, ...]
    deadline: float
    started: float = field(factory=time.monotonic)
    proofs: dict[str, Proof] = field(factory=dict)
    violated: dict[str, Trace] = field(factory=dict)
    reasons: dict[str, str] = field(factory=dict)

    def prove(self, names: list[str]) -> None:
        """All at once, which is quickest; where that fails, one by one."""
        while names:
            found = prove_for_any(self.system, names, self.sizes, self._until(len(names)))
            if not isinstance(found, Refuted):
                break
            self.violated[found.name] = found.trace
            names = [name for name in names if name != found.name]
        if names and isinstance(found, Proof):
            self._confirm(found, names)
        elif names and isinstance(found, Unproved):
            self._one_by_one(names, found)

    def _one_by_one(self, names: Sequence[str], found: Unproved) -> None:
        if len(names) == 1:
            self.reasons[names[0]] = found.reason
            return
        for name in names:
            self.prove([name])

    def _confirm(self, proof: Proof, names: Sequence[str]) -> None:
        work = confirmed(proof, max(1.0, self.deadline - time.monotonic()))
        while True:
            try:
                next(work)
            except StopIteration as end:
                answer: Answer = end.value
                break
        for name in names:
            if answer.proof is not None:
                self.proofs[name] = answer.proof
            else:
                self.reasons[name] = answer.reason or "the proof was not confirmed"

    def _until(self, names: int) -> float:
        """Half of what is left for all of them together, so that there is time for each."""
        left = self.deadline - time.monotonic()
        return time.monotonic() + (left / 2 if names > 1 else left)


def _values(violated: dict[str, Trace]) -> str | None:
    """Where runs that violate properties are of other sizes than the scope, which."""
    told = [
        f"{name} is violated with {', '.join(_sizes(trace))}" for name, trace in violated.items()
    ]
    return "; ".join(told) or None


def _sizes(trace: Trace) -> Iterator[str]:
    """The parameters that the system of a run leaves open, with the values that they have in it."""
    schema, first = trace.system.schema, trace.system.initial
    for slot, ordinal in zip(schema.slots, schema.flatten(first), strict=True):
        if slot.rigid:
            yield f"{slot.label} {ordinal}"


def held_for_any_number(
    near: Findings, system: System, names: Sequence[str], family: Family, limits: Limits
) -> Findings:
    """What is known of ``always`` properties for any number of workers of each role.

    near: of a search of the scope as it is, in which every state was seen.
    """
    scopes = {p.name: p.scope for p in system.properties}
    asked = [n for n in names if scopes[n] is Scope.ALWAYS and n not in near.violated]
    work = _Racks(family, limits)
    work.look(asked)
    rest = {name: NOT_ALWAYS for name in names if name not in asked}
    return evolve(
        near,
        seconds=near.seconds + work.seconds,
        reasons={**rest, **work.reasons},
        open=frozenset(work.reasons),
        note=work.note,
    )


@define
class _Racks:
    """Cutoffs, of as many properties at once as can be."""

    family: Family
    limits: Limits
    held: list[Cutoff] = field(factory=list)
    reasons: dict[str, str] = field(factory=dict)
    seconds: float = 0.0

    def look(self, names: Sequence[str]) -> None:
        """All at once; where one is violated, or nothing is shown of all, those that are left."""
        if not names:
            return
        found = for_any(self.family, names, self.limits)
        self.seconds += found.seconds
        if found.result is Verdict.HOLDS:
            self.held.append(found)
        elif found.result is Verdict.VIOLATED:
            where = in_words(found.searched[-1])
            self.reasons |= dict.fromkeys(found.violated, f"it is violated with {where}")
            self.look([name for name in names if name not in found.violated])
        elif len(names) == 1:
            self.reasons[names[0]] = found.reason or "no cutoff was found"
        else:
            for name in names:
                self.look([name])

    @property
    def note(self) -> str | None:
        """What holds for any number of workers, how far that was shown, and what was assumed."""
        return "; ".join(map(_cutoff, self.held)) or None


def _cutoff(found: Cutoff) -> str:
    roles, sizes = " and ".join(found.sizes), in_words(found.sizes)
    racks = counted(len(found.searched), "rack")
    return (
        f"for any number of {roles} workers: {', '.join(found.names)} (searched: {racks} of up to "
        f"{sizes}; shown by z3: a rack with one worker more, or two, does nothing beyond that; "
        f"assumed: {'; '.join(found.assumptions)})"
    )
