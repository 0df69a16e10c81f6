"""The keys that describe the bundled world: protocol, rack and scope."""

import re
from pathlib import Path

import pytest

from rackproof.model.protocol import Protocol
from rackproof.model.sorts import Workers
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.loader import loads
from rackproof.scenarios.schema import Case, Scenario

HEAD = "rackproof: 1\nname: x\n"
PATH = Path("s.yaml")


def problems(text: str, path: Path = PATH) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        loads(HEAD + text, path)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).split("\n")]


def read(text: str) -> Scenario:
    return loads(HEAD + text, PATH)


def protocol(case: Case) -> Protocol:
    found: Protocol = case.setting.system.initial.protocol
    return found


def names(case: Case) -> list[str]:
    return list(case.setting.system.names[Workers])


def test_the_defaults_are_the_reference_on_an_nvl72() -> None:
    case = read("scope: {requests: 2}\n").case
    assert protocol(case) == Protocol()
    assert names(case) == ["prefill-0", "decode-0", "decode-1"]
    assert len(case.setting.system.initial.requests) == 2
    assert case.setting.budgets == {}
    assert case.setting.origin == {
        "protocol": {"stack": "reference"},
        "scope": {"requests": 2},
    }


def test_mechanisms_differ_from_a_stack() -> None:
    case = read("protocol: {stack: reference, finish-latch: false, release: on-ack}\n").case
    assert (protocol(case).finish_latch, protocol(case).release.value) == (False, "on-ack")


def test_instances_are_placed_on_a_rack() -> None:
    assert names(read("rack: {preset: hgx, aggregated: 3}\n").case) == [
        "worker-0",
        "worker-1",
        "worker-2",
    ]


def test_a_rack_file_is_seen_from_the_folder_of_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("rack: mine\npreset: nvl72\noptions: {trays: 4}\n")
    text = HEAD + "rack: {path: mine.yaml, prefill: 1, decode: 1}\n"
    assert names(loads(text, tmp_path / "s.yaml").case) == ["prefill-0", "decode-0"]


def test_a_fix_changes_what_it_names_and_keeps_the_rest() -> None:
    scenario = read(
        "protocol: {stack: reference, finish-latch: false, fence-attempts: false}\n"
        "rack: {aggregated: 2}\n"
        "scope: {tokens: 3, faults: {crash: 1, hang: 1}}\n"
        "fix: {protocol: {finish-latch: true}, scope: {faults: {hang: 2}}}\n"
    )
    assert scenario.fix is not None
    fixed = protocol(scenario.fix)
    assert (fixed.finish_latch, fixed.fence_attempts) == (True, False)
    assert names(scenario.fix) == ["worker-0", "worker-1"]
    assert scenario.fix.setting.budgets == {"crash": 1, "hang": 2}
    assert scenario.fix.setting.system.initial.tokens == 3


