"""A failure in words: what was done and seen, what the model allowed instead, what it breaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.conform.changing import changes_that_explain
from rackproof.checker.conform.explain import explain
from rackproof.checker.conform.forcing import forced_breaks
from rackproof.checker.conform.outcome import Answer, Broken, Explained, Rejection
from rackproof.checker.conform.search import Limits
from rackproof.checker.conform.telling import broken_sentence, written
from rackproof.checker.conform.watch import Unexplained, by_witness
from rackproof.checker.lockstep.machine import Found
from rackproof.checker.lockstep.run import AdapterFailed, Diverged, Entry, Lockstep
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Observation, Scope, holds
from rackproof.model.kernel.evidence import Case

LIMITS: Final = Limits(20_000)
"""How much is looked at to tell of a failure."""
CHANGES: Final = Limits(2_000)
"""How much is looked at to tell which mechanism would explain it: some seconds."""
MOST_TOLD: Final = 4
"""How many of the parts of guards are told."""


@frozen(eq=False)
class Judged:
    """What comes of a run that the model does not explain.

    explained: of all that was seen. outside: of what is seen from outside alone, where the rest
    says more.
    trace: the run of the model up to where it goes wrong. left: what is broken for good by a run
    that goes on no more.
    """

    trace: Trace
    explained: Explained
    outside: Explained | None = None
    left: tuple[Broken, ...] = ()

    @property
    def broken(self) -> list[Broken]:
        """The properties that are broken, those seen from outside first; each once."""
        told = [*(self.outside.broken if self.outside else ()), *self.explained.broken, *self.left]
        return list({item.prop: item for item in reversed(told)}.values())[::-1]


def judged(run: Lockstep, failure: Diverged) -> Judged:
    """Hold the record of a run against its world once more, this time with all that came later."""
    whole = _case(run, failure.seen is None or failure.seen.witness == run.implementation.outside)
    explained = explain(whole, LIMITS)
    trace = run.watch.trace(run.watch.nodes[0])
    if explained.answer is Answer.REJECTED:
        changes, untold, tried = changes_that_explain(whole, CHANGES)
        explained, trace = (
            evolve(explained, changes=changes, untold=untold, tried=tried),
            explained.trace,
        )
    seen = _from_outside(run, whole)
    outside = explain(evolve(seen, ended=True), LIMITS) if seen else None
    found = Judged(trace, explained, outside if _is_rejected(outside) else None)
    if failure.unexplained is None:
        return evolve(found, left=_left(run))
    return found if found.broken else evolve(found, left=_forced(whole, failure.unexplained))


def _forced(case: Case, unexplained: Unexplained) -> tuple[Broken, ...]:
    """What is broken by what was seen, after another of the runs that explain what came before."""
    for node in unexplained.nodes:
        state = unexplained.before.world.moves.states[node.state]
        found = forced_breaks(evolve(case, ended=True), state, [unexplained.at])
        if found:
            return found
    return ()


def _left(run: Lockstep) -> tuple[Broken, ...]:
    """What was to come, and has not, wherever the run may be."""
    states = [run.subject.world.moves.states[node.state] for node in run.watch.nodes]
    return tuple(
        Broken(prop.name, broken_sentence(run.system, prop, states[0]), None, predicted=False)
        for prop in run.system.properties
        if prop.scope is Scope.EVENTUALLY
        and not any(holds(run.system, prop, state) for state in states)
    )


def _is_rejected(explained: Explained | None) -> bool:
    return explained is not None and explained.answer is Answer.REJECTED


def _case(run: Lockstep, ended: bool) -> Case:
    """All that was done and seen: in one order where nothing happens while nobody looks. What was
    not done to it cannot have happened. ended: whether it is to be asked why no more came.
    """
    record = [seen for entry in run.entries for seen in _recorded(entry)]
    record += run.followed
    logs = by_witness(record) if run.implementation.asynchronous else (tuple(record),)
    done = {entry.action.name for entry in run.entries if entry.done is not None}
    never = {o.transition for o in run.implementation.operations if o.name not in done}
    possible = [item for item in run.system.transitions if item.name not in never]
    system = evolve(run.system, transitions=possible)
    return Case("lock step", system, logs, run.watch.complete, ended=ended)


def _recorded(entry: Entry) -> Iterator[Observation]:
    if entry.done is not None:
        yield entry.done
    yield from entry.seen


def _from_outside(run: Lockstep, case: Case) -> Case | None:
    """What of it is seen from outside, and what was done; None where there is nothing else."""
    done = {(item.witness, item.kind) for item in run.implementation.operations}

    def counts(witness: str, kind: str) -> bool:
        return witness == run.implementation.outside or (witness, kind) in done

    logs = tuple(tuple(o for o in log if counts(o.witness, o.kind)) for log in case.logs)
    complete = frozenset(pair for pair in case.complete if counts(*pair))
    if logs == case.logs and complete == case.complete:
        return None
    return evolve(case, logs=logs, complete=complete)


def report(found: Found, world: str) -> tuple[str, Judged | None]:
    """A failure as a test shows it; and what was found out about it. world: what it is called."""
    if not isinstance(found.failure, Diverged):
        what = "the adapter failed" if isinstance(found.failure, AdapterFailed) else "undecided"
        lines = [f"lock step with {world}: {what}", "", f"  {found.failure}", ""]
        return "\n".join([*lines, *_done(found), *_again(found)]), None
    judgement = judged(found.run, found.failure)
    lines = [
        f"lock step with {world}: the implementation did what no run of the model does",
        "",
        *_done(found),
        *_wrong(found.failure, judgement),
        *_again(found),
    ]
    return "\n".join(lines), judgement


def _done(found: Found) -> Iterator[str]:
    """The actions, each with what was seen after it."""
    width = max((len(str(entry.action)) for entry in found.run.entries), default=0)
    blamed = found.failure.seen if isinstance(found.failure, Diverged) else None
    for entry in found.run.entries:
        told = [entry.note] if entry.note else []
        told += [_text(found.run, o) + ("   <-- this" if o is blamed else "") for o in entry.seen]
        yield f"  {entry.action!s:<{width}}  {told[0] if told else ''}".rstrip()
        yield from (f"  {'':<{width}}  {line}" for line in told[1:])
    if isinstance(found.failure, Diverged) and blamed is None:
        yield f"  {'':<{width}}  <-- and nothing more"
    yield ""


def _wrong(failure: Diverged, judgement: Judged) -> Iterator[str]:
    explained = judgement.explained
    if failure.seen is None:
        yield "It is quiet, and no run of the model may be over there."
    else:
        yield f"No run of the model explains {_text(failure.run, failure.seen)}."
    if explained.rejection is not None:
        yield from _said("the model allowed instead:", _allowed(explained))
        if not _is_in_values(explained.rejection):
            yield from _said("for what was seen it lacks:", explained.rejection.failed[:MOST_TOLD])
    yield from _said("broken:", [f"{one.prop}: {one.sentence}" for one in judgement.broken])
    if explained.reason is not None:
        yield f"What that breaks was not found out: {explained.reason}."
    elif not judgement.broken:
        yield "No property of the catalogue is broken by that."
    yield from _said("that is what the model allows with", explained.changes or ())
    if explained.untold and not explained.changes:
        yield f"({explained.untold} other values of mechanisms were too many to try)"


def _text(run: Lockstep, seen: Observation) -> str:
    """An observation, without what it need not say: of what there is only one."""
    only = [labels[0] for labels in run.subject.labels.values() if len(labels) == 1]
    values = {name: value for name, value in seen.values.items() if value not in only}
    return written(evolve(seen, values=values))


def _is_in_values(rejection: Rejection) -> bool:
    """Whether the model allowed the same with another value, which says it all."""
    same = f"{rejection.at.witness} {rejection.at.kind}:"
    return any(one.written.startswith(same) for one in rejection.expected)


def _allowed(explained: Explained) -> list[str]:
    """What else the implementation might have done; not what might have been done to it."""
    assert explained.rejection is not None
    return [
        f"{one.written} ({one.words})"
        for one in explained.rejection.expected
        if not one.written.startswith("operator ")
    ]


def _said(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"  {line}" for line in lines)


def _again(found: Found) -> Iterator[str]:
    """How it was found, and how it is done again."""
    yield ""
    number, first = len(found.actions), len(found.first)
    enough = "this one is" if number == 1 else f"these {number} are"
    yield f"Found in run {found.runs}, in {first} actions; {enough} enough. Again:"
    yield f'  actions="{"; ".join(map(str, found.actions))}"'
