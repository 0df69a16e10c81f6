"""What differs between two worlds: against plain Python on small and random ones, and real ones."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from markdown_it import MarkdownIt
from naive import reachable
from random_worlds import random_world
from switched import Protocol
from timed_worlds import watchdog
from worlds import WORLDS, pool

from rackproof.checker.cli import run
from rackproof.checker.diff.command import Diff
from rackproof.checker.diff.comparison import Comparison, Difference, Verdicts
from rackproof.checker.diff.gained import Gained, gained
from rackproof.checker.diff.parting import parting
from rackproof.checker.diff.revisions import Revision, looked_at
from rackproof.checker.diff.side import Judged, Side, as_data, from_data
from rackproof.checker.diff.subject import Asked, Subject, fixed_values
from rackproof.checker.explain.asked import named
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.report.difference.markdown import as_markdown
from rackproof.checker.status import Status
from rackproof.checker.timing.moves import moves_of
from rackproof.checker.timing.stalls import worst_stall
from rackproof.model import kernel
from rackproof.model.kernel import Firing, System, successors
from rackproof.scenarios.fields import Fields
from rackproof.scenarios.schema import Setting
from rackproof.scenarios.settings import own_setting
from rackproof.scenarios.steps import kebab, written

ROOT = Path(__file__).parents[2]
LEASE = ROOT / "docs" / "examples" / "lease.py"
MIRROR = ROOT / "scenarios" / "bugs" / "dynamo-11646-router-mirror-lags.yaml"
PATIENT = ("world.last != None and not world.reading", "world.last != None")
"""Without the last words, the lease ends while somebody reads."""

AGAIN = '''
@kernel.transition(step)
def again(world: World) -> World | None:
    """The block is held again."""
    return evolve(world, block=Block.HELD)


'''
OTHER = """
from rackproof.model import kernel


@kernel.frozen
class Light:
    on: bool = False


@kernel.transition(kernel.step)
def switch(light: Light) -> Light:
    return Light(on=not light.on)


