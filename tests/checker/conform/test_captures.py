"""Each capture of a real system gets the right answer, and so does each that was tampered with.

The rule, which docs/conformance.md states for users. Where tokens have positions, a stream in
which one is dropped, doubled or out of place is rejected at the first token (or the finish) that is
not the next one. Where they are only counted, one that is missing is so at the finish, and one too
many is over the limit; swapped and moved tokens are not seen. In the record of a worker a token
that its client was given has to be there, once and in its place. A stream that ends in an error
tells nobody how many tokens there were before it.
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from attrs import frozen
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rackproof.checker.cli import run
from rackproof.checker.conform.explainer import Explainer
from rackproof.checker.conform.outcome import Answer, Explained
from rackproof.checker.conform.sources import Requests, Stack

CAPTURES = Path(__file__).parents[2] / "data" / "dynamo-1.6.1"

EXPLAINER = Explainer()


def explained(folder: Path) -> dict[str, Explained]:
    """What came of each request, by its name; worlds are explored once for all tests."""
    capture = Stack("dynamo").capture(folder, lambda place, words: pytest.fail(f"{place}: {words}"))
    assert isinstance(capture, Requests)
    return {case.name: EXPLAINER.explain(case) for case in capture.cases()}


@cache
def untouched(name: str) -> dict[str, Explained]:
    return explained(CAPTURES / name)


Broken = dict[str, bool]
"""Properties that are broken, and whether the model has such runs too."""

EXPECTED: dict[str, tuple[int, int, int, Broken]] = {
    "basic_SIGKILL_lim0_w2_round-robin": (1, 0, 0, {}),
    "basic_SIGKILL_lim3_w2_round-robin": (1, 0, 0, {"usage-exact": True}),
    "basic_SIGTERM_lim3_w2_kv": (1, 0, 0, {}),
    "disagg_decode_SIGKILL_lim3_b1_kv_n1": (2, 0, 0, {"usage-exact": True}),
    "fault_incomplete": (1, 1, 0, {"clear-failure": False}),
    "kills_lim1_w4_cw_round-robin": (2, 0, 0, {}),
    "kills_lim3_w5_cw_kv": (2, 0, 0, {}),
    "misc_replay_kill": (
        0, 1, 0, {"no-duplicate-tokens": False, "max-tokens-kept": False, "usage-exact": False}
    ),
    "zombie_lim0_tmo3_round-robin": (4, 0, 2, {}),
    "zombie_lim3_tmo3_round-robin": (5, 0, 0, {}),
}  # fmt: skip
"""How many requests are accepted, rejected and inconclusive, and what they break."""


@pytest.mark.parametrize("name", EXPECTED)
def test_every_capture_gets_the_right_answer(name: str) -> None:
    found = untouched(name).values()
    answers = [one.answer for one in found]
    broken = {one.prop: one.predicted for each in found for one in each.broken}
    told = (Answer.ACCEPTED, Answer.REJECTED, Answer.INCONCLUSIVE)
    assert (*map(answers.count, told), broken) == EXPECTED[name]
    assert Answer.OPEN not in answers


def place(found: Explained) -> tuple[str, int]:
    assert found.place is not None
    return Path(found.place.file).name, found.place.line


def test_the_replayed_stream_is_rejected_at_the_token_that_comes_again() -> None:
    (found,) = untouched("misc_replay_kill").values()
    assert place(found) == ("sse_s0.jsonl", 23), "the 21st token"
    at = {one.prop: one.at.place.line for one in found.broken if one.at and one.at.place}
    assert at["no-duplicate-tokens"] == 23
    assert at["max-tokens-kept"] == 63, "the 61st token, of 60 that were allowed"


def test_the_stream_without_a_finish_is_rejected_at_its_end() -> None:
    (found,) = (f for f in untouched("fault_incomplete").values() if f.answer is Answer.REJECTED)
    assert place(found) == ("sse_s0.jsonl", 13)
    assert found.rejection is not None
    assert found.rejection.at.kind == "end"


def test_a_time_out_that_the_log_tells_of_is_one_of_the_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "zombie"
    folder.mkdir()
    for file in ("events.jsonl", "fe.log", "sse_s0.jsonl", "cw0.jsonl", "cw1.jsonl"):
        shutil.copy(CAPTURES / "zombie_lim0_tmo3_round-robin" / file, folder)
    arguments = ["conform", str(folder), "--stack", "dynamo", "--json", str(tmp_path / "it.json")]
    assert run([*arguments, "--quiet", "--set", "stream-timeout=false"]) == 1
    capsys.readouterr()
    with_it = run([*arguments, "--one-host"])
    told = capsys.readouterr().out
    assert with_it == 3, "four requests without a stream of their client are left open"
    assert "1 accepted, 4 inconclusive" in told
    assert "retry-limit: 0, as events.jsonl:1 says" in told
    assert "stream-timeout: true, 3 s, as fe.log:31 says" in told
    (capture,) = json.loads((tmp_path / "it.json").read_text())
    rows = {row["error"]: row for row in capture["migrations"]["rows"]}
    assert 2.9 < rows["response-timeout"]["detection_p50_s"] < 3.1
    assert rows["response-timeout"]["detection_predicted_most_s"] == 3


# What a person did to a log.


@frozen
class Log:
    """A stream of a client or a record of a worker: the numbers of its lines with a token."""

    capture: str
    file: str
    lines: tuple[int, ...]

    @property
    def of_client(self) -> bool:
        return self.file.startswith("sse")

    @property
    def labelled(self) -> bool:
        return not self.capture.startswith(("basic", "disagg"))

    def read(self) -> list[dict[str, Any]]:
        text = (CAPTURES / self.capture / self.file).read_text()
        return [json.loads(line) for line in text.splitlines()]


def content(line: dict[str, Any]) -> dict[str, Any] | None:
    """Where a line of a client has its token, if it has one."""
    text = str(line.get("line", ""))
    if not text.startswith("data: {"):
        return None
    choices = json.loads(text[6:]).get("choices")
    return choices[0]["delta"] if choices and choices[0]["delta"].get("content") else None


def is_token(line: dict[str, Any]) -> bool:
    return line.get("ev") == "tok" or content(line) is not None


def token(line: dict[str, Any]) -> Any:
    found = content(line)
    return line.get("tok") if found is None else found["content"]


def with_token(line: dict[str, Any], text: Any, last: bool = True) -> dict[str, Any]:
    """A line with another token; last: with the finish reason that it has, if any."""
    if "tok" in line:
        return {**line, "tok": text}
    data = json.loads(line["line"][6:])
    data["choices"][0]["delta"]["content"] = text
    if not last:
        data["choices"][0]["finish_reason"] = None
    return {**line, "line": f"data: {json.dumps(data)}"}


@cache
def logs() -> list[Log]:
    """Every log that has tokens of a single request, of a capture that is as it should be."""
    found = []
    for folder in (CAPTURES / name for name, (_, rejected, *_) in EXPECTED.items() if not rejected):
        for file in sorted([*folder.glob("sse_*.jsonl"), *folder.glob("cw*.jsonl")]):
            log = Log(folder.name, file.name, ())
            held = log.read()
            starts = [line for line in held if line.get("ev") == "start"]
            numbers = tuple(n for n, line in enumerate(held) if is_token(line))
            if len(numbers) > 2 and len(starts) < 2:
                found.append(Log(folder.name, file.name, numbers))
    return found


KINDS = ("dropped", "doubled", "swapped", "moved")


def tampered(log: Log, kind: str, index: int, to: int) -> tuple[list[dict[str, Any]], int]:
    """The lines after something was done to a token, and the line (from one) that is wrong."""
    held, lines = log.read(), log.lines
    tokens = [token(held[n]) for n in lines]
    if kind == "doubled":
        here = lines[index]
        held.insert(here, with_token(held[here], tokens[index], last=False))
        return held, here + 2
    if kind == "dropped":
        here = lines[index]
        if log.of_client:
            held[here] = with_token(held[here], "")
            return held, lines[min(index + 1, len(lines) - 1)] + 1
        del held[here]
        return held, here + 1
    to = min(index + 1, len(lines) - 1) if kind == "swapped" else to
    tokens.insert(to, tokens.pop(index))
    for n, text in zip(lines, tokens, strict=True):
        held[n] = with_token(held[n], text)
    return held, lines[min(index, to)] + 1


@st.composite
def tamperings(draw: st.DrawFn) -> tuple[Log, str, int, int]:
    log = draw(st.sampled_from(logs()))
    index = draw(st.integers(0, len(log.lines) - 1))
    to = draw(st.integers(0, len(log.lines) - 1))
    return log, draw(st.sampled_from(KINDS)), index, to


def answer(log: Log, held: list[dict[str, Any]], folder: Path) -> Explained | None:
    """What came of the request whose log it is: the rejected one, if one is."""
    for file in (CAPTURES / log.capture).iterdir():
        if file.name != log.file:
            (folder / file.name).symlink_to(file)
    text = "".join(f"{json.dumps(line)}\n" for line in held)
    (folder / log.file).write_text(text)
    found = [one for one in explained(folder).values() if one.answer is Answer.REJECTED]
    assert len(found) < 2
    return found[0] if found else None


def expected(log: Log, kind: str, index: int, wrong: int) -> int | None:
    """The line that is to be rejected; None where nobody can tell that anything was done."""
    is_last = kind == "dropped" and index == len(log.lines) - 1
    if not log.of_client:
        return AT_THE_END if is_last else wrong
    if log.labelled and not is_last:
        return wrong
    if kind in ("swapped", "moved"):
        return None
    return finish(log) if kind == "dropped" else finish(log) and log.lines[-1] + 2


AT_THE_END = -1
"""Of a worker's record, as nothing but its end tells that its last token is missing."""


