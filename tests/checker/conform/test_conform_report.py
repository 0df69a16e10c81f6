import json
import sys
from xml.etree import ElementTree as ET

import attrs
import pytest
from worlds import WORLDS

from rackproof.checker.conform.command import told_of
from rackproof.checker.conform.conformity import Conformity
from rackproof.checker.conform.outcome import (
    Allowed,
    Answer,
    Broken,
    Explained,
    Misattributed,
    Rejection,
)
from rackproof.checker.conform.renaming import numbering, renaming
from rackproof.checker.conform.tally import MOST_KINDS, Tally, is_plain, status_of
from rackproof.checker.report.conform.data import as_data
from rackproof.checker.report.conform.junit import as_junit
from rackproof.checker.report.conform.markdown import as_markdown
from rackproof.checker.report.conform.terminal import Terminal
from rackproof.checker.report.conform.words import verdict
from rackproof.checker.report.screen import console
from rackproof.checker.session import as_json
from rackproof.checker.status import Status
from rackproof.checker.trace import Trace, run
from rackproof.model.kernel import Evidence, Observation, Place, Record, successors
from rackproof.model.kernel.evidence import Case

LEASE = WORLDS["lease"][0]()
PROP = LEASE.properties[0].name


def observation(line: int, kind: str = "token", **values: int | str) -> Observation:
    return Observation("client", kind, values, place=Place("sse.jsonl", line))


def trace(steps: int) -> Trace:
    state, firings = LEASE.initial, []
    for _ in range(steps):
        firing, state = next(iter(successors(LEASE, state)))
        firings.append(firing)
    return run(LEASE, firings)


def case(name: str) -> Case:
    return Case(name, LEASE, (), called={"reader-0": "w7", "reader-1": "w9"})


def _records(_before: object, _firing: object, _after: object) -> tuple[Record, ...]:
    return (Record("client", "token", {"position": 0}, {"worker": "reader-1"}),)


TOKENS = attrs.evolve(LEASE, evidence=Evidence(_records))
"""The same world, in which each step gives the client a token, for 20 or 1 of the log."""


def explained(name: str, answer: Answer = Answer.ACCEPTED, **more: object) -> Explained:
    found = Explained(case(name), answer, trace(1), ((observation(3, "start"),),))
    return attrs.evolve(found, **more)  # type: ignore[arg-type]


def rejected(name: str, line: int = 23, had: int = 20) -> Explained:
    rejection = Rejection(
        observation(line, position=0),
        (Allowed("w7 gets the next", "client: token (position 20)"),),
        (f"delivered is {had}, and not 0",),
    )
    broken = Broken(PROP, "w9 got a token twice.", observation(line, position=0), False)
    return explained(name, Answer.REJECTED, rejection=rejection, broken=(broken,))


def wrong(name: str, times: int) -> Explained:
    """A log whose tokens name another worker: one that stands for so many."""
    seen = Observation(
        "client", "token", {"position": 0}, {"worker": "reader-0"}, Place("sse.jsonl", 24)
    )
    error = Misattributed("worker", "reader-0", "reader-1", 1, seen)
    of = attrs.evolve(case(name), system=TOKENS, numbered={0: 0, 1: times})
    return explained(name, case=of, written=((seen,),), misattributed=(error,))


USAGE = Broken(PROP, "the usage is off.", observation(90, "usage"), predicted=True)


def capture(*found: Explained, known: frozenset[str] = frozenset()) -> Conformity:
    conformity = Conformity("a/capture", "stack lease", "rackproof conform a/capture", Tally(known))
    for one in found:
        told_of(one, conformity)
    return conformity


def shown(found: Conformity, capsys: pytest.CaptureFixture[str], verbosity: int = 0) -> str:
    Terminal(console(sys.stdout), verbosity).show(found)
    return capsys.readouterr().out


ALL = (
    explained("r0"),
    rejected("r1"),
    rejected("r2", 31, 4),
    explained("r3", broken=(USAGE,)),
    explained("r4", Answer.INCONCLUSIVE, reason="there is no log of the client"),
    wrong("r5", 40),
    wrong("r6", 2),
)


