"""Records that stop before a request is over: it is told where it stands, and never accepted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackproof.checker.conform.explainer import Explainer
from rackproof.checker.conform.outcome import Answer, Explained
from rackproof.checker.conform.sources import Stack

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
        found[name] = int(said) if said.isdecimal() else said
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
