"""list and explain: everything there is can be listed and explained."""

import re
from pathlib import Path

import attrs
import pytest

from rackproof.checker.bugs import bugs, read_bug
from rackproof.checker.cli import KINDS, cli, run
from rackproof.checker.glossary import TERMS, VERDICTS
from rackproof.checker.reference import SCENARIOS
from rackproof.checker.verdicts import Verdict
from rackproof.invariants import CATALOGUE
from rackproof.model.build import TRANSITIONS
from rackproof.model.protocol import CONCERNS, Protocol, mechanisms
from rackproof.model.scope import Scope, fault_names
from rackproof.model.timing.durations import durations
from rackproof.model.timing.timeouts import TIMEOUTS
from rackproof.scenarios.stacks import stack_names


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert run(list(arguments)) == 0
    return capsys.readouterr().out.splitlines()


def grouped(out: list[str]) -> dict[str, list[str]]:
    """The names of a list under its headings."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in out:
        if line.startswith("    "):
            found[heading].append(line.split()[0])
        else:
            heading = line.strip()
            found[heading] = []
    return found


def listed(capsys: pytest.CaptureFixture[str], kind: str) -> list[str]:
    out = lines(capsys, "list", kind)
    names = [line.split()[0] for line in out if line.startswith("    ")]
    return list(dict.fromkeys(names or [line.split()[0] for line in out]))


def explained(capsys: pytest.CaptureFixture[str], name: str) -> str:
    assert run(["explain", name]) == 0
    return capsys.readouterr().out


def test_each_kind_is_listed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "properties") == list(CATALOGUE)
    assert listed(capsys, "mechanisms") == [mechanism.name for mechanism in mechanisms()]
    assert listed(capsys, "faults") == list(fault_names())
    assert listed(capsys, "stacks") == stack_names()
    assert "nvl72" in listed(capsys, "presets")
    assert len(listed(capsys, "transitions")) == len(TRANSITIONS)
    assert set(TIMEOUTS) <= set(listed(capsys, "quantities"))
    assert listed(capsys, "durations") == list(durations(Protocol()))


def test_a_transition_tells_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert "takes: kv-transfer to kv-transfer-at-worst + overwriting" in explained(capsys, "land")
    assert "takes: any time" in explained(capsys, "crash")
    assert "takes: kv-lease or more" in explained(capsys, "slow-read")
    assert "takes: 0.5 x lease to lease" in explained(capsys, "lease-expires")


def test_a_timeout_tells_its_values_and_where_they_are_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = explained(capsys, "kv-lease")
    assert "the reference: 30 s; source: vllm nixl" in told
    assert "as a key: timeouts: {kv-lease: 30 s}" in told
    assert "vllm-nixl-timeout  480 s     VLLM_NIXL_ABORT_REQUEST_TIMEOUT" in told
    assert "of: hold-expires" in told
    assert "as a key: deployment: {network-rtt: 0.001 s}" in explained(capsys, "network-rtt")


def test_a_stack_tells_the_timeouts_that_it_states(capsys: pytest.CaptureFixture[str]) -> None:
    told = explained(capsys, "stack:dynamo")
    assert "  timeouts it states:" in told.splitlines()
    assert "inhibition        5 s       DYN_RUNTIME_INHIBITED_DURATION_SECS" in told


def test_list_alone_lists_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if not line.startswith(" ") and line] == [
        f"{kind}:" for kind in KINDS
    ]


def test_everything_that_is_listed_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in KINDS:
        for name in listed(capsys, kind):
            assert explained(capsys, name).startswith(f"{name} (")


def test_a_property_is_explained_with_why_and_when(capsys: pytest.CaptureFixture[str]) -> None:
    out = explained(capsys, "no-duplicate-tokens")
    assert "Why it matters:" in out
    assert "Broken: The client of {request} was sent a token for a position" in out
    assert "Put to the test only where:" in out


def test_a_mechanism_is_explained_with_its_source_and_the_stacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = explained(capsys, "release")
    assert "source:" in out
    assert "one of: on-finish, on-ack, lease, heartbeat, quiescent (the reference: qui" in out
    assert re.search("    dynamo +heartbeat +vllm#41383: kv_lease_duration and heartbeats\n", out)
    assert re.search("    reference +quiescent\n", out)
    assert "one of: true, false (the reference: true)" in explained(capsys, "finish-latch")


def test_mechanisms_are_listed_by_concern(capsys: pytest.CaptureFixture[str]) -> None:
    found = grouped(lines(capsys, "list", "mechanisms"))
    assert [heading.split(":")[0] for heading in found] == list(CONCERNS)
    assert "stream: what the client gets: tokens, finish reason, usage" in found
    assert [name for names in found.values() for name in names] == [m.name for m in mechanisms()]


def test_bugs_are_listed_by_property_then_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    out = lines(capsys, "list", "bugs")
    assert out == lines(capsys, "list", "bugs", "--by", "property")
    found = grouped(out)
    properties = [heading.split(" / ")[0] for heading in found]
    assert properties == sorted(properties, key=list(CATALOGUE).index)
    assert "vllm-56104-sibling-handles-still-write" in found["kv-consistent / wait-for-all-handles"]
    for bug in bugs():
        under = [heading.split(" / ")[0] for heading, names in found.items() if bug.name in names]
        assert sorted(under) == sorted(bug.properties)


def test_bugs_are_listed_by_stack_and_by_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    by_stack = grouped(lines(capsys, "list", "bugs", "--by", "stack"))
    assert set(by_stack) <= set(stack_names())
    assert sorted(name for names in by_stack.values() for name in names) == [
        bug.name for bug in bugs()
    ]
    by_mechanism = grouped(lines(capsys, "list", "bugs", "--by", "mechanism"))
    known = [mechanism.name for mechanism in mechanisms()]
    assert [name for name in by_mechanism if name in known] == sorted(
        (name for name in by_mechanism if name in known), key=known.index
    )
    assert "dynamo-7930-guided-request-migrated" in by_mechanism["migrate-guided-requests"]


def test_what_bugs_are_grouped_by_must_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "drills", "--by", "stack"]) == 2
    assert "--by is for bugs" in capsys.readouterr().err
    assert run(["list", "bugs", "--by", "colour"]) == 2
    assert "'colour' is not one of" in capsys.readouterr().err


def test_the_bugs_that_have_to_do_with_a_name_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    bug = "dynamo-7930-guided-request-migrated"
    caught = explained(capsys, "migrate-guided-requests")
    assert re.search(f"what catches them:\n    {bug} +no-duplicate-tokens\n", caught)
    violated = explained(capsys, "no-duplicate-tokens")
    assert re.search(f"    {bug} +migrate-guided-requests\n", violated)
    assert re.search(f"    {bug} +no-duplicate-tokens\n", explained(capsys, "stack:dynamo"))
    for each in bugs():
        for name in (*each.properties, *each.mechanisms):
            assert f"    {each.name} " in explained(capsys, name)


def test_a_scenario_is_explained_by_its_name_or_its_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = listed(capsys, "bugs")[0]
    out = explained(capsys, name)
    assert "source: https://" in out
    path = out.splitlines()[-1].split()[-1]
    assert explained(capsys, path) in out


def test_underscores_will_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(capsys, "finish_latch").startswith("finish-latch (mechanism)")


def test_a_name_of_nothing_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "no-duplicate-tokns"]) == 2
    assert capsys.readouterr().err == (
        "there is nothing called 'no-duplicate-tokns'; did you mean no-duplicate-tokens?\n"
    )
    assert run(["list", "animals"]) == 2


def test_every_key_of_a_scope_is_listed_with_its_default_and_what_it_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [field.name.replace("_", "-") for field in attrs.fields(Scope)]
    assert listed(capsys, "scope") == names
    out = explained(capsys, "blocks-per-worker")
    assert f"default: {Scope().blocks_per_worker}" in out
    assert "Requests whose KV fits on a disaggregated worker at a time." in out
    assert "Of every request: it has guided decoding." in explained(capsys, "guided")


def test_kinds_are_found_in_the_singular_and_by_the_nearest_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for one, kind in (("bug", "bugs"), ("stack", "stacks"), ("property", "properties")):
        assert listed(capsys, one) == listed(capsys, kind)
    assert run(["list", "scenarios"]) == 0
    assert capsys.readouterr().out.startswith("bugs:\n")
    assert run(["list", "propertys"]) == 2
    assert "did you mean properties?" in capsys.readouterr().err


def test_a_scenario_is_explained_by_how_its_name_begins(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "dynamo-7930-guided-request-migrated"
    assert explained(capsys, "dynamo-7930") == explained(capsys, name)
    assert run(["explain", "dynamo-11647"]) == 2
    err = capsys.readouterr().err
    assert "did you mean one of: dynamo-11647-duplicate-request, dynamo-11647-frozen" in err


def test_a_stack_is_explained_as_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(capsys, "stack:dynamo").startswith("dynamo (stack)")
    assert run(["explain", "stack:release"]) == 2


def test_the_recommended_path_is_as_one_would_write_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = (SCENARIOS / "bugs" / "dynamo-7930-guided-request-migrated.yaml").resolve()
    monkeypatch.chdir(file.parents[2])
    path = file.relative_to(file.parents[2])
    assert explained(capsys, "dynamo-7930").endswith(f"  rackproof verify {path}\n")
    monkeypatch.chdir(tmp_path)
    assert explained(capsys, "dynamo-7930").endswith(f"  rackproof verify {file}\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("reference", (), ())),
        ("- a\n", ("reference", (), ())),
        (
            "protocol: {stack: dynamo, release: lease}\n"
            "expect: {progress: {violated: {steps: 3}}, no-kv-leak: violated, usage-exact: holds}\n"
            "fix: {protocol: {release: heartbeat}}\n",
            ("dynamo", ("progress", "no-kv-leak"), ("release",)),
        ),
        (
            "protocol: {finish-latch: false}\nfix: {protocol: {stack: reference}}\n",
            ("reference", (), ("finish-latch",)),
        ),
        (
            "protocol: {clear-overload: false}\nfix: {scope: {tokens: 1}}\n",
            ("reference", (), ("clear-overload",)),
        ),
    ],
)
def test_what_a_bug_is_about_is_read_off_its_file(
    tmp_path: Path, text: str, expected: tuple[str, tuple[str, ...], tuple[str, ...]]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text or "{}\n")
    bug = read_bug(path)
    assert (bug.stack, bug.properties, bug.mechanisms) == expected
    assert bug.headings("mechanism") == (list(bug.mechanisms) or ["no mechanism"])


def test_every_verdict_is_explained_with_what_to_do_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert listed(capsys, "verdicts") == [verdict.value for verdict in Verdict]
    for verdict in Verdict:
        out = explained(capsys, verdict.value)
        assert out.startswith(f"{verdict.value} (verdict)\n")
        assert "  Next: " in out


@pytest.mark.parametrize("name", ["fault", "lease", "exam", "attempt", "lasso", "near miss"])
def test_the_terms_of_a_report_are_explained(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert f"{name.lower().replace(' ', '-')} (term)" in explained(capsys, name)


def test_what_the_glossary_names_exists() -> None:
    words = [*VERDICTS.values(), *TERMS.values()]
    text = " ".join(f"{word.text} {word.do}" for word in words)
    assert set(re.findall(r"rackproof ([a-z-]+)", text)) <= cli.commands.keys()
    options = {name for c in cli.commands.values() for p in c.params for name in p.opts}
    assert set(re.findall(r"--[a-z-]+", text)) <= options


def test_what_each_value_of_a_mechanism_means_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = " ".join(" ".join(lines(capsys, "explain", "release")).split())
    assert "heartbeat: As a lease, but the reader's heartbeats extend it while it is awake." in told
    assert "`" not in told
    for mechanism in mechanisms():
        for alternative in mechanism.alternatives or ():
            assert alternative.text[-1:] == "."
            assert str(alternative.value) in mechanism.meaning(str(alternative.value))
