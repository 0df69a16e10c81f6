"""A stack in every exam: one verdict a property, from the exam that decides, and what mends it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import attrs
import pytest
from examined import examined as whole

from rackproof.checker import exams as examination
from rackproof.checker.cli import run
from rackproof.checker.engines import Options, explore
from rackproof.checker.exams import Examined, differences, examine
from rackproof.checker.report.stack import choice, mended
from rackproof.checker.status import Status
from rackproof.checker.targets import expand
from rackproof.checker.verdicts import Verdict
from rackproof.invariants import CATALOGUE
from rackproof.model.protocol import Protocol, mechanisms, with_mechanisms
from rackproof.scenarios import stacks
from rackproof.scenarios.exams import Exam, exams
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.stacks import load_stack, stack_names

BUGS = sorted((Path(__file__).parents[2] / "scenarios" / "bugs").glob("*.yaml"))
LEASE = Path(__file__).parents[2] / "docs" / "examples" / "lease.yaml"
FEW = ("calm", "disconnect", "freeze")


def examined(name: str, options: Options | None = None) -> Examined:
    (target,) = expand([f"stack:{name}"]).found
    return examine(target, name, options or Options())


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only some exams, so that a command is quick; in a folder of one's own."""
    monkeypatch.chdir(tmp_path)
    chosen = tuple(exam for exam in exams() if exam.name in FEW)
    monkeypatch.setattr(examination, "exams", lambda: chosen)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def reference() -> Examined:
    return whole("reference")


@pytest.mark.parametrize("stack", stack_names())
@pytest.mark.parametrize("exam", exams(), ids=lambda exam: exam.name)
def test_every_stack_can_sit_every_exam(stack: str, exam: Exam) -> None:
    setting = exam.setting(stack)
    assert setting.system.initial.protocol == load_stack(stack).protocol
    assert setting.origin["protocol"] == {"stack": stack}


@pytest.mark.xdist_group("reference")
def test_the_reference_passes_and_nothing_is_left_untested(reference: Examined) -> None:
    assert reference.failure is None
    assert reference.status is Status.OK
    assert [result.prop.name for _, result in reference.judged] == list(CATALOGUE)
    assert {result.verdict for _, result in reference.judged} == {Verdict.HOLDS}
    assert reference.mends == {}


@pytest.mark.xdist_group("reference")
def test_every_budget_of_an_exam_takes_effect(reference: Examined) -> None:
    for exam in reference.runs:
        reasons = {result.reason for result in exam.results if result.reason}
        assert not [reason for reason in reasons if "never took effect" in reason], exam.label


@pytest.mark.xdist_group("reference")
def test_every_exam_is_small(reference: Examined) -> None:
    for exam in reference.runs:
        assert exam.findings.states < 20_000, exam.label


@pytest.mark.xdist_group("dynamo")
def test_the_least_counterexample_decides() -> None:
    report = whole("dynamo")
    decisive, result = next(p for p in report.judged if p[1].prop.name == "terminal-latch")
    sizes = {
        run.label: (other.trace.faults, len(other.trace.steps))
        for run in report.runs
        for other in run.results
        if other.prop.name == "terminal-latch" and other.trace is not None
    }
    assert sizes[decisive.label] == min(sizes.values())
    assert {decisive.label, *report.others(result)} == sizes.keys()
    assert report.status is Status.VIOLATED


@pytest.mark.xdist_group("dynamo")
def test_what_mends_is_told_and_mends() -> None:
    report = whole("dynamo")
    violated = [r.prop.name for _, r in report.judged if r.verdict is Verdict.VIOLATED]
    assert list(report.mends) == violated
    assert report.mends["nothing-after-finish"] == ({"finish-latch": True},)
    assert mended(report, "usage-exact") == "usage-from-request: true"
    assert mended(report, "no-lost-tokens") is None
    for name, choices in report.mends.items():
        decisive = next(run for run, r in report.judged if r.prop.name == name)
        exam = next(exam for exam in exams() if exam.name == decisive.label)
        for chosen in choices:
            system = exam.setting("dynamo", chosen).system
            assert name not in explore(system, None, Options()).violated


