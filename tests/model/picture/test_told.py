"""The sentences of runs that reviewers read: exact, so that a wording is changed on purpose."""

from pathlib import Path

import pytest
from runs import steps_of

_SECTIONS = (Path(__file__).parent / "told.md").read_text(encoding="utf-8").split("## ")
TOLD = {name: lines for name, *lines in (text.split("\n") for text in _SECTIONS if text.strip())}


@pytest.mark.parametrize("bug", TOLD)
def test_a_run_is_told_in_these_words(bug: str) -> None:
    told = [line for line in TOLD[bug] if line]
    assert [step.words for step in steps_of(bug)[1]] == told
