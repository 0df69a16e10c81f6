"""Runs of a world written out as logs, and what is done to logs to make them wrong."""

from __future__ import annotations

import random
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve

from rackproof.checker.trace import Step, Trace
from rackproof.model.kernel import Observation, Place, Record, System, evidence_of, successors
from rackproof.model.kernel.evidence import Case

Log = tuple[Observation, ...]


def random_run(system: System, length: int, seed: int) -> Trace:
    """A run of at most so many steps, each chosen at random."""
    chosen, state, steps = random.Random(seed), system.initial, list[Step]()
    for _ in range(length):
        found = list(successors(system, state))
        if not found:
            break
        firing, after = chosen.choice(found)
        steps.append(Step(system, firing, state, after))
        state = after
    return Trace(system, tuple(steps))


def records(trace: Trace) -> list[Record]:
    """What the witnesses write down of a run, step by step."""
    write = evidence_of(trace.system).records
    return [r for s in trace.steps for r in write(s.before, s.firing, s.after)]


def observed(
    trace: Trace, file: str = "run.jsonl", without: Collection[tuple[str, str]] = ()
) -> Log:
    """A run as one log, in the order of its steps; without some kinds of some witnesses."""
    kept = (each for each in records(trace) if (each.witness, each.kind) not in without)
    return tuple(
        Observation(each.witness, each.kind, dict(each.values), dict(each.aside), Place(file, line))
        for line, each in enumerate(kept, 1)
    )


def by_witness(log: Iterable[Observation]) -> tuple[Log, ...]:
    """A log as one for each witness, in the order in which they first write."""
    found: dict[str, list[Observation]] = {}
    for each in log:
        found.setdefault(each.witness, []).append(each)
    return tuple(tuple(each) for each in found.values())


def kinds(systems_runs: Iterable[Trace]) -> frozenset[tuple[str, str]]:
    """Every witness and kind that some runs write."""
    return frozenset((r.witness, r.kind) for run in systems_runs for r in records(run))


def case_of(
    trace: Trace,
    complete: Collection[tuple[str, str]],
    logs: Sequence[Log] | None = None,
    *,
    ended: bool = False,
) -> Case:
    """A run as a case: what it wrote of what is complete, a log for each witness by default."""
    if logs is None:
        written = observed(trace)
        logs = by_witness(each for each in written if (each.witness, each.kind) in complete)
    return Case(trace.system.name, trace.system, tuple(logs), frozenset(complete), ended=ended)


def split(log: Log, parts: int, seed: int) -> tuple[Log, ...]:
    """A log as several, each in its own order; who writes into which is chosen at random."""
    chosen, found = random.Random(seed), [list[Observation]() for _ in range(parts)]
    for each in log:
        chosen.choice(found).append(each)
    return tuple(tuple(each) for each in found)


def without(log: Log, index: int) -> Log:
    """A log in which one observation is lost."""
    return (*log[:index], *log[index + 1 :])


def doubled(log: Log, index: int) -> Log:
    """A log in which one observation is there twice."""
    return (*log[: index + 1], evolve(log[index]), *log[index + 1 :])


def swapped(log: Log, index: int) -> Log:
    """A log in which two neighbours have changed places."""
    return (*log[:index], log[index + 1], log[index], *log[index + 2 :])


def mistakes(log: Log) -> Iterator[Log]:
    """Every log with one observation lost, doubled, or swapped with the next one."""
    for index in range(len(log)):
        yield without(log, index)
        yield doubled(log, index)
    for index in range(len(log) - 1):
        yield swapped(log, index)


def projected(log: Sequence[Record | Observation]) -> dict[str, list[Hashable]]:
    """What each witness writes, in its order, as plain data."""
    found: dict[str, list[Hashable]] = {}
    for each in log:
        values = tuple(sorted(each.values.items()))
        found.setdefault(each.witness, []).append((each.kind, values))
    return found


def every_run(system: System, most: int) -> Iterator[tuple[Trace, Any]]:
    """Every run of at most so many steps, with the state it ends in."""
    pending: list[tuple[tuple[Step, ...], Any]] = [((), system.initial)]
    while pending:
        steps, state = pending.pop()
        yield Trace(system, steps), state
        if len(steps) < most:
            for firing, after in successors(system, state):
                pending.append(((*steps, Step(system, firing, state, after)), after))
