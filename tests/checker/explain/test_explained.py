"""The explanation at a terminal: whole, in 80 columns, without colours, and inert."""

from __future__ import annotations

import io
import re
from pathlib import Path

import attrs
import pytest

from rackproof.checker.cli import cli
from rackproof.checker.engines import Options
from rackproof.checker.explain import explain, explain_replay
from rackproof.checker.explain.explanation import (
    Explanation,
    Mend,
    NearMiss,
    Pivot,
    Smallest,
)
from rackproof.checker.replay import replay
from rackproof.checker.report.explained import print_explained
from rackproof.checker.report.screen import Screen
from rackproof.checker.report.timed import InTime, WithinTimes
from rackproof.checker.targets import expand
from rackproof.checker.verify import verify
from rackproof.model.kernel import Belief
from rackproof.scenarios.loader import loads

ROOT = Path(__file__).parents[3]
LEASE = ROOT / "docs" / "examples" / "lease.py"
LONG = f"""
rackproof: 1
name: A long way
world: {LEASE}:world
steps:
- start: {{reader: reader-1}}
- finish: {{reader: reader-1}}
- start: {{reader: reader-0}}
- slow-read
- reuse
then: {{no-overwrite-in-flight: violated, block: reused}}
"""
HOSTILE = "\x1b[2J[red]<script>\u202e"


@pytest.fixture(scope="module")
def violation() -> Explanation:
    (target,) = expand([f"{LEASE}:world"]).found
    report = verify(target, Options("search", workers=1))
    ((run, result),) = [each for each in report.judged if each[1].trace is not None]
    return explain(report, run, result, "rackproof verify lease.py:world")


def printed(explanation: Explanation, width: int = 80, colours: bool = False) -> str:
    out = io.StringIO()
    screen = Screen(
        file=out,
        width=width,
        highlight=False,
        markup=False,
        force_terminal=colours,
        color_system="standard" if colours else None,
    )
    print_explained(screen, explanation)
    return out.getvalue()


def plain(text: str) -> str:
    return " ".join(text.split())


def replayed(text: str) -> Explanation:
    scenario = loads(text, ROOT / "long.yaml")
    return explain_replay(scenario, replay(scenario), "rackproof replay long.yaml")


def test_a_violation_is_explained_from_end_to_end(violation: Explanation) -> None:
    told = plain(printed(violation))
    for words in (
        "no-overwrite-in-flight is violated: 1 fault, 3 steps",
        "A block is not handed on while somebody reads it.",
        "2. FAULT 1 of 1: A read takes longer than the lease",
        "because reader-0 is in reading (step 1); and from the start: block is held",
        "changes block: held -> freed (for step 3)",
        "Where it goes wrong After step 3: reader-0 reads the block, which holds another request's "
        "KV by now. reader-0 is in reading (step 1) "
        "block is reused (step 3)",
        "Every step is needed",
        "1 fault suffices; without any, no run violates it.",
        "To see it again: rackproof verify lease.py:world",
    ):
        assert words in told
    assert "slow-left" not in told, "that a fault uses up its budget goes without saying"
    for absent in ("turning point", "safe", "mends", "Timing", "Not found", "brackets"):
        assert absent not in told


def test_what_others_found_is_told_where_it_is_there(violation: Explanation) -> None:
    footing = attrs.evolve(violation.footing, not_checked=("more readers",), next_moves=("ask",))
    belief = Belief("producer", "reader-0", "is done", "still reads", agrees=False)
    moments = tuple(attrs.evolve(m, beliefs=(belief,)) for m in violation.moments)
    told = plain(
        printed(
            attrs.evolve(
                violation,
                moments=moments,
                footing=footing,
                pivot=Pivot(2, "It could have waited.", ("the reader ends",), ("a longer lease",)),
                near_miss=NearMiss(violation.trace, 2, "It ends well without."),
                smallest=Smallest("One reader is enough.", scope=("readers: 2 -> 1",)),
                mends=(Mend(("lease: on",), "holds", "a least change", ("slower",)),),
                untold=("who was first",),
                in_time=WithinTimes(InTime.POSSIBLE, ("Timing: possible",)),
            )
        )
    )
    for words in (
        "The turning point: step 2 It could have waited.",
        "The nearest run that is safe It ends well without.",
        "One reader is enough.",
        "Not found out who was first",
        "What mends it lease: on: holds (a least change) but violated with it: slower",
        "Timing possible",
        "Not checked more readers",
        "What to do next ask",
    ):
        assert words in told
    mistaken = "mistaken producer believes of reader-0: is done; in truth: still reads"
    assert told.count(mistaken) == 1, "told when it comes up"


def test_what_does_not_matter_is_said_to_be_so_without_colours() -> None:
    told = printed(replayed(LONG))
    assert "  1. [reader-1 starts to read the block.]\n" in told
    assert "  3. reader-0 starts to read the block." in told
    assert "Steps 3 to 5 lead there alone (3 of 5)" in plain(told)
    assert "What it leads to no-overwrite-in-flight: violated block: reused" in plain(told)


def test_a_run_that_violates_nothing_is_explained_by_its_values() -> None:
    text = LONG.replace("- reuse\n", "").replace("no-overwrite-in-flight: violated, ", "")
    told = replayed(text.replace("reused", "freed"))
    assert told.prop is None
    assert [moment.number for moment in told.moments if moment.matters] == [3, 4]
    assert told.facts == (("block", "freed", True),)
    wrong = replayed(text)
    assert wrong.facts == (("block", "freed", False),)
    assert "block: freed, which is not as written" in printed(wrong)


@pytest.mark.parametrize("width", [40, 80, 160])
def test_no_line_is_too_wide(violation: Explanation, width: int) -> None:
    lines = printed(violation, width).splitlines()
    again = [line for line in lines if "To see it again" in line]
    assert all(len(line) <= min(width, 100) for line in lines if line not in again)
    assert len(again) == 1, "a command is not torn"


def test_colours_say_nothing_more(violation: Explanation) -> None:
    coloured = printed(violation, colours=True)
    assert "\x1b[" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == printed(violation)


def test_hostile_names_are_inert(violation: Explanation) -> None:
    hostile = Belief(HOSTILE, HOSTILE, HOSTILE, HOSTILE, agrees=False)
    moments = tuple(attrs.evolve(m, beliefs=(hostile,)) for m in violation.moments)
    told = printed(
        attrs.evolve(violation, title=HOSTILE, scope=HOSTILE, source=HOSTILE, moments=moments)
    )
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "[red]<script>" in told


def test_a_world_that_cannot_be_followed_says_so(tmp_path: Path) -> None:
    world = tmp_path / "odd.py"
    world.write_text(LEASE.read_text().replace("reader not in world.reading", "reader is not None"))
    told = replayed(LONG.replace(str(LEASE), str(world)))
    assert told.unexplained is not None
    assert "The steps are not explained: this world cannot be followed" in plain(printed(told))
    assert all(moment.matters and not moment.why for moment in told.moments)
    assert told.verdict == "violated: 1 fault, 5 steps"


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_it_is_asked_for_by_an_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli([command, "--explain", str(ROOT / "docs" / "examples" / "lease.yaml")])
    assert not ended.value.code
    told = capsys.readouterr().out
    assert "because  block is freed (step 2)" in told
