"""Records of a world of one's own."""

from __future__ import annotations

import re

import pytest
from worlds import WORLDS

from rackproof.checker.conform.explain import explain
from rackproof.checker.conform.outcome import Answer
from rackproof.checker.conform.own import case_of_world
from rackproof.model.kernel import Observation, Place
from rackproof.model.kernel.evidence import Value
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.worlds import InputError

LEASE = WORLDS["lease"][0]()


def noted(*lines: tuple[str, dict[str, Value]], witness: str = "run") -> list[Noted]:
    """Lines of a file, of one clock."""
    return [
        Noted(None, Observation(witness, kind, values, {}, Place("lease.jsonl", line)), "clock")
        for line, (kind, values) in enumerate(lines, 1)
    ]


WHOLE = noted(("start", {"reader": "reader-0"}), ("slow_read", {}), ("finish", {}), ("reuse", {}))


def test_a_record_is_one_case_whose_kinds_are_the_transitions() -> None:
    case = case_of_world(LEASE, WHOLE)
    assert [each.kind for each in case.logs[0]] == ["start", "slow-read", "finish", "reuse"]
    assert case.complete == {("run", each.kind) for each in case.logs[0]}
    assert explain(case).answer is Answer.ACCEPTED


def test_lines_of_two_clocks_have_no_order() -> None:
    first, second = noted(("reuse", {})), noted(("start", {}), ("slow-read", {}))
    lines = [*first, *(Noted(None, each.observation, "other") for each in second)]
    assert explain(case_of_world(LEASE, lines)).answer is Answer.ACCEPTED
    assert explain(case_of_world(LEASE, [*first, *second])).answer is Answer.REJECTED


def test_a_kind_that_is_never_there_may_have_happened_unless_it_is_said_to_be_complete() -> None:
    lines = noted(("start", {}), ("reuse", {}))
    assumed = explain(case_of_world(LEASE, lines))
    assert assumed.answer is Answer.ACCEPTED
    said = noted(("complete", {"finish": True, "slow-read": True}), witness="facts")
    assert explain(case_of_world(LEASE, [*lines, *said])).answer is Answer.REJECTED
    ended = noted(("complete", {"ended": True}), witness="facts")
    assert case_of_world(LEASE, [*lines, *ended]).ended


def test_a_line_may_say_what_fields_hold_after_its_step() -> None:
    lines = noted(("start", {"last": "reader-1"}), ("slow-read", {"block": "freed"}))
    found = explain(case_of_world(LEASE, lines))
    assert found.answer is Answer.ACCEPTED
    assert found.trace.final.last == 1
    wrong = noted(("start", {"last": "reader-1"}), ("slow-read", {"block": "reused"}))
    found = explain(case_of_world(LEASE, wrong))
    assert found.place == Place("lease.jsonl", 2)


@pytest.mark.parametrize(
    ("line", "witness", "message"),
    [
        (("strat", {}), "run", "lease has no transition 'strat'; did you mean start?"),
        (
            ("start", {"reader": "reader-7"}),
            "run",
            "reader: there is no reader 'reader-7'; did you mean reader-1?",
        ),
        (
            ("expire", {"blok": "freed"}),
            "run",
            "blok: expire takes nothing, and the world has no such field; did you mean block?",
        ),
        (("start", {}), "rnu", "nobody called 'rnu' writes of this world; did you mean run?"),
        (("worker", {}), "facts", "there is no fact 'worker' (there are: complete)"),
    ],
)
def test_what_the_world_does_not_know_is_refused_with_its_place(
    line: tuple[str, dict[str, Value]], witness: str, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(f"lease.jsonl:1: {message}")):
        case_of_world(LEASE, noted(line, witness=witness))