world = kernel.System("light", Light(), (switch,))
"""


@kernel.frozen
class Place:
    protocol: Protocol = kernel.fixed()


Variant = Callable[..., Path]


@pytest.fixture
def variant(tmp_path: Path) -> Variant:
    """The lease with some words of it changed, in a file of its own."""

    def made(*changes: tuple[str, str], name: str = "changed.py") -> Path:
        text = LEASE.read_text("utf-8")
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return made


def own(path: Path) -> Side:
    return Subject(str(path), "", own_setting(path, "world", f"{path}:world"), Asked()).side()


def side(system: System) -> Side:
    return Subject(system.name, "", Setting(system, {}), Asked()).side()


def behaviours(mine: System, theirs: System) -> Gained:
    one, other = side(mine).behaviour, side(theirs).behaviour
    assert one is not None
    assert other is not None
    return gained(one, other)


# The same by plain Python.


def moves(system: System, state: Any) -> dict[str, tuple[Firing, Any]]:
    return {written(firing, system): (firing, after) for firing, after in successors(system, state)}


def partings(mine: System, theirs: System) -> tuple[dict[str, int], dict[str, int]]:
    """By transition, the length of the shortest run with it at the end that one alone can do."""
    found: tuple[dict[str, int], dict[str, int]] = ({}, {})
    layer, length = [(mine.initial, theirs.initial)], 0
    seen = set(layer)
    while layer:
        length += 1
        following = []
        for pair in layer:
            left, right = moves(mine, pair[0]), moves(theirs, pair[1])
            for which, these, those in ((0, left, right), (1, right, left)):
                for label in these.keys() - those.keys():
                    name = kebab(these[label][0].transition.name)
                    found[which].setdefault(name, length)
            for label in left.keys() & right.keys():
                after = (left[label][1], right[label][1])
                if after not in seen:
                    seen.add(after)
                    following.append(after)
        layer = following
    return found


def walked(system: System, labels: list[str]) -> int:
    """How many of the steps are possible one after another."""
    state = system.initial
    for number, label in enumerate(labels):
        possible = moves(system, state)
        if label not in possible:
            return number
        state = possible[label][1]
    return len(labels)


def in_words(system: System, state: Any) -> dict[str, str]:
    ordinals = system.schema.flatten(state)
    return {f.label: f.words(f.value(ordinals)) for f in Fields(system).all}


def seen(system: System) -> dict[str, set[Any]]:
    """What fires, the states in words, the values and the changes of fields."""
    found = defaultdict[str, set[Any]](set)
    for state in reachable(system):
        before = in_words(system, state)
        found["states"].add(str(before))
        found["values"].update((re.sub(r"\[\w+-\d+\]", "", k), v) for k, v in before.items())
        for firing, after in successors(system, state):
            found["fired"].add(kebab(firing.transition.name))
            for label, value in in_words(system, after).items():
                if before[label] != value and not before[label].startswith("["):
                    edge = f"{before[label]} -> {value}"
                    found["edges"].add((re.sub(r"\[\w+-\d+\]", "", label), edge))
    return found


def flat(found: dict[str, Any], which: str) -> set[tuple[str, str]]:
    return {
        (re.sub(r"\[\w+\]", "", family), each)
        for family, both in found.items()
        for each in getattr(both, which)
    }


def check(mine: System, theirs: System) -> None:
    """All that is told of behaviours is what plain Python finds."""
    found = behaviours(mine, theirs)
    assert found.is_whole
    runs = (found.parting.mine, found.parting.theirs)
    lengths = tuple({name: len(steps) for name, steps in those.items()} for those in runs)
    assert lengths == partings(mine, theirs)
    for system, beside, those in ((mine, theirs, runs[0]), (theirs, mine, runs[1])):
        for steps in those.values():
            labels = [step.label for step in steps]
            assert walked(system, labels) == len(labels)
            assert walked(beside, labels) == len(labels) - 1
    one, other = seen(mine), seen(theirs)
    assert set(found.fired.mine) == one["fired"] - other["fired"]
    assert set(found.fired.theirs) == other["fired"] - one["fired"]
    assert flat(found.values, "mine") == one["values"] - other["values"]
    assert flat(found.values, "theirs") == other["values"] - one["values"]
    # Of the changes, those of fields whose values have names are told.
    assert flat(found.edges, "mine") <= one["edges"] - other["edges"]
    assert flat(found.edges, "theirs") <= other["edges"] - one["edges"]
    states = one["states"], other["states"]
    assert found.states is not None
    assert (found.states.both, found.states.mine, found.states.theirs) == (
        len(states[0] & states[1]),
        len(states[0] - states[1]),
        len(states[1] - states[0]),
    )


@pytest.mark.parametrize("name", ["lease", "pool-2-1", "trays-3-1", "ring-3", "counters"])
def test_one_transition_less(name: str) -> None:
    system = WORLDS[name][0]()
    for left_out in system.transitions[:2]:
        kept = [t for t in system.transitions if t is not left_out]
        check(system, attrs.evolve(system, transitions=kept))


@pytest.mark.parametrize("seed", range(8))
def test_random_worlds(seed: int) -> None:
    """One transition is another's, under the same name."""
    mine, other = random_world(seed), random_world(seed + 500)
    theirs = attrs.evolve(mine, transitions=(other.transitions[0], *mine.transitions[1:]))
    check(mine, theirs)


def test_the_other_way_round() -> None:
    mine = pool(2, 1, 1)
    theirs = attrs.evolve(mine, transitions=mine.transitions[:-1])
    one, other = behaviours(mine, theirs), behaviours(theirs, mine)
    assert (one.parting.mine, one.parting.theirs) == (other.parting.theirs, other.parting.mine)
    assert (one.fired.mine, one.fired.theirs) == (other.fired.theirs, other.fired.mine)


def test_a_world_and_itself() -> None:
    same = Comparison(side(pool(2, 1, 1)), side(pool(2, 1, 1)))
    assert same.is_of_one_form
    assert not same.differs
    assert same.status is Status.OK
    alike = behaviours(pool(2, 1, 1), pool(2, 1, 1))
    assert not alike.differs