def test_where_no_single_mechanism_mends_a_least_set_does(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {"stream-timeout": False, "cancel-on-removal": False, "usage-from-request": False}
    worse = attrs.evolve(load_stack("reference"), protocol=with_mechanisms(Protocol(), changed))
    monkeypatch.setattr(stacks, "load_stack", lambda _: worse)
    monkeypatch.setattr(examination, "load_stack", lambda _: worse)
    freeze = tuple(exam for exam in exams() if exam.name == "freeze")
    monkeypatch.setattr(examination, "exams", lambda: freeze)
    report = examined("reference")
    assert report.mends["progress"] == ({"cancel-on-removal": True, "stream-timeout": True},)
    assert report.mends["usage-exact"] == ({"usage-from-request": True},)
    assert mended(report, "progress") == "stream-timeout: true and cancel-on-removal: true"


def test_differences_lead_from_a_stack_to_the_reference() -> None:
    for name in stack_names():
        stack = load_stack(name).protocol
        assert with_mechanisms(stack, differences(name)) == Protocol()
    assert differences("reference") == {}
    assert choice({"finish-latch": True, "release": "lease"}) == "finish-latch: true and " + (
        "release: lease"
    )


@pytest.mark.usefixtures("few")
def test_a_stack_is_told_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "stack:dynamo"]) == 1
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert ["FAILED", "usage-exact", "violated:", "1", "fault,", "10", "steps", "disconnect"] in [
        row[:8] for row in rows
    ]
    assert ["ok", "no-lost-tokens", "holds", "3", "exams"] in rows
    assert not [row for row in rows if "untested" in row and "kv-consistent" in row]
    assert "stack:dynamo, 3 exams: 8 violated, " in out
    assert "There it holds with usage-from-request: true." in out
    assert re.search("vacuous, as there is nothing they speak of: .*kv-consistent, ", out)


@pytest.mark.usefixtures("few")
def test_several_stacks_have_a_table_each_beside_that_of_scenarios(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "stack:reference", "stack:vllm-nixl", str(LEASE)]) == 1
    out = capsys.readouterr().out
    assert "stack:reference, 3 exams: " in out
    assert "stack:vllm-nixl, 3 exams: " in out
    assert "2 of 3 targets as expected" in out
    assert run(["verify", "-q", "stack:vllm-nixl"]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == "stack:vllm-nixl: bookings-exact: violated: 1 fault, 2 steps (exam freeze)"


@pytest.mark.usefixtures("few")
def test_json_of_a_stack(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "stack:dynamo", "--json", "-"]) == 1
    (data,) = json.loads(capsys.readouterr().out)
    assert data["target"] == "stack:dynamo"
    assert data["status"] == 1
    assert [exam["name"] for exam in data["exams"]] == list(FEW)
    assert data["exams"][1]["scope"]["faults"]["disconnect"] == 1
    assert data["exams"][1]["states"] > 50
    properties = {item["name"]: item for item in data["properties"]}
    assert list(properties) == list(CATALOGUE)
    usage = properties["usage-exact"]
    assert (usage["verdict"], usage["exam"]) == ("violated", "disconnect")
    assert usage["exams"] == ["disconnect", "freeze"]
    assert usage["mended_by"] == [{"usage-from-request": True}]
    assert usage["counterexample"]["faults"] == 1


@pytest.mark.usefixtures("few")
def test_the_repairs_of_a_stack_are_told_with_what_they_uncover(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = [exam for exam in exams() if exam.name == "disconnect"]
    monkeypatch.setattr(examination, "exams", lambda: (one,))
    assert run(["verify", "stack:dynamo", "--repair", "--json", "-"]) == 1
    (data,) = json.loads(capsys.readouterr().out)
    violated = [p["name"] for p in data["properties"] if p["verdict"] == "violated"]
    assert [told["properties"] for told in data["repairs"]] == [[name] for name in violated]
    usage = next(told for told in data["repairs"] if told["properties"] == ["usage-exact"])
    assert usage["whole"]
    assert [choice["change"] for choice in usage["choices"]] == [{"usage-from-request": True}]
    assert data["needs"] == []


@pytest.mark.usefixtures("few")
def test_what_took_effect_in_no_exam_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "stack:reference", "--coverage", "--json", "mine.json"]) == 0
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if "never fired" in line]
    told = line.removeprefix("stack:reference: never fired in any exam: ").split(", ")
    assert {"drain", "churn", "leave"} <= set(told)
    assert not {"hang", "disconnect"} & set(told)
    assert out.count("guards that always came out the same way (stack:reference, every exam):") == 1
    (data,) = json.loads(Path("mine.json").read_text())
    assert data["coverage"]["never_fired"] == told
    assert data["coverage"]["guards"]


@pytest.mark.usefixtures("few")
def test_junit_of_a_stack_has_a_case_a_property(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "stack:dynamo", "--junit", "-"]) == 1
    (suite,) = ET.fromstring(capsys.readouterr().out)
    cases = suite.findall("testcase")
    names = [case.get("name", "").split(",")[0] for case in cases]
    assert names == [name for name in CATALOGUE if name in names]
    assert "no-lost-tokens" in names
    assert "kv-consistent" not in names, "there is nothing it speaks of in these exams"
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert "usage-exact, disconnect" in failed
    assert "no-lost-tokens, calm" not in failed


