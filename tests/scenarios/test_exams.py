"""The exams: scenarios that leave the protocol open, each with its own reason."""

from pathlib import Path

import pytest

from rackproof.model.scope import fault_names
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.exams import FOLDER, exams, read_exam
from rackproof.scenarios.schema import DEFAULT_STACK

HEAD = "rackproof: 1\nname: An exam\n"


def test_every_exam_says_why_and_leaves_the_protocol_open() -> None:
    for exam in exams():
        assert exam.why
        assert exam.bundled.stack == DEFAULT_STACK
        assert exam.bundled.mechanisms == {}


def test_no_two_exams_are_the_same() -> None:
    assert len({exam.title for exam in exams()}) == len(exams()) == len(list(FOLDER.iterdir()))
    worlds = {str((exam.bundled.rack, exam.bundled.scope, exam.bundled.faults)) for exam in exams()}
    assert len(worlds) == len(exams())


def test_an_exam_is_read_with_its_rack_and_scope(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"{HEAD}rack: {{aggregated: 3}}\nscope: {{tokens: 1, faults: {{drain: 2}}}}\n")
    exam = read_exam(path)
    assert (exam.name, exam.title, exam.why) == ("mine", "An exam", None)
    setting = exam.setting("dynamo", {"finish-latch": True})
    assert setting.origin == {
        "protocol": {"stack": "dynamo", "finish-latch": True},
        "rack": {"aggregated": 3},
        "scope": {"tokens": 1, "faults": {"drain": 2}},
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty: a scenario begins with rackproof: 1"),
        ("- a\n", "expected a map that begins with rackproof: 1, not a list"),
        ("name: x\n", "1: rackproof: is missing: a scenario begins with rackproof: 1"),
        ("rackproof: 1\n", "1: name: is missing: tell in one line what happens"),
        (f"{HEAD}protocol: {{stack: dynamo}}\n", "3: protocol: is left open in an exam: it is"),
        (f"{HEAD}expect: {{progress: holds}}\n", "3: expect: there is no such key in an exam (th"),
        (f"{HEAD}scop: {{}}\n", "3: scop: there is no such key in an exam; did you mean scope?"),
        (f"{HEAD}rack: {{path: mine.yaml}}\n", "3: rack.path: an exam is on a preset"),
        (f"{HEAD}rack: 3\n", "3: rack: expected a map with a preset and how many instances, not 3"),
        (f"{HEAD}scope: {{faults: {{crsh: 1}}}}\n", "3: scope.faults.crsh: there is no such key; "),
        ("a: [\n", "2: "),
    ],
)
def test_mistakes_in_an_exam_are_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        read_exam(path)
    assert str(caught.value).removeprefix(f"{path}:").lstrip().startswith(told)


def test_every_fault_is_in_an_exam() -> None:
    budgets = {name for exam in exams() for name, budget in exam.bundled.faults.items() if budget}
    assert budgets == set(fault_names())
