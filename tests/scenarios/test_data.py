"""The scenarios that come with rackproof: each loads, says why, and its written runs replay."""

from pathlib import Path

import pytest

from rackproof.checker.replay import replay
from rackproof.model.protocol import Protocol, Replay, mechanisms
from rackproof.scenarios.loader import load
from rackproof.scenarios.stacks import FOLDER, load_stack, read_stack, stack_names

ROOT = Path(__file__).parents[2] / "scenarios"
BUGS = sorted((ROOT / "bugs").glob("*.yaml"))
DRILLS = sorted((ROOT / "drills").glob("*.yaml"))
STACKS = [name for name in stack_names() if name != "reference"]
SERVING = ("stream", "retry", "endpoint", "kv")
HARMLESS = {"gateway-replay": (Replay.NEVER,)}
"""Values that do nothing where there is no place for their mechanism."""


@pytest.mark.parametrize("path", BUGS, ids=lambda path: path.stem)
def test_a_bug_has_a_source_a_violation_and_a_fix(path: Path) -> None:
    scenario = load(path)
    assert scenario.source
    assert scenario.why
    assert "violated" in {expected.verdict for expected in scenario.case.expect.values()}
    assert scenario.fix is not None


@pytest.mark.parametrize("path", DRILLS, ids=lambda path: path.stem)
def test_a_drill_says_why_and_what_it_expects_and_its_steps_replay(path: Path) -> None:
    scenario = load(path)
    assert scenario.why
    assert scenario.case.expect
    if scenario.steps is not None:
        assert replay(scenario).complaints == ()


def test_no_two_scenarios_have_the_same_name() -> None:
    names = [load(path).name for path in [*BUGS, *DRILLS]]
    assert len(names) == len(set(names)) > 30


@pytest.mark.parametrize("name", stack_names())
def test_a_stack_tells_the_source_of_every_value_that_differs(name: str) -> None:
    stack, reference = load_stack(name), Protocol()
    for mechanism in mechanisms():
        if getattr(stack.protocol, mechanism.field) != getattr(reference, mechanism.field):
            assert stack.sources.get(mechanism.name), mechanism.name


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_says_where_it_is_from_and_what_distinguishes_it(name: str) -> None:
    stack = load_stack(name)
    assert stack.version
    assert (stack.source or "").startswith("https://")
    assert 2 <= (stack.notes or "").count(". ") + 1 <= 4


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_tells_the_source_of_every_mechanism_of_serving(name: str) -> None:
    sources = load_stack(name).sources
    serving = [item.name for item in mechanisms() if item.concern in SERVING]
    assert len(serving) > 60
    assert [item for item in serving if not sources.get(item)] == []


@pytest.mark.parametrize("name", STACKS)
def test_a_concern_of_which_a_stack_names_something_is_named_whole(name: str) -> None:
    """What a stack names nothing of is as in the reference, and none of its concern."""
    sources = load_stack(name).sources
    named = {item.concern for item in mechanisms() if sources.get(item.name)}
    assert set(SERVING) <= named
    whole = [item.name for item in mechanisms() if item.concern in named]
    assert [item for item in whole if not sources.get(item)] == []


@pytest.mark.parametrize("name", STACKS)
def test_every_source_of_a_stack_says_something(name: str) -> None:
    for mechanism, source in load_stack(name).sources.items():
        _, mark, told = source.rpartition(": ")
        assert len((told if mark else source).strip()) > 3, mechanism


@pytest.mark.parametrize("name", STACKS)
def test_what_does_not_apply_to_a_stack_is_as_in_the_reference_or_as_if_it_were_not(
    name: str,
) -> None:
    """A mechanism that a stack has no place for must not break anything there."""
    stack, reference = load_stack(name), Protocol()
    for mechanism in mechanisms():
        if stack.sources.get(mechanism.name, "").startswith("not applicable:"):
            value = getattr(stack.protocol, mechanism.field)
            harmless = (getattr(reference, mechanism.field), *HARMLESS.get(mechanism.name, ()))
            assert value in harmless, mechanism.name


def test_the_reference_is_the_reference() -> None:
    assert load_stack("reference").protocol == Protocol()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version: x\n", "1: stack: is missing: the name of the stack, as its file has it"),
        ("stack: other\n", "1: stack: the file is called mine"),
        ("stack: mine\nmechanism: {}\n", "2: mechanism: there is no such key; did you mean mech"),
        ("stack: mine\nmechanisms: 3\n", "2: mechanisms: expected a map of mechanisms, not 3"),
        (
            "stack: mine\nmechanisms:\n  finish-lach: true\n",
            "3: mechanisms.finish-lach: there is no such key; did you mean finish-latch?",
        ),
        (
            "stack: mine\nmechanisms:\n  finish-latch: {value: 1, source: x}\n",
            "3: mechanisms.finish-latch.value: expected true or false, not 1",
        ),
        (
            "stack: mine\nmechanisms:\n  finish-latch: {value: true, sorce: x}\n",
            "3: mechanisms.finish-latch.sorce: there is no such key; did you mean source?",
        ),
        (
            "stack: mine\nmechanisms:\n  finish-latch: {source: x}\n",
            "3: mechanisms.finish-latch: the value is missing",
        ),
        (
            "stack: mine\nscope: {retry-limit: 99}\n",
            "2: scope.retry-limit: expected a whole number from 0 to 16, not 99",
        ),
        (
            "stack: mine\nscope: {tokens: 2}\n",
            "2: scope.tokens: there is no such key",
        ),
        ("stack: mine\npairs: 2\n", "2: pairs: expected true or false, not 2"),
    ],
)
def test_mistakes_in_a_stack_are_told(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole text is compared)
        read_stack(path)
    assert str(caught.value).removeprefix(f"{path}:").startswith(expected)


def test_the_stacks_are_where_they_are_looked_for() -> None:
    assert {"reference", *STACKS} == {path.stem for path in FOLDER.glob("*.yaml")}
    assert len(STACKS) > 8
