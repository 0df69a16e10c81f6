"""What a log may say, and what comes of what it says otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rackproof.checker.conform.explain import explain
from rackproof.checker.conform.outcome import Answer
from rackproof.checker.conform.sources import Stack

MIGRATED: list[dict[str, Any]] = [
    {"witness": "facts", "kind": "worker", "name": "a", "role": "aggregated"},
    {"witness": "facts", "kind": "worker", "name": "b", "role": "aggregated"},
    {"witness": "facts", "kind": "limit", "retry-limit": 3},
    {"witness": "facts", "kind": "asked", "about": "r", "max-tokens": 2},
    {"witness": "facts", "kind": "complete", "by": "client", "kinds": "token finish error end"},
    {"witness": "facts", "kind": "complete", "by": "operator", "kinds": "crash hang drain"},
    {
        "witness": "facts",
        "kind": "complete",
        "by": "frontend",
        "kinds": "dispatch failed over",
    },
    {"witness": "client", "kind": "token", "about": "r", "position": 0},
    {"witness": "client", "kind": "token", "about": "r", "position": 1},
    {"witness": "client", "kind": "finish", "about": "r", "aside": {"reason": "length"}},
    {"witness": "client", "kind": "end", "about": "r"},
    {
        "witness": "frontend",
        "kind": "dispatch",
        "about": "r",
        "attempt": 0,
        "worker": "a",
        "delivered": 0,
    },
    {
        "witness": "frontend",
        "kind": "failed",
        "about": "r",
        "attempt": 0,
        "worker": "a",
        "error": "disconnected",
    },
    {
        "witness": "frontend",
        "kind": "dispatch",
        "about": "r",
        "attempt": 1,
        "worker": "b",
        "delivered": 1,
    },
    {"witness": "frontend", "kind": "done", "about": "r", "attempt": 1, "worker": "b"},
    {"witness": "frontend", "kind": "over", "about": "r", "outcome": "done"},
    {"witness": "operator", "kind": "crash", "worker": "a"},
]


def told(text: str, tmp_path: Path) -> tuple[Answer, list[str]]:
    """What comes of a neutral log, and its doubts."""
    file, doubts = tmp_path / "x.jsonl", list[str]()
    file.write_text(text)
    source = Stack("dynamo", mapping="neutral")
    capture = source.capture(file, lambda place, words: doubts.append(f"{place.line}: {words}"))
    (case,) = capture.cases()
    return explain(case).answer, doubts


def changed(line: int, old: str, new: str) -> str:
    lines = [json.dumps(one) for one in MIGRATED]
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("line", "old", "new", "words"),
    [
        (9, '"position": 1', '"position": true', "the position is no whole number: true"),
        (9, '"position": 1', '"positon": 1', "no value 'positon'; did you mean position?"),
        (9, '"position": 1', '"position": "two"', "the position is no whole number: two"),
        (10, '"length"', '"lenght"', "none that there is: lenght; did you mean length?"),
        (10, '"finish"', '"finsh"', "no kind of client 'finsh'; did you mean finish?"),
        (10, '"client"', '"clinet"', "did you mean client?"),
        (13, "disconnected", "banana-error", "the error is none that there is: banana-error"),
        (13, "disconnected", "disconected", "disconected; did you mean disconnected?"),
        (14, '"delivered": 1', '"delivered": [1]', "the delivered is no flag, number or text"),
        (16, '"done"', '"don"', "the outcome is none that there is: don; did you mean done?"),
        (17, '"crash"', '"crsh"', "no kind of operator 'crsh'; did you mean crash?"),
        (17, '"worker": "a"', '"workr": "a"', "no value 'workr'; did you mean worker?"),
        (4, '"max-tokens"', '"max-token"', "no value 'max-token'; did you mean max-tokens?"),
        (6, '"crash hang drain"', '"crsh hang"', "crsh; did you mean crash?"),
        (9, '"position": 1', '"position": 1,,', "is no JSON"),
    ],
)
def test_what_nobody_knows_the_meaning_of_is_told_and_accepted_never(
    line: int, old: str, new: str, words: str, tmp_path: Path
) -> None:
    answer, (doubt, *_) = told(changed(line, old, new), tmp_path)
    assert doubt.startswith(f"{line}: ")
    assert words in doubt
    assert answer is not Answer.ACCEPTED


def test_numbers_in_quotes_are_numbers(tmp_path: Path) -> None:
    assert told(changed(9, '"position": 1', '"position": "1"'), tmp_path) == (Answer.ACCEPTED, [])
    answer, doubts = told(changed(9, '"position": 1', '"position": "7"'), tmp_path)
    assert (answer, doubts) == (Answer.REJECTED, [])


def test_facts_that_contradict_each_other_are_told_with_both_places(tmp_path: Path) -> None:
    text = changed(3, "3}", '3}\n{"witness": "facts", "kind": "limit", "retry-limit": 1}')
    answer, doubts = told(text, tmp_path)
    assert answer is Answer.ACCEPTED
    place = tmp_path / "x.jsonl"
    words = f"says that retry-limit is 1, and {place}:3 that it is 3: the former counts"
    assert doubts == [f"4: {words}"]
