"""From findings and expectations to verdicts and exit statuses."""

import itertools

import pytest
from worlds import pool

from rackproof.checker.status import Status, worst
from rackproof.checker.trace import Trace, run
from rackproof.checker.verdicts import Findings, Result, Verdict, results
from rackproof.model.kernel import Firing, System
from rackproof.scenarios.schema import Expectation

SYSTEM = pool(2, 1, 1)
HOLDS, PROVED = Expectation("holds"), Expectation("proved")
VIOLATED = Expectation("violated")


def findings(reason: str | None = None, **more: object) -> Findings:
    return Findings("search", 31, 60, 5, 0.1, 7, reason, **more)  # type: ignore[arg-type]


def trace(system: System = SYSTEM) -> Trace:
    """A request waits for ever: two steps, one of them a fault."""
    named = {transition.name: transition for transition in system.transitions}
    return run(system, [Firing(named["dispatch"], (0, 1)), Firing(named["hang"], (1,))])


def result(verdict: Verdict, expected: Expectation | None, *, judged: bool = True) -> Result:
    seen = trace() if verdict is Verdict.VIOLATED else None
    return Result(SYSTEM.properties[0], verdict, "why", seen, expected, judged)


def verdict_of(name: str, found: Findings, silent: tuple[str, ...] = ()) -> tuple[Verdict, object]:
    (one,) = (r for r in results(SYSTEM, found, {}, silent) if r.prop.name == name)
    return one.verdict, one.reason


def test_what_an_exhausted_search_did_not_violate_holds() -> None:
    assert verdict_of("answered", findings()) == (Verdict.HOLDS, None)


def test_a_violation_stands_even_where_the_search_was_cut_short() -> None:
    found = findings("out of time", violated={"answered": trace()})
    assert verdict_of("answered", found) == (Verdict.VIOLATED, None)


def test_what_was_not_seen_to_the_end_is_inconclusive_and_says_why() -> None:
    assert verdict_of("answered", findings("out of time")) == (Verdict.INCONCLUSIVE, "out of time")


def test_a_premise_that_never_happens_makes_a_pass_vacuous() -> None:
    assert verdict_of("fails-last", findings()) == (
        Verdict.VACUOUS,
        "this never happens: a request failed",
    )
    met = findings(reached=frozenset({"somebody-failed"}))
    assert verdict_of("fails-last", met) == (Verdict.HOLDS, None)


def test_a_premise_is_not_missed_before_every_state_was_seen() -> None:
    assert verdict_of("fails-last", findings("out of memory"))[0] is Verdict.INCONCLUSIVE


def test_a_fault_that_never_took_effect_makes_a_pass_vacuous() -> None:
    assert verdict_of("answered", findings(), ("the fault hang (budget 1)",)) == (
        Verdict.VACUOUS,
        "the fault hang (budget 1) never took effect",
    )


@pytest.mark.parametrize(
    ("verdict", "expected", "status"),
    [
        (Verdict.PROVED, None, Status.OK),
        (Verdict.HOLDS, None, Status.OK),
        (Verdict.VIOLATED, None, Status.VIOLATED),
        (Verdict.VACUOUS, None, Status.OK),
        (Verdict.INCONCLUSIVE, None, Status.INCONCLUSIVE),
        (Verdict.PROVED, HOLDS, Status.OK),
        (Verdict.HOLDS, HOLDS, Status.OK),
        (Verdict.VIOLATED, HOLDS, Status.VIOLATED),
        (Verdict.VACUOUS, HOLDS, Status.VIOLATED),
        (Verdict.INCONCLUSIVE, HOLDS, Status.INCONCLUSIVE),
        (Verdict.PROVED, PROVED, Status.OK),
        (Verdict.HOLDS, PROVED, Status.INCONCLUSIVE),
        (Verdict.VIOLATED, PROVED, Status.VIOLATED),
        (Verdict.VACUOUS, PROVED, Status.VIOLATED),
        (Verdict.INCONCLUSIVE, PROVED, Status.INCONCLUSIVE),
        (Verdict.PROVED, VIOLATED, Status.VIOLATED),
        (Verdict.HOLDS, VIOLATED, Status.VIOLATED),
        (Verdict.VIOLATED, VIOLATED, Status.OK),
        (Verdict.VACUOUS, VIOLATED, Status.VIOLATED),
        (Verdict.INCONCLUSIVE, VIOLATED, Status.INCONCLUSIVE),
    ],
)
def test_every_verdict_against_every_expectation(
    verdict: Verdict, expected: Expectation | None, status: Status
) -> None:
    one = result(verdict, expected)
    assert one.status is status
    assert (one.complaint is None) is (status is Status.OK)
    assert result(verdict, expected, judged=False).status is Status.OK


@pytest.mark.parametrize(
    ("expected", "complaint"),
    [
        (Expectation("violated", 2, 1), None),
        (Expectation("violated", 2), None),
        (Expectation("violated", faults=1), None),
        (Expectation("violated", 3), "expected a shortest run of 3 steps, not 2"),
        (Expectation("violated", faults=0), "expected a shortest run of 0 faults, not 1"),
        (
            Expectation("violated", 9, 2),
            "expected a shortest run of 9 steps, not 2 and 2 faults, not 1",
        ),
    ],
)
def test_a_length_that_is_expected_must_be_the_length(
    expected: Expectation, complaint: str | None
) -> None:
    assert result(Verdict.VIOLATED, expected).complaint == complaint


def test_an_unmet_expectation_says_what_was_expected_and_what_is() -> None:
    assert result(Verdict.VIOLATED, HOLDS).complaint == (
        "expected holds, but it is violated: 1 fault, 2 steps"
    )
    assert result(Verdict.VACUOUS, HOLDS).complaint == "expected holds, but it is vacuous (why)"
    assert result(Verdict.INCONCLUSIVE, VIOLATED).complaint == (
        "expected violated, but it is inconclusive (why)"
    )


def test_properties_that_a_scenario_does_not_name_are_told_but_do_not_count() -> None:
    found = findings(violated={"answered": trace()})
    answered, fails_last = results(SYSTEM, found, {"fails-last": HOLDS})
    assert (answered.verdict, answered.judged, answered.status) == (
        Verdict.VIOLATED,
        False,
        Status.OK,
    )
    assert (fails_last.judged, fails_last.status) == (True, Status.VIOLATED)


def test_the_gravest_status_wins() -> None:
    order = [
        Status.INTERRUPTED,
        Status.OUR_FAULT,
        Status.BAD_INPUT,
        Status.VIOLATED,
        Status.INCONCLUSIVE,
        Status.OK,
    ]
    for graver, lesser in itertools.combinations(order, 2):
        assert worst([lesser, graver, lesser]) is graver
    assert worst([]) is Status.OK
