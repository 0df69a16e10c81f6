"""Why steps were possible, what depends on what, and what is needed: exactly in small worlds, and
against running again in random ones.
"""

from __future__ import annotations

import functools
import itertools
import random
from pathlib import Path
from typing import Any

import naive
import networkx as nx
import pytest
from loops import LOOPS
from random_worlds import random_loops, random_world
from worlds import WORLDS, pool

from rackproof.checker.engines import Options, explore
from rackproof.checker.explain import necessity, study
from rackproof.checker.explain.runs import whole
from rackproof.checker.explain.study import Study
from rackproof.checker.trace import Step, Trace, run
from rackproof.model.kernel import Fairness, Firing, Kind, Property, Scope, System, successors
from rackproof.scenarios.fields import Fields
from rackproof.scenarios.loader import load

BUGS = Path(__file__).parents[3] / "scenarios" / "bugs"
FEW = 300
"""States that are followed from where nothing is to change any more."""


@functools.cache
def lease() -> System:
    return WORLDS["lease"][0]()


def fired(system: System, *moves: tuple[Any, ...]) -> Trace:
    """The run of some transitions, by name and with their arguments."""
    firings = {(f.transition.name, *f.arguments): f for f in system.firings()}
    return run(system, [firings[move] for move in moves])


def studied(trace: Trace, name: str) -> Study:
    (prop,) = (prop for prop in trace.system.properties if prop.name == name)
    return study.of_property(trace, prop, Fields(trace.system))


SHORT = (("start", 0), ("slow_read",), ("reuse",))
LONG = (("start", 1), ("finish", 1), ("start", 1), ("start", 0), ("finish", 1), *SHORT[1:])


def told(seen: Study, number: int) -> list[tuple[str, int | None]]:
    return [(condition.text, condition.since) for condition in seen.why(number)]


def test_the_lease_is_explained() -> None:
    seen = studied(fired(lease(), *SHORT), "no-overwrite-in-flight")
    assert told(seen, 1) == [("block is held", None), ("reader-0 is not in reading", None)]
    assert told(seen, 2) == [("block is held", None), ("reader-0 is in reading", 1)]
    assert told(seen, 3) == [("block is freed", 2)]
    assert [seen.causes(n) for n in (1, 2, 3)] == [(), (1,), (2,)]
    assert seen.users(1) == {"reading": (2, 0)}
    assert seen.users(2) == {"block": (3,)}
    assert [(c.text, c.since) for c in seen.failing] == [
        ("reader-0 is in reading", 1),
        ("block is reused", 3),
    ]
    assert seen.labels == ("block", "reading")
    assert dict(seen.needed) == {1: True, 2: True, 3: True}


def test_steps_that_do_not_matter_are_found() -> None:
    seen = studied(fired(lease(), *LONG), "no-overwrite-in-flight")
    assert seen.slice is not None
    assert seen.slice.numbers == {4, 6, 7}
    assert seen.enough == (4, 6, 7)
    assert {number for number, needed in seen.needed.items() if needed} == {4, 6, 7}
    assert seen.causes(2) == (1,)
    assert seen.slice.run.trace.violates(lease().properties[0])


def test_a_step_that_two_others_stand_in_for_is_not_needed() -> None:
    system = WORLDS["counters"][0]()
    trace = fired(system, *[("raise_high",)] * 3, ("raise_low",), ("raise_high",))
    seen = study.of_values(trace, [Fields(system).by_label["even"]], Fields(system))
    assert seen.slice is not None
    assert seen.needed[4] is True, "the high counter rises only so far above the low one"
    assert necessity.alone(seen.enough).endswith("there alone")


def test_faults_are_told_whether_they_are_needed() -> None:
    system = pool(2, 1, 2)
    moves = (("crash", 1), ("dispatch", 0, 0), ("crash", 0))
    trace = fired(system, *moves, ("give_up", 0), ("dispatch", 0, 1), ("give_up", 0))
    chosen = [Fields(system).by_label["requests[request-0].phase"]]
    seen = study.of_values(trace, chosen, Fields(system))
    assert all(seen.needed.values())
    assert [seen.causes(n) for n in (4, 6)] == [(2, 3), (1, 2, 5)]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((3,), "Step 3 leads there alone"),
        ((3, 4), "Steps 3 and 4 lead there alone"),
        ((1, 2, 3, 7), "Steps 1 to 3 and 7 lead there alone"),
        ((1, 2, 4, 6, 7, 8), "Steps 1, 2, 4 and 6 to 8 lead there alone"),
    ],
)
def test_steps_are_told_as_people_do(numbers: tuple[int, ...], words: str) -> None:
    assert necessity.alone(numbers) == words


def wanders(system: System, seed: int) -> list[tuple[Property, Trace]]:
    """Runs of random steps, each up to where it violates a property."""
    chance, found, steps = random.Random(seed), dict[Property, Trace](), list[Step]()
    state = system.initial
    for _ in range(40):
        options = list(successors(system, state))
        if not options:
            break
        firing, after = chance.choice(options)
        steps.append(Step(system, firing, state, after))
        state = after
        trace = Trace(system, tuple(steps))
        for prop in system.properties:
            if prop not in found and trace.violates(prop):
                found[prop] = trace
    return list(found.items())


def shortest(system: System) -> list[tuple[Property, Trace]]:
    found = explore(system, None, Options("search", workers=1)).violated
    return [(prop, found[prop.name]) for prop in system.properties if prop.name in found]


