"""The scenarios that come with rackproof: each loads, says why, and its written runs replay."""

from pathlib import Path

import pytest

from rackproof.checker.replay import replay
from rackproof.model.protocol import Protocol, mechanisms
from rackproof.scenarios.loader import load
from rackproof.scenarios.stacks import FOLDER, load_stack, read_stack, stack_names

ROOT = Path(__file__).parents[2] / "scenarios"
BUGS = sorted((ROOT / "bugs").glob("*.yaml"))
DRILLS = sorted((ROOT / "drills").glob("*.yaml"))


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
    ],
)
def test_mistakes_in_a_stack_are_told(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole text is compared)
        read_stack(path)
    assert str(caught.value).removeprefix(f"{path}:").startswith(expected)


def test_the_stacks_are_where_they_are_looked_for() -> None:
    assert {"dynamo", "reference", "vllm-nixl"} <= {path.stem for path in FOLDER.glob("*.yaml")}
