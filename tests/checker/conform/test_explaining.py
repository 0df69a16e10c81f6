"""Records of runs are explained; with a mistake they are not, and it is found where it was made."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import recorded
from attrs import evolve
from random_worlds import random_world
from switched import Mode, move, never, random_setting, setting
from switched import World as Walk
from worlds import WORLDS, pool, stream

from rackproof.checker.conform.explain import explain
from rackproof.checker.conform.explainer import Explainer
from rackproof.checker.conform.outcome import Answer, Explained
from rackproof.checker.conform.search import Limits
from rackproof.checker.repair.switches import switches
from rackproof.model.kernel import (
    Evidence,
    Firing,
    Observation,
    Place,
    Record,
    Scope,
    System,
    eventually,
    evidence_of,
    holds,
    successors,
)
from rackproof.model.kernel.evidence import Case

Log = tuple[Observation, ...]
RUN = "run"


def lease() -> System:
    """docs/examples/lease.py."""
    return WORLDS["lease"][0]()


def by_whom(system: System) -> System:
    """The lease, in which each reader writes what it does itself, and the producer the rest."""

    def records(_before: Any, firing: Firing, _after: Any) -> Sequence[Record]:
        name = firing.transition.name.replace("_", "-")
        return (Record(firing.named(system).get("reader", "producer"), name),)

    return evolve(system, evidence=Evidence(records))


def log(*texts: str, witness: str = RUN) -> Log:
    """Observations such as ``start reader-0``, one a line."""
    found = []
    for line, text in enumerate(texts, 1):
        kind, _, reader = text.partition(" ")
        values = {"reader": reader} if reader else {}
        found.append(Observation(witness, kind, values, {}, Place("lease.jsonl", line)))
    return tuple(found)


KINDS = frozenset((RUN, kind) for kind in ("start", "finish", "expire", "slow-read", "reuse"))


def of(*texts: str, complete: frozenset[tuple[str, str]] = KINDS, ended: bool = False) -> Case:
    """A case of the lease."""
    return Case("lease", lease(), (log(*texts),), complete, ended=ended)


# Runs that are written out are accepted


@pytest.mark.parametrize("seed", range(30))
def test_what_a_random_run_writes_is_explained_however_it_is_written_down(seed: int) -> None:
    system = random_world(seed)
    run = recorded.random_run(system, 12, seed)
    kinds = sorted({(RUN, each.name.replace("_", "-")) for each in system.transitions})
    for silent in (set(), set(kinds[:1]), set(kinds[1:])):
        written = recorded.observed(run, without=silent)
        for parts in (1, 3):
            logs = recorded.split(written, parts, seed)
            case = Case(system.name, system, logs, frozenset(kinds) - silent)
            found = explain(case)
            assert found.answer is Answer.ACCEPTED
            assert sorted(map(id, itertools.chain(*found.written))) == sorted(map(id, written))
            assert len(found.trace.steps) == len(found.written)


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_a_run_is_explained_by_itself_where_all_of_it_is_written_down(name: str) -> None:
    system = WORLDS[name][0]()
    run = recorded.random_run(system, 10, 1)
    kinds = {(RUN, each.name.replace("_", "-")) for each in system.transitions}
    found = explain(recorded.case_of(run, kinds))
    assert found.answer is Answer.ACCEPTED
    assert [step.words for step in found.trace.steps] == [step.words for step in run.steps]
    assert found.trace.final == run.final


# Against every run there is


def _oracle(system: System, most: int, kept: frozenset[tuple[str, str]]) -> Mapping[Any, set[Any]]:
    """What is written by each run of so many steps, with the properties that such runs break."""
    found: dict[Any, set[Any]] = {}
    props = [each for each in system.properties if each.scope is Scope.ALWAYS]
    for run, _ in recorded.every_run(system, most):
        states = [system.initial, *(step.after for step in run.steps)]
        broken = frozenset(p.name for p in props if not all(holds(system, p, s) for s in states))
        told = [each for each in recorded.records(run) if (each.witness, each.kind) in kept]
        found.setdefault(_frozen(recorded.projected(told)), set()).add(broken)
    return found


def _frozen(projected: Mapping[str, Sequence[Any]]) -> Any:
    return frozenset((witness, tuple(each)) for witness, each in projected.items())


def _explained_at_most(oracle: Mapping[Any, Any], case: Case) -> int:
    """The most observations that any run explains without contradicting one."""
    logs = recorded.projected([each for log in case.logs for each in log])
    return max(
        sum(len(each) for _, each in told)
        for told in oracle
        if all(tuple(logs.get(witness, ())[: len(each)]) == each for witness, each in told)
    )


@pytest.mark.parametrize("silent", [(), ("slow-read",), ("start", "expire")])
def test_the_answer_is_what_every_interleaving_of_every_run_says(silent: tuple[str, ...]) -> None:
    system = by_whom(lease())
    kinds = recorded.kinds(run for run, _ in recorded.every_run(system, 4))
    kept = frozenset(each for each in kinds if each[1] not in silent)
    oracle = _oracle(system, 7, kept)
    answers = set()
    for case in _cases(system, kept):
        found = explain(case)
        logs = _frozen(recorded.projected([each for log in case.logs for each in log]))
        answers.add(found.answer)
        assert (found.answer is Answer.ACCEPTED) == (logs in oracle)
        if found.answer is Answer.ACCEPTED:
            fewest = min(len(broken) for broken in oracle[logs])
            assert len(found.broken) == fewest
        else:
            explained = sum(map(len, found.written))
            assert explained == _explained_at_most(oracle, case)
    assert answers == {Answer.ACCEPTED, Answer.REJECTED}


def _cases(system: System, kept: frozenset[tuple[str, str]]) -> Iterator[Case]:
    """Short runs, as they are and with every mistake in every log."""
    seen = set()
    for run in (recorded.random_run(system, 5, seed) for seed in range(8)):
        case = recorded.case_of(run, kept)
        for index, log in enumerate(case.logs):
            for wrong in (log, *recorded.mistakes(log)):
                logs = (*case.logs[:index], wrong, *case.logs[index + 1 :])
                key = _frozen(recorded.projected([each for log in logs for each in log]))
                if key not in seen:
                    seen.add(key)
                    yield evolve(case, logs=logs)


# What is said of a record that is accepted


def test_a_property_that_every_explanation_breaks_is_told_where_it_is_broken() -> None:
    found = explain(of("start reader-0", "slow-read", "reuse", "finish reader-0"))
    assert found.answer is Answer.ACCEPTED
    (broken,) = found.broken
    assert (broken.prop, broken.predicted) == ("no-overwrite-in-flight", True)
    assert broken.sentence == "reader-0 reads the block, which holds another request's KV by now."
    assert str(broken.at.place) == "lease.jsonl:3" if broken.at else False


def test_an_explanation_that_breaks_nothing_is_preferred_to_a_shorter_one() -> None:
    known = frozenset({(RUN, "start"), (RUN, "reuse")})
    found = explain(of("start reader-0", "reuse", complete=known))
    assert found.broken == ()
    assert [step.words for step in found.trace.steps] == [
        "reader-0 starts to read the block.",
        "reader-0 has read the block.",
        "The lease ends after the last read: the producer frees the block.",
        "The producer writes another request's KV into the block.",
    ]


def test_a_fault_that_no_log_tells_of_is_assumed_only_where_it_must_have_happened() -> None:
    silent = KINDS - {(RUN, "slow-read")}
    must = explain(of("start reader-0", "reuse", complete=silent))
    assert must.assumed == (
        "A read takes longer than the lease: the block is freed under its reader.",
    )
    need_not = explain(of("start reader-0", "finish reader-0", "expire", complete=silent))
    assert need_not.assumed == ()


def test_what_a_log_leaves_out_may_be_anything() -> None:
    found = explain(of("start", "start", "finish"))
    assert found.answer is Answer.ACCEPTED
    assert len({step.firing.arguments for step in found.trace.steps[:2]}) == 2


def test_a_value_beside_that_is_not_so_is_an_error_of_the_log_and_no_other_run() -> None:
    system = lease()

    def records(_before: Any, firing: Firing, after: Any) -> Sequence[Record]:
        return (Record(RUN, firing.transition.name, {}, {"block": after.block.value}),)

    told = evolve(system, evidence=Evidence(records))
    said = (("start", "held"), ("start", "freed"), ("finish", "freed"))
    seen = tuple(
        Observation(RUN, kind, {}, {"block": block}, Place("run.jsonl", line))
        for line, (kind, block) in enumerate(said, 1)
    )
    kinds = frozenset((RUN, each.name) for each in system.transitions)
    found = explain(Case("lease", told, (seen,), kinds))
    assert found.answer is Answer.ACCEPTED
    (wrong,) = found.misattributed
    assert (wrong.name, wrong.said, wrong.truth, wrong.times) == ("block", "freed", "held", 2)
    assert wrong.at is seen[1]


# What is said of one that is rejected


def test_a_rejection_tells_what_was_expected_and_which_part_of_the_guard_was_not_so() -> None:
    found = explain(of("start reader-0", "reuse"))
    rejection = found.rejection
    assert rejection is not None
    assert (rejection.at.kind, str(found.place)) == ("reuse", "lease.jsonl:2")
    assert [(one.words, one.written) for one in rejection.expected] == [
        ("reader-1 starts to read the block.", "run start: reader reader-1"),
        ("reader-0 has read the block.", "run finish: reader reader-0"),
        (
            "A read takes longer than the lease: the block is freed under its reader.",
            "run slow-read",
        ),
    ]
    assert rejection.failed == (
        "The producer writes another request's KV into the block: block is held",
    )
    assert [step.words for step in found.trace.steps] == ["reader-0 starts to read the block."]


@pytest.mark.parametrize(
    ("texts", "at", "failed"),
    [
        (
            ("start reader-0", "start reader-0"),
            2,
            "reader-0 starts to read the block: reader-0 is in reading",
        ),
        (
            ("start reader-0", "finish reader-1"),
            2,
            "reader-1 has read the block: reading[reader-1] is false, not true",
        ),
        (
            ("start reader-0", "slow-read", "slow-read"),
            3,
            "A read takes longer than the lease: the block is freed under its reader: "
            "block is freed",
        ),
    ],
)
def test_each_mistake_has_its_reason(texts: tuple[str, ...], at: int, failed: str) -> None:
    found = explain(of(*texts))
    assert found.rejection is not None
    assert found.rejection.at.place == Place("lease.jsonl", at)
    assert found.rejection.failed == (failed,)


def test_a_record_that_ends_too_soon_is_rejected_after_its_last_observation() -> None:
    texts = ("start reader-0", "finish reader-0")
    assert explain(of(*texts)).answer is Answer.ACCEPTED
    found = explain(of(*texts, ended=True))
    assert found.rejection is not None
    assert found.rejection.after
    assert str(found.place) == "lease.jsonl:2"
    assert "run expire" in [one.written for one in found.rejection.expected]
    over = explain(of(*texts, "expire", "reuse", ended=True))
    assert over.answer is Answer.ACCEPTED


def test_a_run_may_be_over_in_a_loop_that_no_log_tells_of() -> None:
    silent = frozenset({(RUN, "expire"), (RUN, "reuse"), (RUN, "slow-read")})
    assert explain(of(complete=silent, ended=True)).answer is Answer.ACCEPTED
    assert explain(of(complete=KINDS, ended=True)).answer is Answer.REJECTED


def test_the_log_that_a_mistake_is_in_is_found_although_others_are_stuck_too() -> None:
    system = by_whom(lease())
    ones = {
        "reader-0": log("start", "finish", "start", "finish", witness="reader-0"),
        "producer": log("expire", "reuse", witness="producer"),
    }
    kinds = recorded.kinds(run for run, _ in recorded.every_run(system, 4))
    for index, wrong in enumerate(recorded.mistakes(ones["reader-0"])):
        for order in (("producer", "reader-0"), ("reader-0", "producer")):
            logs = tuple({**ones, "reader-0": wrong}[each] for each in order)
            found = explain(Case("lease", system, logs, kinds, ended=True))
            assert found.rejection is not None, index
            assert found.rejection.at.witness == "reader-0"


def test_what_was_observed_is_forced_and_its_witness_followed_to_the_end() -> None:
    def forced(before: Any, seen: Observation) -> Any:
        if seen.kind == "start":
            return evolve(before, reading=before.reading | {int(str(seen.values["reader"])[-1])})
        return None

    system = lease()
    evidence = evolve(evidence_of(system), forced=forced)
    texts = ("start reader-0", "finish reader-0", "expire", "reuse", "start reader-1", "expire")
    case = Case("lease", evolve(system, evidence=evidence), (log(*texts),), KINDS)
    found = explain(case)
    assert found.place == Place("lease.jsonl", 5)
    (broken,) = found.broken
    assert (broken.prop, broken.predicted, broken.at) == (
        "no-overwrite-in-flight",
        False,
        case.logs[0][4],
    )
    assert broken.sentence == "reader-1 reads the block, which holds another request's KV by now."


# What cannot be told


def test_a_missing_log_makes_an_accepted_record_inconclusive_and_no_rejected_one_accepted() -> None:
    accepted = of("start reader-0", "finish reader-0")
    lacking = evolve(accepted, missing=("log of the producer",))
    assert explain(lacking).answer is Answer.INCONCLUSIVE
    assert explain(lacking).reason == "there is no log of the producer"
    twice = of("start reader-0", "slow-read", "slow-read")
    assert explain(evolve(twice, missing=("log",))).answer is Answer.REJECTED


def test_what_only_the_missing_log_would_tell_is_no_reason_to_reject() -> None:
    case = of("start reader-0", "finish reader-0", "reuse")
    assert explain(case).answer is Answer.REJECTED
    lacking = evolve(case, missing=("log of the lease",))
    assert explain(lacking).answer is Answer.INCONCLUSIVE


def test_a_limit_is_told_with_its_figure() -> None:
    case = of("start reader-0", "finish reader-0", "expire", "reuse")
    found = explain(case, Limits(states=2))
    assert found.answer is Answer.INCONCLUSIVE
    assert found.reason == "no answer within 2 states"
    assert len(found.trace.steps) == 1


# Mechanisms


def test_the_changes_of_a_mechanism_are_found_that_explain_a_record() -> None:
    world = setting([move(0, 1, ({"a": True}, {"mode": Mode.HALF})), move(1, 2)], [never(9)]).system
    assert isinstance(world.initial, Walk)
    names = [each.name.replace("_", "-") for each in world.transitions]
    seen = tuple(Observation(RUN, name) for name in names)
    case = Case("walk", world, (seen,), frozenset((RUN, name) for name in names))
    assert explain(case).changes is None
    assert explain(case, changes=True).changes == ("a: true", "mode: half")


# Many cases


def _told(found: Explained) -> Any:
    return (
        found.answer,
        found.written,
        found.rejection,
        found.broken,
        found.misattributed,
        found.assumed,
        [step.words for step in found.trace.steps],
    )


def test_cases_that_look_the_same_are_explained_once_and_told_with_their_own_places() -> None:
    system, other = pool(2, 1, 1), pool(2, 1, 1)
    explainer = Explainer()
    kinds = frozenset((RUN, each.name.replace("_", "-")) for each in system.transitions)
    for seed in range(6):
        run = recorded.random_run(system, 6, seed)
        for wrong in (recorded.observed(run), *recorded.mistakes(recorded.observed(run))):
            case = Case("pool", system, (wrong,), kinds, key="pool")
            first = explainer.explain(case)
            before = explainer.explained
            moved = tuple(
                evolve(each, place=Place("other.jsonl", 10 * line), time=line / 7)
                for line, each in enumerate(wrong)
            )
            again = evolve(
                case, name="other", system=other, logs=(moved,), called={"worker-0": "w9"}
            )
            found = explainer.explain(evolve(again, logs=(tuple(map(_untimed, moved)),)))
            assert explainer.explained == before
            assert found.case.name == "other"
            assert found.answer is first.answer
            assert _told(explain(case)) == _told(first)
            if found.place:
                assert found.place.file == "other.jsonl"
                assert "worker-0" not in str(found.rejection.expected if found.rejection else ())


def _untimed(seen: Observation) -> Observation:
    return evolve(seen, time=None)


def test_an_answer_does_not_depend_on_what_was_explained_before() -> None:
    system = stream(3, replays=True)
    run = recorded.random_run(system, 9, 2)
    kinds = frozenset((RUN, each.name.replace("_", "-")) for each in system.transitions)
    kept = frozenset(each for each in kinds if each[1] != "disconnect")
    whole = tuple(each for each in recorded.observed(run) if (each.witness, each.kind) in kept)
    cases = [Case("s", system, (each,), kept, key=1) for each in recorded.mistakes(whole)]
    one, other = Explainer(), Explainer()
    ahead = [_told(one.explain(case)) for case in cases]
    behind = [_told(other.explain(case)) for case in reversed(cases)]
    assert ahead == behind[::-1]
    assert next(successors(system, system.initial), None) is not None


@pytest.mark.parametrize("seed", range(3))
def test_no_change_is_passed_over_that_would_explain_a_record(seed: int) -> None:
    system = random_setting(seed).system
    names = frozenset((RUN, each.name.replace("_", "-")) for each in system.transitions)
    every = sorted(names)
    known = switches(system)
    for log in itertools.product(every[:6], repeat=2):
        seen = tuple(Observation(*each) for each in log)
        case = Case("walk", system, (seen,), names)
        found = explain(case, changes=True)
        if found.answer is Answer.REJECTED:
            tried = []
            for index, switch in enumerate(known.all):
                for value in switch.mechanism.values:
                    present = known.present
                    changed = known.at((*present[:index], value, *present[index + 1 :]))
                    if explain(evolve(case, system=changed)).answer is Answer.ACCEPTED:
                        tried.append(
                            f"{switch.name}: {str(getattr(value, 'value', value)).lower()}"
                        )
            assert list(found.changes) == tried


@pytest.mark.parametrize(("texts", "broken"), [((), True), (("expire",), False)])
def test_what_a_witness_is_owed_and_has_not_got_by_the_end_of_its_record_is_broken(
    texts: tuple[str, ...], broken: bool
) -> None:
    @eventually()
    def freed(world: Any) -> bool:
        """The block is freed.

        Broken: The block is never freed.
        """
        return bool(world.block.value != "held")

    def forced(before: Any, seen: Observation) -> Any:
        after = type(before.block).FREED if seen.kind == "expire" else before.block
        return evolve(before, block=after)

    seen = log("start reader-0", "finish reader-0", "finish reader-0", *texts)
    for owed in ((), ("freed",)):
        evidence = evolve(evidence_of(lease()), forced=forced, owed=owed)
        system = evolve(lease(), properties=(freed,), evidence=evidence)
        found = explain(Case("lease", system, (seen,), KINDS, ended=True))
        told = [(each.prop, each.sentence, each.at) for each in found.broken]
        expected = [("freed", "The block is never freed.", seen[-1])]
        assert told == (expected if broken and owed else [])