def check(prop: Property, trace: Trace) -> int:
    """What is said of a run is so; returns how many steps were left out."""
    seen = study.of_property(trace, prop, Fields(trace.system))
    assert seen.slice is not None
    for number in seen.slice.numbers:
        assert all(c.since is None or c.since < number for c in seen.why(number))
        assert all(earlier < number for earlier in seen.causes(number))
    assert all(c.since is None or c.since <= len(trace.steps) for c in (*seen.failing, *seen.stays))
    culprits = set(trace.failing(prop))
    left = whole(trace).only(seen.slice.numbers)
    least = whole(trace).only(seen.enough)
    assert left is not None
    assert least is not None
    assert seen.enough or seen.is_inevitable
    assert seen.enough == necessity.plainly_enough(trace, prop)
    assert left.numbers == seen.slice.run.numbers, "each of its steps is possible again"
    for sub in (left.trace, least.trace):
        assert violates(prop, sub, culprits)
    for number in whole(trace).numbers:
        less = whole(trace).only([n for n in whole(trace).numbers if n != number])
        leads = less is not None and violates(prop, less.trace, culprits)
        assert seen.needed.get(number, not leads) is not leads
    for number in least.numbers:
        less = least.only([n for n in least.numbers if n != number])
        assert less is None or not violates(prop, less.trace, culprits)
    return len(trace.steps) - len(left.numbers)


def violates(prop: Property, trace: Trace, culprits: set[tuple[int, ...]]) -> bool:
    """Whether a run violates a property for one of them, whatever comes of its own accord; by brute
    force, and no more than that a fair run cannot be without where it can go round.
    """
    if prop.scope is Scope.ALWAYS:
        states = [trace.system.initial, *(step.after for step in trace.steps)]
        return any(not prop.function(s, *ids) for s in states for ids in culprits)
    if trace.loop is not None:
        return trace.violates(prop)
    later, moves = [trace.final], dict[Any, list[tuple[Any, Any]]]()
    for state in later:
        found = [each for each in successors(trace.system, state) if is_owed(each[0])]
        at_rest = not any(firing.is_progress for firing, _ in found)
        is_bad = at_rest and any(not prop.function(state, *ids) for ids in culprits)
        if not is_bad and not found:
            return False
        moves[state] = [] if is_bad else found
        later += dict.fromkeys(after for _, after in moves[state] if after not in later)
    return not any(is_safe_round(prop, culprits, moves, part) for part in parts(moves))


def is_owed(firing: Firing) -> bool:
    return firing.is_progress or firing.transition.fairness is not Fairness.NONE


def parts(moves: dict[Any, list[tuple[Any, Any]]]) -> list[set[Any]]:
    """Every set of few states that a run can go round."""
    graph = nx.DiGraph([(state, after) for state in moves for _, after in moves[state]])
    found = []
    for knot in nx.strongly_connected_components(graph):
        sizes = range(1, len(knot) + 1) if len(knot) < 9 else [len(knot)]
        for size in sizes:
            found += [set(each) for each in itertools.combinations(sorted(knot, key=repr), size)]
    return found


def is_safe_round(
    prop: Property,
    culprits: set[tuple[int, ...]],
    moves: dict[Any, list[tuple[Any, Any]]],
    part: set[Any],
) -> bool:
    """Whether a fair run goes round just these states for ever, and does not violate it."""
    edges = [
        (state, firing, after)
        for state in part
        for firing, after in moves[state]
        if after in part and firing.transition.kind is not Kind.FAULT
    ]
    graph = nx.DiGraph((state, after) for state, _, after in edges)
    if not edges or set(graph) != part or not nx.is_strongly_connected(graph):
        return False
    fired = {firing for _, firing, _ in edges}
    here = [{firing for firing, _ in moves[state]} - fired for state in part]
    weak = {f for f in set.intersection(*here) if f.transition.fairness is Fairness.WEAK}
    strong = {f for f in set.union(*here) if f.transition.fairness is Fairness.STRONG}
    kept = prop.scope is not Scope.EVENTUALLY or all(
        any(prop.function(state, *ids) for state in part) for ids in culprits
    )
    return kept and not weak and not strong


def test_what_is_said_of_random_runs_is_so() -> None:
    left_out = 0
    for seed in range(36):
        system = random_world(seed)
        if len(naive.reachable(system, FEW)) == FEW:
            continue
        left_out += sum(check(*each) for each in wanders(system, seed))
        left_out += sum(check(*each) for each in shortest(system))
    assert left_out > 10, "steps were left out at all"


def test_what_is_said_of_loops_is_so() -> None:
    systems = [make() for make, _ in LOOPS.values()]
    systems += [s for s in map(random_loops, range(8)) if len(naive.reachable(s, FEW)) < FEW]
    found = [each for system in systems for each in shortest(system)]
    for each in found:
        check(*each)
    assert sum(trace.loop is not None for _, trace in found) > 5


@pytest.mark.parametrize(
    ("name", "prop", "matters"),
    [
        ("llm-d-router-2165-stale-metrics", "live-endpoint-selectable", [1]),
        ("dynamo-7863-replay-without-end", "asking-ends", range(1, 7)),
    ],
)
def test_bundled_bugs(name: str, prop: str, matters: list[int]) -> None:
    system = load(BUGS / f"{name}.yaml").case.setting.system
    found = explore(system, {prop}, Options("search", workers=1)).violated[prop]
    seen = studied(found, prop)
    assert seen.slice is not None
    assert seen.slice.numbers == set(matters)
    check(next(p for p in system.properties if p.name == prop), found)
