"""Records that stop before a request is over: it is told where it stands, and never accepted."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackproof.checker.conform.explainer import Explainer
from rackproof.checker.conform.outcome import Answer, Explained
from rackproof.checker.conform.sources import Stack
from rackproof.scenarios.recorded.shapes import Worlds

WORKERS = ("a", "b")
WHOLE = {
    "client": "token finish usage error end left",
    "operator": "crash hang resume drain restart",
    "frontend": "dispatch failed done over",
}


def _setting(*whole: str) -> Iterator[dict[str, Any]]:
    for name in WORKERS:
        yield {"witness": "facts", "kind": "worker", "name": name, "role": "aggregated"}
    yield {"witness": "facts", "kind": "limit", "retry-limit": 3}
    for by in whole:
        yield {"witness": "facts", "kind": "complete", "by": by, "kinds": WHOLE[by]}


def line(text: str) -> dict[str, Any]:
    """A line such as ``frontend dispatch attempt=0 worker=a``; without ``=``, a position."""
    witness, kind, *values = text.split()
    found: dict[str, Any] = {"witness": witness, "kind": kind}
    if witness not in ("operator", "discovery"):
        found["about"] = "r"
    for value in values:
        name, _, said = value.partition("=")
        plain = int(said) if said.isdecimal() and len(said) < 9 else said
        found.update({"aside": {"worker": said}} if name == "aside" else {name: plain})
    return found


def told(
    folder: Path, *lines: str, whole: tuple[str, ...] = tuple(WHOLE), stack: str = "dynamo"
) -> Explained:
    """What comes of a record of one request, of whom all was recorded."""
    asked = {"witness": "facts", "kind": "asked", "about": "r", "max-tokens": 2}
    notes = [*_setting(*whole), asked, *map(line, lines)]
    (folder / "x.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    capture = Stack(stack).capture(folder, lambda *_: None)
    (found,) = map(Explainer().explain, capture.cases())
    return found


TOKENS = ("client token position=0", "client token position=1")
END = ("client finish", "client end")
SENT = "frontend dispatch attempt=0 worker=a delivered=0"
DONE = ("frontend done attempt=0 worker=a", "frontend over outcome=done")


def test_a_request_that_nobody_ended_is_open_and_it_is_told_where_it_stands(
    tmp_path: Path,
) -> None:
    found = told(tmp_path, SENT, TOKENS[0], "operator crash worker=a")
    assert found.answer is Answer.OPEN
    assert found.reason
    assert "last token 0 at x.jsonl:9, its worker a: crash at x.jsonl:10" in found.reason.replace(
        f"{tmp_path}/", ""
    )


def test_an_open_request_that_was_given_a_token_twice_is_rejected(tmp_path: Path) -> None:
    found = told(tmp_path, SENT, TOKENS[0], TOKENS[0])
    assert found.answer is Answer.REJECTED
    assert found.place
    assert found.place.line == 10


@pytest.mark.parametrize(
    ("lines", "who"),
    [
        ((SENT, *TOKENS, *END), "frontend"),
        ((SENT, TOKENS[0], *DONE), "client"),
    ],
)
def test_a_log_that_stops_early_is_named_and_rejects_nothing(
    tmp_path: Path, lines: tuple[str, ...], who: str
) -> None:
    found = told(tmp_path, *lines)
    assert found.answer is Answer.INCONCLUSIVE
    assert found.reason
    assert f"the log of the {who} stops at " in found.reason


def test_what_a_stopped_log_says_up_to_there_is_held_against_the_model(tmp_path: Path) -> None:
    found = told(tmp_path, SENT, TOKENS[0], TOKENS[0], *DONE)
    assert found.answer is Answer.REJECTED


def test_a_worker_is_held_against_the_record_only_where_a_dispatch_names_one(
    tmp_path: Path,
) -> None:
    said = tuple(f"{text} aside=b" for text in TOKENS)
    found = told(tmp_path, *said, *END, whole=("client",))
    assert found.answer is Answer.INCONCLUSIVE
    assert not found.misattributed
    found = told(tmp_path, SENT, *said, *END, *DONE)
    assert found.answer is Answer.ACCEPTED
    assert [(one.said, one.truth, one.times) for one in found.misattributed] == [
        ("b", "worker-0", 2)
    ]


def test_a_crash_that_nobody_wrote_down_is_assumed_where_an_attempt_failed(tmp_path: Path) -> None:
    failed = "frontend failed attempt=0 worker=a error=disconnected"
    again = "frontend dispatch attempt=1 worker=b delivered=1"
    done = ("frontend done attempt=1 worker=b", "frontend over outcome=done")
    lines = (SENT, TOKENS[0], failed, again, TOKENS[1], *done, *END)
    found = told(tmp_path, *lines, whole=("client", "frontend"))
    assert found.answer is Answer.ACCEPTED
    assert len(found.assumed) == 1
    assert not any("worker b" in text or text.startswith("b ") for text in found.assumed)


def test_logs_of_workers_that_no_dispatch_names_are_left_out(tmp_path: Path) -> None:
    sent = "frontend dispatch attempt=0 worker=6316391838618606611 delivered=0"
    done = ("frontend done attempt=0 worker=6316391838618606611", "frontend over outcome=done")
    own = ("a started about=r", "a emitted about=r position=0")
    found = told(tmp_path, sent, *TOKENS, *END, *done, *own, whole=("client", "frontend"))
    assert found.answer is Answer.ACCEPTED
    assert all(seen.witness != "worker-0" for log in found.case.logs for seen in log)


def test_without_a_log_of_the_frontend_there_is_an_answer_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rackproof.checker.conform.explain.MOST_UNTOLD", 1_000)
    found = told(tmp_path, TOKENS[0], TOKENS[0], TOKENS[1], *END, whole=("client",))
    assert found.answer in (Answer.INCONCLUSIVE, Answer.REJECTED)


@pytest.mark.parametrize("what", ["operator crash worker=b", "discovery removed worker=b"])
def test_what_was_done_to_a_worker_twice_is_a_doubt(tmp_path: Path, what: str) -> None:
    whole = (SENT, *TOKENS, *END, *DONE)
    assert told(tmp_path, *whole, what, what).answer is Answer.ACCEPTED
    doubts = list[str]()
    capture = Stack("dynamo").capture(tmp_path, lambda _, words: doubts.append(words))
    assert [found.name for found in capture.cases()] == ["r"]
    assert len(doubts) == 1
    assert doubts[0].endswith("of b, which is so already: passed over")


def test_a_lease_may_lapse_though_nothing_was_done_to_its_worker(tmp_path: Path) -> None:
    lines = (SENT, *TOKENS, *END, *DONE, "discovery removed worker=a")
    assert told(tmp_path, *lines).answer is Answer.ACCEPTED


def test_a_file_beside_itself_packed_is_read_once(tmp_path: Path) -> None:
    told(tmp_path, SENT, *TOKENS, *END, *DONE)
    plain = tmp_path / "x.jsonl"
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    doubts = list[str]()
    capture = Stack("dynamo").capture(tmp_path, lambda _, words: doubts.append(words))
    assert [Explainer().explain(each).answer for each in capture.cases()] == [Answer.ACCEPTED]
    assert doubts == ["lies beside x.jsonl, which is read instead"]


def test_a_gateway_may_begin_again_as_often_as_a_world_has_room_for() -> None:
    worlds = Worlds(Stack("trtllm").bundled)
    assert [worlds.rounds(sent, 0) for sent in (1, 2, 3, 5, 9)] == [1, 1, 2, 4, 4]
    assert Worlds(Stack("dynamo").bundled).rounds(3, 0) == 0


def test_a_rejection_predicts_nothing_of_the_runs_that_come_furthest(tmp_path: Path) -> None:
    failed = "frontend failed attempt=0 worker=a error=disconnected"
    again = "frontend dispatch attempt=1 worker=a delivered=1"
    done = ("frontend done attempt=1 worker=a", "frontend over outcome=done")
    found = told(tmp_path, *TOKENS, *END, SENT, failed, again, *done, "operator crash worker=a")
    assert found.answer is Answer.REJECTED
    assert not found.broken