def test_the_verdict_is_one_line() -> None:
    told = verdict(capture(*ALL).tally, "request")
    assert told == (
        "7 requests: 4 accepted, 2 rejected, 1 inconclusive; "
        "broken: no-overwrite-in-flight (3 requests)"
    )
    assert verdict(capture(explained("r")).tally, "block") == "1 block: 1 accepted"
    assert verdict(capture().tally, "request") == "there is no request in it"


@pytest.mark.parametrize(
    ("found", "known", "status"),
    [
        (explained("r"), (), Status.OK),
        (rejected("r"), (), Status.VIOLATED),
        (rejected("r"), (PROP,), Status.VIOLATED),
        (explained("r", broken=(USAGE,)), (), Status.VIOLATED),
        (explained("r", broken=(USAGE,)), (PROP,), Status.OK),
        (explained("r", Answer.INCONCLUSIVE, reason="no log"), (PROP,), Status.INCONCLUSIVE),
        (wrong("r", 1), (), Status.OK),
    ],
)
def test_status_of_a_case(found: Explained, known: tuple[str, ...], status: Status) -> None:
    assert status_of(found, frozenset(known)) is status
    assert capture(found, known=frozenset(known)).status is status


def test_a_capture_without_a_case_is_bad_input() -> None:
    assert capture().status is Status.BAD_INPUT


def test_a_rejection_is_told_with_all_that_is_known_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = shown(capture(rejected("r1")), capsys)
    for part in (
        "1 request: 1 rejected",
        "request r1 is rejected at sse.jsonl:23, which breaks no-overwrite-in-flight",
        "nothing explains client: token (position 0) at sse.jsonl:23",
        "w7 gets the next (client: token (position 20))",
        "delivered is 20, and not 0",
        "breaks no-overwrite-in-flight: w9 got a token twice. (client: token (position 0)",
        "Held against: stack lease",
        "To see it again: rackproof conform a/capture",
    ):
        assert part in told
    assert "reader-" not in told, "the names are those of the logs"
    assert "1. " not in told, "the run is told with -v"