def test_what_is_known_of_one_form_is_not_found_out_again() -> None:
    first = side(pool(2, 1, 1))
    subject = Subject("again", "", Setting(pool(2, 1, 1), {}), Asked(states=1))
    assert subject.side(first).behaviour is first.behaviour
    assert subject.side().behaviour is not first.behaviour


def test_more_states_than_are_followed() -> None:
    """What is told of the states that were is so; nothing is said of the others."""
    mine = pool(2, 2, 1)
    theirs = attrs.evolve(mine, transitions=mine.transitions[:-1])
    few = [Subject("", "", Setting(s, {}), Asked(states=3)).side() for s in (mine, theirs)]
    assert few[0].behaviour is not None
    assert few[1].behaviour is not None
    found = gained(few[0].behaviour, few[1].behaviour)
    assert not found.is_whole
    assert found.states is None
    assert found.parting.reason == "more than 3 states"
    assert found.parting.depth <= 1
    whole = partings(mine, theirs)
    for which, runs in enumerate((found.parting.mine, found.parting.theirs)):
        assert all(len(steps) == whole[which][name] for name, steps in runs.items())


def test_more_pairs_than_are_looked_at() -> None:
    found = side(pool(2, 1, 1)).behaviour
    assert found is not None
    assert parting(found, found, most=5).reason == "more than 5 pairs of states"
    assert parting(found, found).reason is None


def test_steps_of_what_only_one_has_are_left_out() -> None:
    found = behaviours(pool(2, 1, 1), pool(3, 1, 1)).parting
    assert "dispatch: {request: request-0, worker: worker-2}" in found.left_out
    assert all("worker-2" not in step.label for run in found.theirs.values() for step in run)


# As written.


def test_guards(variant: Variant) -> None:
    mine, theirs = own(LEASE), own(variant(PATIENT))
    told = "no longer needs not reading[reader-0] and not reading[reader-1]"
    assert Comparison(mine, theirs).changed == {"expire": (told,)}
    back = told.replace("no longer", "now also")
    assert Comparison(theirs, mine).changed == {"expire": (back,)}


def test_what_is_written(variant: Variant) -> None:
    path = variant(
        ('"slow": 1, "reader": 2', '"slow": 2, "reader": 3'),
        ("(timer)", "(fault)"),
        ("is not handed on", "is never handed on"),
        ("finish, expire,", "finish, expire, again,"),
        ("steps = (", f"{AGAIN}steps = ("),
    )
    found = Comparison(own(LEASE), own(path))
    assert {(c.part, c.key, c.mine, c.theirs) for c in found.written} == {
        ("sizes", "slow", "1", "2"),
        ("sizes", "reader", "2", "3"),
        ("fields", "last", "none, reader-0, reader-1", "none, reader-0, reader-1, reader-2"),
        ("fields", "slow_left", "0..1", "0..2"),
        ("identifiers", "reader", "reader-0, reader-1", "reader-0, reader-1, reader-2"),
    }
    assert found.rules.theirs == ("again",)
    assert found.changed["expire"][:2] == ("kind: timer -> fault", "fairness: weak -> none")
    assert dict(found.asked_otherwise).keys() == {"no-overwrite-in-flight"}


def test_another_predicate_under_the_same_words(variant: Variant) -> None:
    path = variant(("and world.block == Block.REUSED)", "and world.block == Block.FREED)"))
    found = Comparison(own(LEASE), own(path))
    assert found.asked_otherwise == (("no-overwrite-in-flight", "asks something else of a state"),)
    assert not found.is_of_one_form


# Verdicts.


def judged(verdict: str, steps: int | None = None) -> Judged:
    faults = None if steps is None else 1
    return Judged("It holds.", "always", "", verdict, verdict, None, faults, steps)


