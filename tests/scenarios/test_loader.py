"""Reading scenarios: what is right becomes data, what is wrong is told with file, line and key."""

import re
from pathlib import Path

import pytest

from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.loader import is_scenario, load, loads
from rackproof.scenarios.schema import Expectation

WORLDS = Path(__file__).parents[1] / "support" / "worlds.py"
HEAD = "rackproof: 1\nname: A pool\nworld: own.py:world\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a world of one's own: two workers, one request, one fault."""
    text = WORLDS.read_text(encoding="utf-8")
    (tmp_path / "own.py").write_text(f"{text}\nworld = pool(2, 1, 1)\n", encoding="utf-8")
    return tmp_path


def problems(text: str, folder: Path) -> list[str]:
    """The problems of a text, without the name of the file."""
    path = folder / "s.yaml"
    with pytest.raises(ScenarioError) as caught:
        loads(text, path)
    lines = str(caught.value).split("\n")
    assert all(line.startswith(f"{path}:") for line in lines)
    return [line.removeprefix(f"{path}:").strip() for line in lines]


def test_a_scenario_is_read_whole(folder: Path) -> None:
    path = folder / "s.yaml"
    path.write_text(
        HEAD
        + """\
source: https://example.org/issues/1
why: Somebody waits for ever.
notes: |
  Two
  lines.
expect:
  answered: {violated: {steps: 2, faults: 1}}
  fails-last: holds
fix: {world: own.py:world}
steps:
- dispatch: {request: request-0, worker: worker-1}
- hang: {worker: worker-1}
  after: 1.5 s
  then: {crashes_left: 0}
then: {request-0: running, requests.worker: worker-1, tried: [worker-1], answered: violated}
""",
        encoding="utf-8",
    )
    scenario = load(path)
    assert (scenario.name, scenario.source) == ("A pool", "https://example.org/issues/1")
    assert (scenario.why, scenario.notes) == ("Somebody waits for ever.", "Two\nlines.")
    assert scenario.case.expect == {
        "answered": Expectation("violated", 2, 1),
        "fails-last": Expectation("holds"),
    }
    assert scenario.fix is not None
    assert scenario.fix.expect == {"answered": Expectation("holds")}
    assert scenario.steps is not None
    first, second = scenario.steps
    assert (first.firing.transition.name, first.firing.arguments) == ("dispatch", (0, 1))
    assert (second.firing.arguments, second.after, second.line) == ((1,), 1.5, 15)
    assert [(fact.key, fact.wanted) for fact in second.then] == [("crashes_left", "0")]
    assert [(fact.key, fact.wanted) for fact in scenario.then] == [
        ("requests[request-0].phase", "running"),
        ("requests[request-0].worker", "worker-1"),
        ("requests[request-0].tried", "[worker-1]"),
        ("answered", "violated"),
    ]


def test_only_a_version_a_name_and_a_world_are_needed(folder: Path) -> None:
    scenario = loads(HEAD, folder / "s.yaml")
    assert (scenario.case.expect, scenario.fix, scenario.steps) == ({}, None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n", ["expected a map that begins with rackproof: 1, not a list"]),
        ("hello\n", ["expected a map that begins with rackproof: 1, not 'hello'"]),
        ("rackproof: 2\n", ["1: rackproof: expected 1, the version of the format, not 2"]),
        ("rackproof: true\n", ["1: rackproof: expected 1, the version of the format, not true"]),
        ("rackproof: 1.0\n", ["1: rackproof: expected 1, the version of the format, not 1.0"]),
        ("rackproof: '1'\n", ["1: rackproof: expected 1, the version of the format, not '1'"]),
        ("rackproof:\n", ["1: rackproof: expected 1, the version of the format, not nothing"]),
        (
            "rackprof: 1\nname: x\n",
            [
                "1: rackprof: there is no such key; did you mean rackproof?",
                "1: rackproof: is missing: a scenario begins with rackproof: 1",
            ],
        ),
        (
            "rackproof: 1\nworld: own.py:world\n",
            ["1: name: is missing: tell in one line what happens"],
        ),
    ],
)
def test_what_is_no_scenario_of_this_version_is_told(
    folder: Path, text: str, expected: list[str]
) -> None:
    assert problems(text, folder) == expected


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("nmae", "name"),
        ("sourse", "source"),
        ("expects", "expect"),
        ("step", "steps"),
        ("Then", "then"),
        ("fixes", "fix"),
        ("protocl", "protocol"),
        ("scop", "scope"),
        ("rak", "rack"),
        ("wordl", "world"),
    ],
)
def test_a_mistyped_key_is_told_with_the_nearest(folder: Path, key: str, near: str) -> None:
    assert problems(f"{HEAD}{key}: x\n", folder) == [
        f"4: {key}: there is no such key; did you mean {near}?"
    ]