def finish(log: Log) -> int | None:
    """The line of a stream's finish, which tells that there are no more tokens; None without."""
    told = ('"finish_reason":"length"' in str(line.get("line")) for line in log.read())
    return next((number for number, is_finish in enumerate(told, 1) if is_finish), None)


@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate])
@given(tamperings())
def test_a_log_that_was_tampered_with_is_rejected_at_that_token(
    tampering: tuple[Log, str, int, int],
) -> None:
    check(*tampering)


def check(log: Log, kind: str, index: int, to: int) -> None:
    held, wrong = tampered(log, kind, index, to)
    if [*map(token, held)] == [*map(token, log.read())]:
        return  # it was moved to where it was
    with TemporaryDirectory(prefix=log.capture) as folder:
        found = answer(log, held, Path(folder))
    line = expected(log, kind, index, wrong)
    if line is None:
        assert found is None
    else:
        assert found is not None
        assert found.rejection is not None
        file, at = place(found)
        assert file == log.file
        assert at == line or (line == AT_THE_END and (found.rejection.after or at >= wrong))


@pytest.mark.parametrize(
    ("capture", "file", "kind", "index", "line"),
    [
        ("kills_lim1_w4_cw_round-robin", "sse_s0.jsonl", "dropped", 9, 13),
        ("kills_lim1_w4_cw_round-robin", "sse_s0.jsonl", "dropped", 19, None),
        ("kills_lim1_w4_cw_round-robin", "cw1.jsonl", "dropped", 9, AT_THE_END),
        ("basic_SIGTERM_lim3_w2_kv", "sse_s0.jsonl", "dropped", 7, 63),
        ("basic_SIGTERM_lim3_w2_kv", "sse_s0.jsonl", "doubled", 7, 63),
        ("basic_SIGTERM_lim3_w2_kv", "sse_s0.jsonl", "swapped", 7, None),
        ("basic_SIGKILL_lim0_w2_round-robin", "sse_s0.jsonl", "dropped", 7, None),
    ],
)
def test_the_rule_at_its_edges(
    capture: str, file: str, kind: str, index: int, line: int | None
) -> None:
    """The token before a migration, the last one before an error, and tokens without positions."""
    (log,) = (one for one in logs() if (one.capture, one.file) == (capture, file))
    _, wrong = tampered(log, kind, index, 0)
    assert expected(log, kind, index, wrong) == line
    check(log, kind, index, 0)