@pytest.mark.parametrize(
    ("before", "after", "worse", "better"),
    [
        ("holds", "violated", True, False),
        ("proved", "violated", True, False),
        ("vacuous", "violated", True, False),
        ("inconclusive", "violated", True, False),
        (None, "violated", True, False),
        ("holds", "inconclusive", True, False),
        ("proved", "inconclusive", True, False),
        ("vacuous", "inconclusive", False, False),
        ("violated", "inconclusive", False, False),
        ("violated", "violated", False, False),
        ("holds", "vacuous", False, False),
        ("violated", "holds", False, True),
        ("inconclusive", "proved", False, True),
        ("violated", None, False, False),
    ],
)
def test_worse_and_better(before: str | None, after: str | None, worse: bool, better: bool) -> None:
    each = Verdicts("p", before and judged(before), after and judged(after))  # type: ignore[arg-type]
    assert (each.is_worse, each.is_better) == (worse, better)
    one = attrs.evolve(side(WORLDS["counters"][0]()), properties={})
    found = Comparison(
        attrs.evolve(one, properties={"p": each.mine} if each.mine else {}),
        attrs.evolve(one, properties={"p": each.theirs} if each.theirs else {}),
    )
    is_open = "inconclusive" in (before, after)
    assert found.status == (1 if worse else 3 if is_open else 0)


def test_sides_as_data() -> None:
    one = side(pool(2, 1, 1))
    again = from_data(json.loads(json.dumps(as_data(one))))
    assert as_data(again) == as_data(one)
    with pytest.raises(ValueError, match="another format"):
        from_data({"format": 0})


# The command.


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    status = run(["diff", *arguments, "--json", "-"])
    out = capsys.readouterr().out
    return status, json.loads(out)[0] if out else None


def test_a_bug_and_its_fix(capsys: pytest.CaptureFixture[str]) -> None:
    status, data = told(capsys, str(MIRROR), "--no-costs")
    assert status == 0
    assert data["told"] == "1 verdict got better."
    (found,) = data["comparisons"]
    assert found["written"] == [
        {"part": "protocol", "key": "select-from-discovery", "a": "false", "b": "true"}
    ]
    assert "now also needs endpoints[worker].listed" in found["transitions"]["changed"]["dispatch"]
    better = [each for each in found["properties"] if each["better"]]
    assert [each["name"] for each in better] == ["no-dispatch-to-removed"]
    assert better[0]["a"] == {"verdict": "violated", "faults": 1, "steps": 2}
    assert found["behaviours"]["fired"] == {"a": ["mirror-catches-up"], "b": []}
    assert found["behaviours"]["runs"]["only_b"] == []
    shortest = found["behaviours"]["runs"]["only_a"][0]
    assert [step["label"] for step in shortest] == [
        "drain: {worker: worker-0}",
        "dispatch: {request: request-0, worker: worker-0}",
    ]
    assert data["reproduce"] == f"rackproof diff {named(str(MIRROR))} --no-costs"
    assert any("costs" in told for told in data["not_compared"])


def test_two_stacks_in_an_exam(capsys: pytest.CaptureFixture[str]) -> None:
    stacks = ("stack:trtllm", "stack:trtllm-quiescent", "--exam", "transfer-failure", "--no-costs")
    status, data = told(capsys, *stacks)
    assert status in (0, 1)
    (found,) = data["comparisons"]
    assert found["case"] == "transfer-failure"
    assert {"stack"} < {changed["key"] for changed in found["written"]}
    for each in found["properties"]:
        assert each["worse"] <= each["differs"]