def test_every_mistake_is_told_at_once_sorted_by_line(folder: Path) -> None:
    text = f"""{HEAD}name: again
why: 3
expect: {{answerd: holds, fails-last: perhaps}}
steps:
- crash: {{worker: worker-7}}
- finsh: {{request: request-0}}
then: {{crashes_left: 9}}
junk: 1
"""
    assert problems(text, folder) == [
        "4: name: is given twice (first on line 2)",
        "5: why: expected a text, not 3",
        "6: expect.answerd: there is no such property; did you mean answered?",
        "6: expect.fails-last: there is no outcome 'perhaps' (there are: holds, proved, violated)",
        "8: steps[1].crash.worker: there is no worker 'worker-7'; did you mean worker-1?",
        "9: steps[2].finsh: there is no such transition; did you mean finish?",
        "10: then.crashes_left: expected a whole number from 0 to 3, not 9",
        "11: junk: there is no such key (there are: deployment, expect, fix, loop, name, notes, "
        "protocol, rack, rackproof, scope, source, steps and 4 more)",
    ]


@pytest.mark.parametrize("value", ["3", "true", "", "[a]", "{a: b}", "''", "'  '", "2.5", ".nan"])
@pytest.mark.parametrize("key", ["name", "source", "why", "notes", "world"])
def test_a_text_is_a_text(folder: Path, key: str, value: str) -> None:
    others = [line for line in HEAD.splitlines() if not line.startswith(key)]
    (problem,) = problems("\n".join([*others, f"{key}: {value}"]), folder)
    assert re.match(rf"\d: {key}: expected a .*, not ", problem)


SCALARS = ["3", "true", "''", "2.5", "-1", ".nan", ".inf", "9" * 50, "2024-01-31", "text"]


@pytest.mark.parametrize("value", [*SCALARS, "", "[]", "[a]"])
@pytest.mark.parametrize("key", ["expect", "fix", "then"])
def test_a_map_is_a_map(folder: Path, key: str, value: str) -> None:
    (problem,) = problems(f"{HEAD}steps: []\n{key}: {value}\n", folder)
    assert re.match(rf"5: {key}: expected a map.*, not ", problem)


@pytest.mark.parametrize("value", [*SCALARS, "", "{}", "{a: b}"])
def test_a_list_is_a_list(folder: Path, value: str) -> None:
    (problem,) = problems(f"{HEAD}steps: {value}\n", folder)
    assert re.match(r"4: steps: expected a list of steps, not ", problem)


