"""Whatever happens to a scenario file, it is read or refused in so many words."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackproof.scenarios.errors import Problem, ScenarioError
from rackproof.scenarios.loader import loads

PATH = Path(__file__).parents[2] / "docs" / "examples" / "lease.yaml"
TEXT = PATH.read_text(encoding="utf-8")
LINES = TEXT.splitlines()
JUNK = ["", "~", "[]", "{}", "{a: b}", "- x", "&a *a", "!!int x", ": :", "\t", '"', "'", "9" * 99]


def refusal(text: str) -> tuple[Problem, ...]:
    try:
        loads(text, PATH)
    except ScenarioError as error:
        return error.problems
    return ()


def survives(text: str) -> None:
    lines = len(text.splitlines()) + 1
    for problem in refusal(text):
        assert 0 <= problem.line <= lines
        assert "\n" not in problem.message


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_edit_of_a_scenario_is_read_or_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TEXT)))
    length = data.draw(st.integers(0, 30))
    survives(
        TEXT[:at] + data.draw(st.text(max_size=8) | st.sampled_from(JUNK)) + TEXT[at + length :]
    )


@given(st.lists(st.sampled_from([*LINES, *JUNK]), max_size=15))
@settings(max_examples=200, deadline=None)
def test_any_jumble_of_lines_is_read_or_refused(lines: list[str]) -> None:
    survives("\n".join(lines))


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    survives(text)


@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("number", [i for i, line in enumerate(LINES) if ": " in line])
def test_any_value_may_be_anything(number: int, junk: str) -> None:
    lines = list(LINES)
    lines[number] = f"{lines[number].split(':')[0]}: {junk}"
    survives("\n".join(lines))


@pytest.mark.parametrize("key", ["rackproof", "name", "world", "expect", "steps", "then"])
def test_any_letter_may_be_missing_from_any_key(key: str) -> None:
    for at in range(len(key)):
        mistyped = key[:at] + key[at + 1 :]
        with pytest.raises(ScenarioError) as caught:
            loads(TEXT.replace(f"\n{key}:", f"\n{mistyped}:"), PATH)
        assert f"{mistyped}: there is no such key; did you mean {key}?" in str(caught.value)