def test_a_fix_that_names_a_stack_starts_anew_from_it() -> None:
    scenario = read(
        "protocol: {stack: reference, finish-latch: false}\nfix: {protocol: {stack: reference}}\n"
    )
    assert scenario.fix is not None
    assert protocol(scenario.fix) == Protocol()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("protocol: 3\n", "3: protocol: expected a map of mechanisms, not 3"),
        ("protocol: reference\n", "3: protocol: expected a map of mechanisms, not 'reference'"),
        ("protocol: [a]\n", "3: protocol: expected a map of mechanisms, not a list"),
        ("protocol:\n", "3: protocol: expected a map of mechanisms, not nothing"),
        (
            "protocol: {stack: referense}\n",
            "3: protocol.stack: there is no stack 'referense'; did you mean reference?",
        ),
        ("protocol: {stack: 3}\n", "3: protocol.stack: expected stack"),
        (
            "protocol: {finish-lach: true}\n",
            "3: protocol.finish-lach: there is no such key; did you mean finish-latch?",
        ),
        (
            "protocol: {finish_latch: true}\n",
            "3: protocol.finish_latch: there is no such key; did you mean finish-latch?",
        ),
        (
            "protocol: {finish-latch: yes}\n",
            "3: protocol.finish-latch: expected true or false, not 'yes'",
        ),
        (
            "protocol: {finish-latch: 1}\n",
            "3: protocol.finish-latch: expected true or false, not 1",
        ),
        (
            "protocol:\n  release: on-akc\n",
            "4: protocol.release: there is no alternative 'on-akc'; did you mean on-ack?",
        ),
        (
            "protocol: {release: true}\n",
            "3: protocol.release: expected alternative (there are: heartbeat, lease, on-ack, "
            "on-finish, quiescent), not true",
        ),
        ("rack: nvl72\n", "3: rack: expected a map with a preset and how many instances"),
        (
            "rack: {preset: nvl7}\n",
            "3: rack.preset: there is no preset 'nvl7'; did you mean nvl72?",
        ),
        ("rack: {preset: 72}\n", "3: rack.preset: expected preset"),
        ("rack: {path: gone.yaml}\n", "3: rack.path: there is no file gone.yaml"),
        (
            "rack: {preset: nvl72, path: a.yaml}\n",
            "3: rack.path: cannot go with preset: the rack is either",
        ),
        ("rack: {decod: 2}\n", "3: rack.decod: there is no such key; did you mean decode?"),
        (
            "rack: {decode: -1}\n",
            "3: rack.decode: expected a whole number from 0 to 144, not -1",
        ),
        (
            "rack: {decode: 9999999}\n",
            "3: rack.decode: expected a whole number from 0 to 144, not 9999999",
        ),
        ("rack: {prefill: 0, decode: 0}\n", "3: rack: there is no instance"),
        ("rack: {prefill: 1}\n", "3: rack: prefill and decode instances need each other"),
        ("rack: {preset: hgx, aggregated: 9}\n", "3: rack: worker-8: there is no room left on hgx"),
        ("scope: 3\n", "3: scope: expected a map of how much is explored, not 3"),
        ("scope: {request: 1}\n", "3: scope.request: there is no such key; did you mean requests?"),
        (
            "scope: {requests: -1}\n",
            "3: scope.requests: expected a whole number from 0 to 8, not -1",
        ),
        ("scope: {requests: 1.0}\n", "3: scope.requests: expected a whole number"),
        ("scope: {requests: true}\n", "3: scope.requests: expected a whole number"),
        ("scope: {requests: '1'}\n", "3: scope.requests: expected a whole number"),
        ("scope: {requests: }\n", "3: scope.requests: expected a whole number"),
        ("scope: {requests: .nan}\n", "3: scope.requests: expected a whole number"),
        ("scope: {requests: .inf}\n", "3: scope.requests: expected a whole number"),
        ("scope: {requests: 2024-01-31}\n", "3: scope.requests: expected a whole number"),
        (f"scope: {{requests: {'9' * 400}}}\n", "3: scope.requests: expected a whole number"),
        ("scope: {guided: 1}\n", "3: scope.guided: expected true or false, not 1"),
        ("scope: {retry-limit: -1}\n", "3: scope.retry-limit: expected a whole number from 0"),
        ("scope: {tokens: 3, max-tokens: 2}\n", "3: scope: max-tokens is at least tokens (3)"),
        ("scope: {faults: 1}\n", "3: scope.faults: expected a map from faults to how many of each"),
        (
            "scope: {faults: {crahs: 1}}\n",
            "3: scope.faults.crahs: there is no such key; did you mean crash?",
        ),
        ("scope: {faults: {crash: -1}}\n", "3: scope.faults.crash: expected a whole number"),
        ("scope: {faults: {crash: lots}}\n", "3: scope.faults.crash: expected a whole number"),
        ("scope: {faults: {crash: 1, crash: 2}}\n", "3: scope.faults.crash: is given twice"),
    ],
)
def test_mistakes_are_told_with_line_and_key(text: str, expected: str) -> None:
    assert any(problem.startswith(expected) for problem in problems(text)), problems(text)


@pytest.mark.parametrize("key", ["finish-latch", "release-booking-first", "wait-for-all-handles"])
def test_any_mechanism_may_be_mistyped(key: str) -> None:
    for at in range(len(key)):
        mistyped = key[:at] + key[at + 1 :]
        (problem,) = problems(f"protocol: {{{mistyped}: true}}\n")
        assert problem == f"3: protocol.{mistyped}: there is no such key; did you mean {key}?"


def test_names_in_steps_are_those_of_the_placement() -> None:
    text = "rack: {prefill: 1, decode: 2}\nscope: {faults: {crash: 1}}\nsteps:\n"
    scenario = read(f"{text}- crash: {{worker: decode-1}}\nthen: {{decode-1: down}}\n")
    assert scenario.steps is not None
    assert scenario.steps[0].firing.arguments == (2,)
    assert [fact.key for fact in scenario.then] == ["endpoints[decode-1].process"]
    (problem,) = problems(f"{text}- crash: {{worker: decode-2}}\n")
    assert re.match(r"6: steps\[1\].crash.worker: there is no worker 'decode-2'; did", problem)


def test_several_mistakes_in_all_keys_are_told_together() -> None:
    found = problems(
        "protocol: {stack: dynamoo, finish-latch: 3}\n"
        "rack: {preset: x, decode: y}\n"
        "scope: {tokens: z}\n"
        "expect: {answered: maybe}\n"
        "fix: {}\n"
        "steps: 3\n"
    )
    assert [problem.split(": ")[:2] for problem in found] == [
        ["3", "protocol.finish-latch"],
        ["3", "protocol.stack"],
        ["4", "rack.decode"],
        ["4", "rack.preset"],
        ["5", "scope.tokens"],
        ["6", "expect.answered"],
        ["6", "expect.answered"],
        ["7", "fix"],
        ["8", "steps"],
    ]