@pytest.mark.parametrize(
    ("expect", "expected"),
    [
        ("{}", "is empty: leave it out, and every property is checked"),
        ("{answered: 3}", ".answered: expected outcome"),
        ("{answered: }", ".answered: expected outcome"),
        ("{answered: vacuous}", ".answered: there is no outcome 'vacuous' (there are: holds,"),
        ("{answered: hold}", ".answered: there is no outcome 'hold'; did you mean holds?"),
        ("{answered: {holds: 3}}", ".answered.holds: there is no such key (there are: violated)"),
        ("{answered: {violated: 3}}", ".answered.violated: expected its steps and faults, not 3"),
        (
            "{answered: {violated: {step: 3}}}",
            "violated.step: there is no such key; did you mean steps?",
        ),
        (
            "{answered: {violated: {steps: -2}}}",
            "steps: expected a whole number of 0 or more, not -2",
        ),
        ("{answered: {violated: {steps: 2.5}}}", "expected a whole number of 0 or more, not 2.5"),
        ("{answered: {violated: {steps: true}}}", "expected a whole number of 0 or more, not true"),
        ("{answered: {violated: {faults: -1}}}", "expected a whole number of 0 or more, not -1"),
        (
            "{answered: {violated: {faults: .nan}}}",
            "expected a whole number of 0 or more, not .nan",
        ),
        ("{answered: {violated: {faults: }}}", "expected a whole number of 0 or more, not nothing"),
        ("{1: holds}", "the key 1 is no name"),
        ("{'': holds}", "the key nothing is no name"),
        ("{~: holds}", "the key ~ is no name"),
        (
            "{no-such-thing: holds}",
            ".no-such-thing: there is no such property (there are: answered",
        ),
        ("{answered: holds, answered: violated}", ".answered: is given twice (first on line 4)"),
        ("[answered]", "expected a map from properties to what is expected of them, not a list"),
    ],
)
def test_bad_expectations(folder: Path, expect: str, expected: str) -> None:
    found = problems(f"{HEAD}expect: {expect}\n", folder)
    assert any(expected in problem for problem in found), found
    assert all(problem.startswith("4: expect") for problem in found)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("crash", "crash needs to know which: crash: {worker: ...}"),
        ("crahs", "there is no transition 'crahs'; did you mean crash?"),
        ("3", "expected a transition, such as crash: {worker: decode-0}, not 3"),
        ("", "expected a transition, such as crash: {worker: decode-0}, not nothing"),
        ("[crash]", "expected a transition, such as crash: {worker: decode-0}, not a list"),
        ("{}", "expected one transition, not nothing"),
        ("{after: 3 s}", "expected one transition, not nothing"),
        (
            "{crash: {worker: worker-0}, hang: {worker: worker-0}}",
            "expected one transition, not crash, hang",
        ),
        ("{crash: }", "crash: worker is missing"),
        ("{crash: {}}", "crash: worker is missing"),
        ("{dispatch: {}}", "dispatch: request and worker are missing"),
        ("{crash: worker-0}", "crash: expected {worker: ...}, not 'worker-0'"),
        ("{crash: {workr: worker-0}}", "workr: there is no such key; did you mean worker?"),
        ("{crash: {worker: 0}}", "worker: expected worker (there are: worker-0, worker-1), not 0"),
        ("{crash: {worker: request-0}}", "worker: there is no worker 'request-0'"),
        (
            "{crash: {worker: worker-0}, after: 3}",
            "after: expected a duration, such as 30 s, not 3",
        ),
        ("{crash: {worker: worker-0}, after: soon}", "after: 'soon' is not a duration; write for"),
        ("{crash: {worker: worker-0}, after: 5 parsecs}", "after: '5 parsecs' is not a duration"),
        ("{crash: {worker: worker-0}, then: {zzz: 1}}", "then.zzz: the world has no such field"),
    ],
)
def test_bad_steps(folder: Path, step: str, expected: str) -> None:
    found = problems(f"{HEAD}steps:\n- {step}\n", folder)
    assert any(expected in problem for problem in found), found
    assert all(problem.startswith("5: steps[1]") for problem in found)


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        ("request-0: finished", "request-0: the world has no such field"),
        (
            "requests[request-0].phase: finished",
            "there is no value 'finished' (there are: done, failed, queued,",
        ),
        ("requests[request-0].phase: 3", "expected value"),
        (
            "health: up",
            "could mean any of 2 fields (workers[worker-0].health, workers[worker-1].health)",
        ),
        ("phse: done", "the world has no such field; did you mean phase?"),
        ("crashes_left: many", "expected a whole number from 0 to 3, not 'many'"),
        ("crashes_left: true", "expected a whole number from 0 to 3, not true"),
        ("tried: worker-1", "expected a list of names, not 'worker-1'"),
        ("tried: [worker-1, worker-9]", "tried[2]: there is no member 'worker-9'; did you mean"),
        ("requests.worker: worker-9", "there is no worker 'worker-9'; did you mean worker-1?"),
        ("answered: proved", "there is no outcome of a property 'proved'"),
        ("'...': 3", "'...' names no field"),
    ],
)
def test_bad_facts(folder: Path, fact: str, expected: str) -> None:
    found = problems(f"{HEAD}steps: []\nthen:\n  {fact}\n", folder)
    assert any(expected in problem for problem in found), found
    assert all(problem.startswith("6: then") for problem in found)