def test_a_stack_and_itself_with_a_mechanism_set(capsys: pytest.CaptureFixture[str]) -> None:
    """Runs are told as they came out, and what hurts both is told too."""
    asked = ("stack:dynamo", "--set", "finish-latch=true", "--exam", "crash", "--no-costs")
    assert run(["diff", *asked, "--json", "-"]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert (data["a"], data["b"]) == ("stack:dynamo", "stack:dynamo with finish-latch=true")
    assert data["reproduce"] == f"rackproof diff {' '.join(asked)}"
    (found,) = data["comparisons"]
    assert {"part": "protocol", "key": "finish-latch", "a": "false", "b": "true"} in found[
        "written"
    ]
    (first, *_), *_ = found["behaviours"]["runs"]["only_a"]
    assert first["words"] == "The router sends request-0 to worker-0, which accepts it."
    assert run(["diff", *asked]) == 0
    told = capsys.readouterr().out
    both = [p["name"] for p in found["properties"] if p["a"] == p["b"] and "steps" in p["a"]]
    assert both
    assert f"violated in both: {', '.join(both)}" in told


def test_constants_of_a_world_of_ones_own() -> None:
    values = {name: attrs.evolve(Protocol(), rate=n) for n, name in enumerate(("slow", "fast"))}
    found = {name: fixed_values(Place(protocol=protocol)) for name, protocol in values.items()}
    assert found["slow"]["protocol.rate"] == "0"
    assert found["fast"]["protocol.rate"] == "1"
    assert found["slow"]["protocol.mode"] == "full"
    assert found["slow"]["protocol.a"] == "true"


def test_an_interrupt_leaves_what_was_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = side(pool(1, 1, 0))
    one = Comparison(found, found)
    made = iter([one, one])

    def compared(*_: Any) -> Comparison:
        if (comparison := next(made, None)) is None:
            raise KeyboardInterrupt
        return comparison

    monkeypatch.setattr(Diff, "_compared", compared)
    assert run(["diff", "stack:trtllm", "stack:trtllm-quiescent"]) == Status.INTERRUPTED
    caught = capsys.readouterr()
    assert "exams left out by an interrupt: " in caught.out
    assert re.search(r"^2 of \d+, \S+: .+ \(after .+\)$", caught.err, re.MULTILINE)
    assert re.search(r"^interrupted: 2 of \d+ exams were compared$", caught.err, re.MULTILINE)


def test_what_got_worse(variant: Variant, capsys: pytest.CaptureFixture[str]) -> None:
    safe = variant(('{"slow": 1,', '{"slow": 0,'), ("initial=1", "initial=0"), name="safe.py")
    bad = variant(
        ('{"slow": 1,', '{"slow": 0,'), ("initial=1", "initial=0"), PATIENT, name="bad.py"
    )
    assert run(["diff", f"{safe}:world", f"{bad}:world"]) == 1
    out = capsys.readouterr().out
    assert "1 verdict got worse." in out
    assert "no-overwrite-in-flight is violated: 0 faults, 3 steps, in B:" in out
    assert f"Next: rackproof verify {bad}:world --explain" in out
    assert run(["diff", f"{bad}:world", f"{safe}:world", "-q"]) == 0
    assert "1 verdict got better." in capsys.readouterr().out


def test_bad_input(variant: Variant, capsys: pytest.CaptureFixture[str]) -> None:
    other = f"{variant(PATIENT)}:world"
    lease = f"{LEASE}:world"
    for arguments, message in [
        ([lease], "has no fix to be compared with; give two targets"),
        ([lease, "nowhere.py:world"], "nowhere.py: there is no such file"),
        ([str(LEASE.parent), lease], "is a folder; give a scenario, a stack or a world"),
        (
            [lease, "stack:dynam", "--exam", "crash"],
            "there is no stack 'dynam'; did you mean dynamo?",
        ),
        ([lease, "stack:dynamo"], "give --exam"),
        ([lease, other, "--exam", "crash"], "is for stacks"),
        ([lease, other, "--property", "no-overwrite"], "did you mean no-overwrite-in-flight?"),
        ([lease, other, lease], "two targets are compared, not 3"),
        ([lease, other, "--with-fix"], "takes one scenario"),
        (["HEAD:x.yaml"], "with what is it to be compared?"),
        ([lease, "--set", "finish-latch=true"], "is a world of one's own"),
        ([lease, other, "--set", "finish-latch=true"], "compares one target with itself"),
        ([lease, "--set", "finish-latch=true", "--with-fix"], "cannot go with --git or --with-fix"),
        (["HEAD:x.yaml", "--set", "finish-latch=true"], "is not for targets of a commit"),
        ([f"{LEASE}:word", f"{LEASE}:word"], "there is no 'word' in it"),
        ([lease, other, "--json", "-", "--markdown", "-"], "cannot both go to stdout"),
    ]:
        assert run(["diff", *arguments]) == 2, arguments
        caught = capsys.readouterr()
        assert message in " ".join((caught.out + caught.err).split()), arguments
        assert "Traceback" not in caught.err


def test_a_world_that_raises(variant: Variant, capsys: pytest.CaptureFixture[str]) -> None:
    path = variant(("slow_left=world.slow_left - 1", "slow_left=world.slow_left - 2"))
    assert run(["diff", f"{LEASE}:world", f"{path}:world"]) == 2
    assert f"{path}:" in capsys.readouterr().out


def test_nothing_in_common(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.py"
    path.write_text(OTHER, "utf-8")
    assert run(["diff", f"{LEASE}:world", f"{path}:world"]) == 2
    assert "have nothing in common" in " ".join(capsys.readouterr().out.split())


def test_the_same_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", f"{LEASE}:world", f"{LEASE}:world"]) == 0
    assert "The same target on both sides: no difference." in capsys.readouterr().out


@pytest.fixture
def repository(tmp_path: Path, variant: Variant, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits of the lease, the first with a tag; what is in the working tree is neither."""
    top = tmp_path / "top"
    (top / "worlds").mkdir(parents=True)
    for text, tag in (((), "v1"), ((PATIENT,), "v2")):
        shutil.copy(variant(*text), top / "worlds" / "lease.py")
        if tag == "v1":
            git(top, "init", "-q")
        git(top, "add", "-A")
        git(top, "commit", "-qm", tag)
        git(top, "tag", tag)
    (top / "worlds" / "lease.py").write_text("nonsense", "utf-8")
    monkeypatch.chdir(top)
    return top


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_two_commits(
    repository: Path, variant: Variant, capsys: pytest.CaptureFixture[str]
) -> None:
    before = git(repository, "status", "--porcelain")
    status, data = told(capsys, "--git", "v1", "v2", "worlds/lease.py:world")
    here = run(["diff", f"{LEASE}:world", f"{variant(PATIENT)}:world", "--json", "-"])
    beside = json.loads(capsys.readouterr().out)[0]
    assert (status, data["comparisons"]) == (here, beside["comparisons"])
    assert (data["a"], data["b"]) == ("v1:worlds/lease.py:world", "v2:worlds/lease.py:world")
    assert data["reproduce"] == "rackproof diff v1:worlds/lease.py:world v2:worlds/lease.py:world"
    assert git(repository, "status", "--porcelain") == before
    assert (repository / "worlds" / "lease.py").read_text("utf-8") == "nonsense"


@pytest.mark.usefixtures("repository")
def test_bad_commits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    world = "worlds/lease.py:world"
    for one, message in [
        (f"v3:{world}", "there is no revision 'v3'"),
        ("v1:worlds/lesae.py:world", "v1 has no file 'worlds/lesae.py'; did you mean worlds/lease"),
        ("v1:lease.py:world", "did you mean worlds/lease.py?"),
        ("v1:stack:dynamo", "give --exam"),
        (f"--upload-pack=x:{world}", "No such option"),
        ("v1:worlds/lease.py:word", "v1: worlds/lease.py: there is no 'word' in it"),
    ]:
        assert run(["diff", one, f"{LEASE}:world"]) == 2, one
        caught = capsys.readouterr()
        assert message in " ".join((caught.out + caught.err).split()), one
    assert run(["diff", f"v1:{world}", f"v1^0:{world}"]) == 0
    assert "no difference" in capsys.readouterr().out
    assert run(["diff", "v1:stack:dynamo", "v2:stack:dynamo"]) == 2
    assert "v1 has no rackproof, and so no stacks" in capsys.readouterr().out
    monkeypatch.chdir("/")
    assert run(["diff", f"v1:{world}", f"v2:{world}"]) == 2
    assert "is not in a git repository" in capsys.readouterr().out


def test_commits_with_a_rackproof_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a commit has of the model and the checker is what counts there."""
    for name in ("model", "invariants", "scenarios", "checker"):
        ignore = shutil.ignore_patterns("__pycache__", "bugs", "drills", "exams")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
    shutil.copy(LEASE, tmp_path / "lease.py")
    git(tmp_path, "init", "-q")
    kinds = tmp_path / "model" / "kernel" / "transitions.py"
    setting = tmp_path / "checker" / "report" / "setting.py"
    for tag, path, before, after in (
        ("clock", kinds, 'TIMER = "timer"', 'TIMER = "clock"'),
        ("other", setting, "parts(", "all_parts("),
    ):
        path.write_text(path.read_text("utf-8").replace(before, after), "utf-8")
        if tag == "other":  # what is left of the commit still works
            footing = tmp_path / "checker" / "explain" / "footing.py"
            told = footing.read_text("utf-8")
            assert "effective, parts\n" in told
            told = told.replace("effective, parts\n", "effective, all_parts as parts\n")
            footing.write_text(told, "utf-8")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", tag)
        git(tmp_path, "tag", tag)
    monkeypatch.chdir(tmp_path)
    with looked_at(Revision("clock", "lease.py:world"), Asked(), None) as looking:
        (whole,) = looking.sides().values()
    assert whole.rules["expire"].kind == "clock"
    with looked_at(Revision("other", "lease.py:world"), Asked(), None) as looking:
        (alone,) = looking.sides().values()
    assert "the verdicts alone are known" in alone.notes[0]
    assert str(tmp_path) not in alone.notes[0]
    found = Comparison(own(LEASE), alone)
    assert [(v.name, v.theirs and v.theirs.words) for v in found.verdicts] == [
        ("no-overwrite-in-flight", "violated: 1 fault, 3 steps")
    ]
    assert not found.differs


# Forms.


def test_costs() -> None:
    """The costs are those that the explorations of times find."""
    sides, worst = [], []
    for limit in (2.0, 3.0):
        system = watchdog(0.5, 4.0, limit)
        subject = Subject("", "", Setting(system, {}), Asked(costs=True))
        sides.append(subject.side())
        worst.append(worst_stall(moves_of(system)).worst)
    for one, stall in zip(sides, worst, strict=True):
        assert one.costs is not None
        assert stall is not None
        assert one.costs.seconds == stall.seconds
    found = {(c.part, c.key): (c.mine, c.theirs) for c in Comparison(*sides).costs}
    assert found["all paths", "worst stall"] == tuple(
        one.costs and one.costs.stall for one in sides
    )


HOSTILE = "<script>alert(1)</script> | `a` ``b`` *c* @somebody #12\\\u202e https://x.org _d_ [e](f)"


def test_hostile_names_are_inert() -> None:
    name = HOSTILE + "\n```\n# title"
    one = side(pool(1, 1, 1))
    system = pool(1, 1, 1)
    sorts = {parameter[1] for t in system.transitions for parameter in t.parameters}
    names = {sort: [f"{name} {sort}"] for sort in sorts}
    theirs = side(attrs.evolve(system, names=names, transitions=system.transitions[:-1]))
    theirs = attrs.evolve(theirs, is_own=True, properties={name: judged("violated", 3)})
    found = Difference(name, name, (Comparison(one, theirs),), Footing(name, (name,), (name,)))
    text = as_markdown(found, 1)
    assert "\u202e" not in text
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    for what in ("<script", "@somebody", "#12", "https://", "<em>", "<a ", "<h1"):
        assert what not in re.sub(r"<code[^>]*>.*?</code>", "", page, flags=re.DOTALL), what
    for row in re.findall(r"<tr>(.*?)</tr>", page, flags=re.DOTALL):
        assert len(re.findall("<t[dh]", row)) in (4, 5)


def test_the_same_text_whatever_the_seed(
    variant: Variant, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["diff", f"{LEASE}:world", f"{variant(PATIENT)}:world", "-v", "--markdown", "-"]
    code = f"from rackproof.checker.cli import run; run({arguments!r})"
    seed = "0" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    run(arguments)
    assert capsys.readouterr().out == done.stdout
    assert "### Behaviours" in done.stdout


def test_a_premise_that_asks_something_else_is_a_difference(variant: Variant) -> None:
    before = own(LEASE)
    after = own(variant(("return len(world.reading) > 0", "return len(world.reading) > 1")))
    assert before.form != after.form
    (name,) = before.properties
    assert before.properties[name].form != after.properties[name].form
    assert before.form == own(variant(name="same.py")).form