def test_what_is_missing_at_the_end_is_told_after_the_last_record(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = rejected("r1")
    assert found.rejection is not None
    over = attrs.evolve(found, rejection=attrs.evolve(found.rejection, after=True))
    told = shown(capture(over), capsys)
    assert "nothing explains that it is over with client: token (position 0)" in told


def test_with_v_the_run_is_told_with_what_was_recorded_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = shown(capture(rejected("r1")), capsys, 1)
    (line,) = (line for line in told.splitlines() if "1. " in line)
    assert "client: start at sse.jsonl:3" in line


def test_what_looks_alike_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    told = shown(capture(*(rejected(f"r{n}", 20 + n, n) for n in range(30))), capsys)
    assert told.count("nothing explains") == 1
    assert "and 29 more like it: r1, r2, r3, r4, r5, r6, r7, r8 and others" in told


def test_kinds_of_findings_beyond_a_limit_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    others = [
        explained(f"r{n}", Answer.INCONCLUSIVE, reason="because of " + "x" * n)
        for n in range(MOST_KINDS + 7)
    ]
    found = capture(*others)
    assert found.tally.unkept == {Answer.INCONCLUSIVE: 7}
    told = shown(found, capsys, 1)
    assert "7 cases of other kinds, which were only counted" in told


def test_errors_of_logs_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    told = shown(capture(*ALL), capsys)
    (line,) = (line for line in told.splitlines() if "wrong" in line and "record" in line)
    assert line.strip() == (
        "client: wrong worker in 42 token records of 2 requests "
        "(first sse.jsonl:24: says w7, was w9)"
    )


def test_known_violations_are_told_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    told = shown(capture(explained("r3", broken=(USAGE,)), known=frozenset({PROP})), capsys)
    assert "broken: no-overwrite-in-flight (1 request, known)" in told
    assert "a known defect of the stack" in told
    assert "does not count (--known)" in told


def test_quiet_is_the_verdict_and_a_line_for_each_kind_of_finding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = shown(capture(*ALL), capsys, -1)
    first, *rest = told.splitlines()
    assert first.startswith("FAILED a/capture: 7 requests")
    assert [line.partition(" is ")[0] for line in rest] == [
        "  sse.jsonl:23: request r1",
        "  sse.jsonl:90: request r3",
        "  request r4",
    ]
    assert rest[1].endswith("(the usage is off); a known defect of the stack")


def test_json_has_every_case_that_is_not_plain() -> None:
    found = capture(*ALL)
    data = json.loads(as_json([as_data(found)]))[0]
    assert (data["count"], data["accepted"], data["rejected"], data["inconclusive"]) == (7, 4, 2, 1)
    assert [one["name"] for one in data["cases"]] == ["r1", "r2", "r3", "r4", "r5", "r6"]
    first = data["cases"][0]
    assert first["rejection"]["at"]["line"] == 23
    assert first["rejection"]["at"]["values"] == {"position": 0}
    assert first["breaks"][0]["sentence"] == "w9 got a token twice."
    assert first["run"][0]["recorded"][0]["file"] == "sse.jsonl"
    assert data["cases"][4]["log_errors"][0]["truth"] == "w9"
    assert data["status"] == 1
    assert data["cases_left_out"] == 0


def test_junit_has_a_case_for_each_request_that_is_not_plain_and_one_for_the_rest() -> None:
    (suite,) = ET.fromstring(as_junit([capture(*ALL)]))
    cases = suite.findall("testcase")
    assert [one.get("name") for one in cases] == [
        "r1", "r2", "r3", "r4", "r5", "r6", "1 other request",
    ]  # fmt: skip
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("7", "3", "1")
    assert (cases[0].get("file"), cases[0].get("line")) == ("sse.jsonl", "23")
    assert "delivered is 20" in (cases[0].findtext("failure") or "")
    assert cases[3].find("error") is not None
    assert cases[4].find("system-out") is not None, "an error of a log fails nothing"


def test_junit_of_an_empty_capture_is_no_success() -> None:
    (suite,) = ET.fromstring(as_junit([capture()]))
    assert suite.get("errors") == "1"


def test_markdown_tells_what_the_terminal_does() -> None:
    told = as_markdown([capture(*ALL)])
    small = as_markdown([capture(*ALL)], 500)
    assert len(small.encode()) <= 500
    assert "1 part of 2" in small
    assert "| FAILED | a/capture | 7 requests: 4 accepted" in told
    assert "nothing explains client: token (position 0) at sse.jsonl:23" in told
    assert "rackproof conform a/capture" in told


def test_texts_of_logs_steer_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "r\x1b[31m\n@everyone <b>"
    found = capture(attrs.evolve(rejected("x"), case=case(evil)))
    told = shown(found, capsys, 1)
    assert "\x1b" not in told
    assert "\n@everyone" not in told
    assert "<b>" not in as_markdown([found]).split("```")[0]
    ET.fromstring(as_junit([found]))


def test_names_are_renamed_whole_and_at_once() -> None:
    rename = renaming({"reader-1": "reader-10", "reader-10": "w1"})
    assert rename("reader-1, reader-10, a-reader-1, reader-11") == (
        "reader-10, w1, a-reader-1, reader-11"
    )
    rename = renaming({"prefix-0": "block 9"})
    assert rename("stored (block prefix-0), of prefix-0") == "stored (block 9), of block 9"


def test_positions_are_told_in_the_numbers_of_the_logs() -> None:
    number = numbering({0: 0, 1: 19, 2: 20, 3: 40})
    assert number("client token: position 2, worker w2") == "client token: position 20, worker w2"
    assert number("attempt-1.sent (3) <= attempt-1.received (2)") == (
        "attempt-1.sent (40) <= attempt-1.received (20)"
    )
    assert number("w2 sends token 2, and no token 7") == "w2 sends token 20, and no token 7"


def test_a_case_is_plain_if_there_is_nothing_to_tell() -> None:
    assert [is_plain(one) for one in ALL] == [True, False, False, False, False, False, False]