def test_facts_without_steps_are_told(folder: Path) -> None:
    assert problems(f"{HEAD}then: {{crashes_left: 0}}\n", folder) == [
        "4: then: says how a run ends, but there are no steps"
    ]


@pytest.mark.parametrize("steps", ["", "steps: []\n"])
def test_a_loop_needs_steps(steps: str, folder: Path) -> None:
    line = HEAD.count("\n") + 1 + steps.count("\n")
    assert problems(f"{HEAD}{steps}loop: 1\n", folder) == [
        f"{line}: loop: says from where on a run goes on for ever, but there are no steps"
    ]


def test_a_loop_is_the_number_of_a_step(folder: Path) -> None:
    text = f"{HEAD}steps:\n- dispatch: {{request: request-0, worker: worker-1}}\n"
    assert loads(f"{text}loop: 1\n", folder / "a.yaml").loop == 1
    assert problems(f"{text}loop: 2\n", folder) == [
        "6: loop: expected a whole number from 1 to 1, not 2"
    ]
    assert problems(f"{HEAD}steps:\n- dispach\nloop: 1\n", folder) == [
        "5: steps[1]: there is no transition 'dispach'; did you mean dispatch?"
    ]


@pytest.mark.parametrize(
    ("fix", "expected"),
    [
        ("{}", "4: fix: changes nothing: say which protocol or scope removes the violation"),
        (
            "{expect: {answered: holds}}",
            "4: fix: changes nothing: say which protocol or scope removes the violation",
        ),
        ("{wrld: own.py:world}", "4: fix.wrld: there is no such key; did you mean world?"),
        (
            "{world: own.py:world, expect: {answred: holds}}",
            "4: fix.expect.answred: there is no such property; did you mean answered?",
        ),
    ],
)
def test_bad_fixes(folder: Path, fix: str, expected: str) -> None:
    assert expected in problems(f"{HEAD}fix: {fix}\n", folder)


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        ("own.py", "expected a Python file and a name in it, such as lease.py:world, not 'own.py'"),
        ("gone.py:world", "gone.py: there is no such file"),
        ("own.py:wrld", "own.py: there is no 'wrld' in it (its systems: world)"),
        ("own.py:Phase", "own.py: Phase(value) takes arguments; give a System, or a function"),
        ("own.py:WORLDS", "own.py: WORLDS is a dict, not a System"),
        ("own.py:pool", "own.py: pool(workers, requests, crashes) takes arguments"),
        ("broken.py:world", "broken.py:3: ZeroDivisionError: division by zero"),
        ("syntax.py:world", "syntax.py:1: '(' was never closed"),
        ("leaves.py:world", "leaves.py:2: SystemExit: 4"),
    ],
)
def test_bad_worlds(folder: Path, world: str, expected: str) -> None:
    (folder / "broken.py").write_text("\nx = 1\ny = x / 0\n", encoding="utf-8")
    (folder / "syntax.py").write_text("x = (1\n", encoding="utf-8")
    (folder / "leaves.py").write_text("import sys\nsys.exit(4)\n", encoding="utf-8")
    text = f"rackproof: 1\nname: x\nworld: {world}\n"
    (problem,) = problems(text, folder)
    assert problem.startswith("3: world: ")
    assert expected in problem


def test_a_world_goes_with_nothing_of_the_bundled_one(folder: Path) -> None:
    assert problems(f"{HEAD}scope: {{requests: 1}}\nprotocol: {{}}\n", folder) == [
        "4: scope: is of the bundled world; it cannot go with world",
        "5: protocol: is of the bundled world; it cannot go with world",
    ]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("rackproof: 1\n", True),
        ("# a comment\nrackproof: 1\n", True),
        ("rackproff: 1\nscope: {}\nexpect: {}\n", True),
        ("stack: dynamo\nprotocol: {}\n", False),
        ("name: a workflow\non: push\njobs: {}\n", False),
        ("", False),
    ],
)
def test_a_mistyped_version_key_does_not_hide_a_scenario(text: str, is_one: bool) -> None:
    assert is_scenario(text) is is_one
