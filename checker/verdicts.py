"""From what an engine found to verdicts; from verdicts and expectations to success or failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from rackproof.checker.proof.proof import Proof
from rackproof.checker.status import Status
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Property, Scope, System
from rackproof.scenarios.schema import Expectation

if TYPE_CHECKING:
    from rackproof.checker.sample.tally import Sampled


class Verdict(Enum):
    """What is known of a property in a scope."""

    PROVED = "proved"
    """It holds in runs of any length, by a certificate that was checked."""
    HOLDS = "holds"
    """Every reachable state of the scope was seen, and it holds in all."""
    VIOLATED = "violated"
    """A run violates it; the run was replayed through the plain functions."""
    VACUOUS = "vacuous"
    """Every reachable state was seen, but nothing in them put it to the test."""
    INCONCLUSIVE = "inconclusive"
    """The engine ended before it could tell."""


ABSENT: Final = "there is nothing it speaks of"
UNMET: Final = "this never happens"
NEVER: Final = "no reachable state satisfies it"


@frozen
class Findings:
    """What an engine found out about a system.

    at_rest: states in which no step and no timer is possible. reason: why not every state was seen;
    None when all were. endless: why not every loop was looked at; None when all that matter were.
    violated: a replayed run for each property that one violates; fewest: those
    of them of which no run has fewer faults. reached: the names of the ``sometimes`` properties and
    premises that some state satisfies. fired: the names of the transitions that took effect.
    idle: those that did not in any state that was seen, though the values their fields take would
    allow it. impossible: those that these values rule out. reads: the slots that each instance of
    a property speaks of. proofs: by property, why it holds in runs of any length. never: the names
    of the ``sometimes`` properties and premises that were proved to be satisfied by no reachable
    state. reasons: why nothing is known of a property, where that is not ``reason``; where every
    state was seen, why it is known of this scope only. open: the properties of which that is no
    answer. longer: the violated properties of which no shortest run was looked for. note: how the
    states were explored, where there is more to say. sampled: what drawn runs have been through.
    """

    engine: str
    states: int
    transitions: int
    depth: int
    seconds: float
    at_rest: int
    reason: str | None
    endless: str | None = None
    violated: Mapping[str, Trace] = field(factory=dict)
    fewest: frozenset[str] = frozenset()
    reached: frozenset[str] = frozenset()
    fired: frozenset[str] = frozenset()
    idle: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    reads: Mapping[tuple[str, tuple[int, ...]], frozenset[int]] = field(factory=dict)
    proofs: Mapping[str, Proof] = field(factory=dict)
    longer: frozenset[str] = frozenset()
    note: str | None = None
    never: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(factory=dict)
    open: frozenset[str] = frozenset()
    sampled: Sampled | None = None

    def read_by(self, prop: Property, trace: Trace | None) -> frozenset[int]:
        """The slots that the instances of a property which fail at the end of a run speak of."""
        failing = trace.failing(prop) if trace is not None else ()
        return frozenset().union(*(self.reads.get((prop.name, ids), ()) for ids in failing))


@frozen
class Result:
    """The verdict on one property, and what was expected of it (None: only not to be violated).

    judged: whether it counts; where a scenario says what it expects, the other properties are told
    but do not decide. fewest_faults: whether it was shown that no run with fewer faults violates
    it. reads: the slots that its failing instances speak of. proof: why it is proved. shortest:
    whether no shorter run with as few faults violates it.
    """

    prop: Property
    verdict: Verdict
    reason: str | None = None
    trace: Trace | None = None
    expected: Expectation | None = None
    judged: bool = True
    fewest_faults: bool = False
    reads: frozenset[int] = frozenset()
    proof: Proof | None = None
    shortest: bool = True

    @property
    def is_absent(self) -> bool:
        """Whether the world has none of what the property speaks of, and nobody expected it to."""
        return self.reason == ABSENT and self.expected is None

    @property
    def is_averted(self) -> bool:
        """Whether it holds, or what it is about can no longer happen."""
        unmet = self.reason is not None and self.reason.startswith(UNMET)
        return self.verdict in (Verdict.HOLDS, Verdict.PROVED) or unmet

    @property
    def complaint(self) -> str | None:
        """What is not as it should be; None where all is well or the property does not count."""
        if not self.judged:
            return None
        if self.expected is None:
            return self._unexpected()
        return self._unmet(self.expected)

    @property
    def status(self) -> Status:
        """The status that this property asks for."""
        if self.complaint is None:
            return Status.OK
        unproved = self.expected is not None and self.expected.verdict == "proved"
        open_question = self.verdict is Verdict.INCONCLUSIVE or (
            self.verdict is Verdict.HOLDS and unproved
        )
        return Status.INCONCLUSIVE if open_question else Status.VIOLATED

    @property
    def words(self) -> str:
        """The verdict with the size of its counterexample: violated: 1 fault, 9 steps."""
        trace = self.trace
        if trace is None:
            return self.verdict.value
        loop = "" if trace.loop is None else f" and a loop of {len(trace.repeated)}"
        most = "" if self.shortest else "at most "
        size = f"{counted(trace.faults, 'fault')}, {most}{counted(trace.lead, 'step')}{loop}"
        return f"{self.verdict.value}: {size}"

    def _unexpected(self) -> str | None:
        if self.verdict is Verdict.VIOLATED:
            return self.words
        unreached = self.verdict is Verdict.VACUOUS and self.prop.scope is Scope.SOMETIMES
        if unreached or self.verdict is Verdict.INCONCLUSIVE:
            return f"{self.verdict.value}: {self.reason}"
        return None

    def _unmet(self, expected: Expectation) -> str | None:
        wanted, verdict = expected.verdict, self.verdict
        if verdict is Verdict.PROVED and wanted == "holds":
            return None
        if verdict.value != wanted:
            return f"expected {wanted}, but {self._clause}"
        return self._other_length(expected) if self.trace else None

    @property
    def _clause(self) -> str:
        if self.verdict is Verdict.HOLDS:
            proves = self.expected is not None and self.expected.verdict == "proved"
            return "it holds" + (" in this scope only: a search proves nothing" if proves else "")
        why = f" ({self.reason})" if self.reason and self.trace is None else ""
        return f"it is {self.words}{why}"

    def _other_length(self, expected: Expectation) -> str | None:
        assert self.trace is not None
        seen = {"step": self.trace.lead, "fault": self.trace.faults}
        wanted = {"step": expected.steps, "fault": expected.faults}
        wrong = [
            f"{counted(want, what)}, not {seen[what]}"
            for what, want in wanted.items()
            if want is not None and want != seen[what]
        ]
        if expected.steps is not None and not self.shortest:
            wrong.append(f"{counted(expected.steps, 'step')}, and no shortest was looked for")
        return f"expected a shortest run of {' and '.join(dict.fromkeys(wrong))}" if wrong else None


def counted(number: int, what: str) -> str:
    """A number with its noun: 1 fault, 2 faults."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """Words as a sentence has them: a, b and c."""
    *most, last = words or [""]
    return f"{', '.join(most)} and {last}" if most else last


def results(
    system: System,
    findings: Findings,
    expected: Mapping[str, Expectation],
    silent: Sequence[str] = (),
    dead: Sequence[str] = (),
) -> tuple[Result, ...]:
    """The verdict on each property of a system.

    silent: faults that were to be explored but never took effect: what holds without them is
    vacuous. dead: those of them that never can: of a world with such a fault nothing is to be
    found out, even where not every state was seen.
    """
    return tuple(
        Result(
            prop,
            *_verdict(prop, findings, silent, dead, not system.speaks_of_anything(prop)),
            trace=findings.violated.get(prop.name),
            expected=expected.get(prop.name),
            judged=not expected or prop.name in expected,
            fewest_faults=prop.name in findings.fewest,
            reads=findings.read_by(prop, findings.violated.get(prop.name)),
            shortest=prop.name not in findings.longer,
            proof=findings.proofs.get(prop.name),
        )
        for prop in system.properties
    )


def _verdict(
    prop: Property,
    findings: Findings,
    silent: Sequence[str],
    dead: Sequence[str],
    speaks_of_nothing: bool,
) -> tuple[Verdict, str | None]:
    if prop.name in findings.violated:
        return Verdict.VIOLATED, None
    if prop.scope is Scope.SOMETIMES and prop.name in findings.reached:
        return Verdict.HOLDS, None
    if speaks_of_nothing and prop.scope is not Scope.SOMETIMES:
        return Verdict.VACUOUS, ABSENT
    if prop.name in findings.never:
        return Verdict.VACUOUS, NEVER
    if prop.premise is not None and prop.premise.name in findings.never:
        return Verdict.VACUOUS, f"{UNMET}: {_clause(prop.premise.statement)}"
    if prop.name in findings.proofs:
        return _proved(prop, findings, silent)
    if dead and findings.sampled is not None:
        return Verdict.VACUOUS, f"{' and '.join(dead)} can never take effect"
    if findings.reason is not None or prop.name in findings.open:
        return Verdict.INCONCLUSIVE, findings.reasons.get(prop.name, findings.reason)
    return _seen_to_hold(prop, findings, silent)


def _proved(
    prop: Property, findings: Findings, silent: Sequence[str]
) -> tuple[Verdict, str | None]:
    """The verdict where there is a proof: it may still say nothing."""
    if prop.premise is not None and prop.premise.name not in findings.reached:
        unknown = f"whether this ever happens: {_clause(prop.premise.statement)}"
        return Verdict.INCONCLUSIVE, f"it is proved, but it is not known {unknown}"
    if silent:
        return Verdict.INCONCLUSIVE, f"it is proved, but {' and '.join(silent)} was not seen"
    return Verdict.PROVED, None


def _seen_to_hold(
    prop: Property, findings: Findings, silent: Sequence[str]
) -> tuple[Verdict, str | None]:
    """The verdict where every state was seen, and none violates the property."""
    if prop.scope is Scope.EVENTUALLY and findings.endless is not None:
        return Verdict.INCONCLUSIVE, findings.endless
    if prop.scope is Scope.SOMETIMES:
        return Verdict.VACUOUS, NEVER
    if prop.premise is not None and prop.premise.name not in findings.reached:
        return Verdict.VACUOUS, f"{UNMET}: {_clause(prop.premise.statement)}"
    if prop.scope is Scope.AT_REST and not findings.at_rest:
        return Verdict.VACUOUS, "no reachable state is at rest"
    if silent:
        return Verdict.VACUOUS, f"{' and '.join(silent)} never took effect"
    return Verdict.HOLDS, findings.reasons.get(prop.name)


def _clause(sentence: str) -> str:
    """A sentence as part of another."""
    text = sentence.rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