@pytest.mark.usefixtures("few")
def test_the_counterexamples_of_a_stack_are_saved_and_replay(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["verify", "stack:dynamo", "--save", str(tmp_path)]) == 1
    assert len(list(tmp_path.iterdir())) == 8
    path = tmp_path / "stack-dynamo-usage-exact.yaml"
    assert run(["verify", str(path)]) == 0
    capsys.readouterr()


@pytest.mark.usefixtures("few")
def test_out_of_time_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "stack:reference", "--time-limit", "0.000001s"]) == 3
    assert "undecided" in capsys.readouterr().out


def test_nothing_tested_in_any_exam_is_a_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (calm,) = [exam for exam in exams() if exam.name == "calm"]
    bundled = attrs.evolve(calm.bundled, faults={"slow-read": 1})
    monkeypatch.setattr(examination, "exams", lambda: (attrs.evolve(calm, bundled=bundled),))
    assert run(["verify", "stack:reference"]) == 1
    assert "no property was put to the test in any exam" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("stack:dynamoo", "there is no stack 'dynamoo'; did you mean dynamo?"),
        ("stack:", "there is no stack ''"),
        ("stack:../x", "there is no stack '../x'"),
    ],
)
def test_a_stack_that_is_none_is_told(
    capsys: pytest.CaptureFixture[str], target: str, told: str
) -> None:
    assert run(["verify", target]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(told)
    assert len(lines) == 2


def nearness(exam: Exam, bundled: Bundled) -> tuple[int, int]:
    """How much the scope of an exam differs from another."""
    instances = exam.bundled.rack.keys() ^ bundled.rack.keys()
    sizes = exam.bundled.scope.items() ^ bundled.scope.items()
    return (len(exam.bundled.faults.keys() ^ bundled.faults.keys()), len(instances) + len(sizes))


@pytest.mark.parametrize("path", BUGS, ids=lambda path: path.stem)
def test_every_bundled_bug_is_found_by_an_exam(path: Path) -> None:
    case = load(path).case
    bundled = case.setting.bundled
    assert bundled is not None
    left = {name for name, expected in case.expect.items() if expected.verdict == "violated"}
    for exam in sorted(exams(), key=lambda exam: nearness(exam, bundled)):
        if left:
            system = exam.setting(bundled.stack, bundled.mechanisms).system
            sought = tuple(
                prop
                for prop in system.properties
                if prop.name in left and next(system.choices(prop.parameters), None) is not None
            )
            if not sought:
                continue
            left -= explore(
                attrs.evolve(system, properties=sought), left, Options()
            ).violated.keys()
    assert not left, "no exam shows what this bug violates: add one to scenarios/exams"


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("columns", ["20", "60", "200"])
def test_only_what_mends_is_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["verify", "stack:vllm-nixl"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"FAILED +progress +violated: 1 fault, 5 steps +freeze", out)
    assert re.search(r"ok +no-lost-tokens +holds +3 exams", out)


def test_a_stack_sits_only_the_exams_of_what_its_file_speaks_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain.yaml").write_text(
        "stack: plain\nmechanisms:\n  finish-latch: {value: false, source: its code}\n"
    )
    monkeypatch.setattr(stacks, "FOLDER", tmp_path)
    chosen = tuple(exam for exam in exams() if exam.name in ("calm", "rooms", "link-crash"))
    monkeypatch.setattr(examination, "exams", lambda: chosen)
    assert [sorted(exam.concerns) for exam in chosen] == [[], ["peers"], ["rooms"]]
    assert load_stack("reference").concerns >= {"peers", "rooms", "store", "index"}
    assert run(["verify", "stack:plain"]) == 0
    out = capsys.readouterr().out
    assert "stack:plain, 1 exam: " in out
    assert "left out, as the stack's file says nothing of it: peers, rooms" in out


def test_a_stack_of_pairs_sits_exams_in_pairs_with_its_own_retries() -> None:
    known = {exam.name: exam for exam in exams()}
    crash = known["crash"].setting("sglang").system.initial
    assert [role.value for role in crash.roles] == ["prefill", "decode", "decode"]
    assert (crash.a_round, crash.gateway_retries) == (1, 1)
    assert known["slow-read"].setting("sglang").system.initial.a_round == 1
    plain = known["crash"].setting("dynamo").system.initial
    assert [role.value for role in plain.roles] == ["aggregated"] * 2
    assert (plain.a_round, plain.gateway_retries) == (2, 0)
    cached = known["index-events"].setting("llm-d").system.initial
    assert [role.value for role in cached.roles] == ["aggregated"]


@pytest.mark.xdist_group("dynamo")
def test_a_matter_of_design_mends_only_where_nothing_else_does() -> None:
    designs = {mechanism.name for mechanism in mechanisms() if mechanism.design}
    assert {"transfer", "dispatch"} <= designs
    for choices in whole("dynamo").mends.values():
        assert all(not (chosen.keys() & designs) for chosen in choices)
