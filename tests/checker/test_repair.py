"""Repairs and needs: exact on worlds where every protocol can be tried, and on planted ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest
from mutants import CACHED, ONE
from switched import (
    NAMES,
    Mode,
    Protocol,
    World,
    move,
    never,
    protocols,
    random_setting,
    reached,
    setting,
    violated,
)
from worlds import WORLDS

from rackproof.checker.cli import run
from rackproof.checker.engines import Options, explore
from rackproof.checker.repair.needs import Needs, needs
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.repairs import Repair, Repairs, repairs
from rackproof.checker.repair.runs import asked_by, conflict
from rackproof.checker.repair.switches import switches
from rackproof.checker.trace import EngineError, for_ever
from rackproof.checker.trace import run as replayed
from rackproof.model.kernel import (
    Fairness,
    ModelError,
    Property,
    System,
    always,
    at_rest,
    bounded,
    eventually,
    evolve,
    fixed,
    frozen,
    step,
    transition,
)
from rackproof.model.kernel.properties import Predicate
from rackproof.scenarios.schema import Bundled, Setting
from rackproof.scenarios.settings import bundled_setting

FEW = Options(workers=1)
SUPPORT = Path(__file__).parents[1] / "support"


@attrs.frozen
class Plain:
    safe: bool = False


@frozen
class Both:
    one: Plain = fixed()
    two: Plain = fixed()
    done: bool = False


@transition(step)
def finish(world: Both) -> Both | None:
    """It ends."""
    return None if world.two.safe else evolve(world, done=True)


@always()
def not_done(world: Both) -> bool:
    """It does not."""
    return not world.done


def mended(world: Setting, *names: str, judged: tuple[str, ...] | None = None) -> Repairs:
    wanted = names or ("never",)
    return repairs(Protocols(world, FEW), wanted, wanted if judged is None else judged)


def choices(found: Repairs) -> list[dict[str, object]]:
    return [dict(one.choice) for one in found.found]


def needed(world: Setting, name: str = "never") -> Needs:
    return needs(Protocols(world, FEW), name)


# What is known of planted worlds.


def test_two_faults_that_have_nothing_to_do_with_each_other_need_two_mechanisms() -> None:
    world = setting(
        (move(0, 9, [{"a": False}]), move(0, 1), move(1, 9, [{"b": False}])), (never(9),)
    )
    found = mended(world)
    assert choices(found) == [{"a": True, "b": True}]
    assert found.whole


def test_either_of_two_mechanisms_mends() -> None:
    world = setting((move(0, 9, [{"a": False, "c": False}]),), (never(9),))
    assert choices(mended(world)) == [{"a": True}, {"c": True}]


def test_a_mechanism_that_hurts_is_put_back() -> None:
    world = setting((move(0, 9, [{"e": True}]),), (never(9),), Protocol())
    assert choices(mended(world)) == [{"e": False}]


def test_what_mends_alone_may_hurt_with_another() -> None:
    moves = (
        move(0, 9, [{"a": False}]),
        move(0, 1),
        move(1, 9, [{"a": True, "b": True, "c": False}]),
        move(0, 8, [{"b": False}]),
    )
    world = setting(moves, (never(9), never(8, "other")))
    assert choices(mended(world)) == [{"a": True}]
    assert choices(mended(world, "never", "other")) == [{"a": True, "b": True, "c": True}]


def test_a_value_that_is_not_the_references_is_looked_for_where_that_does_not_mend() -> None:
    moves = (move(0, 9, [{"mode": Mode.NONE}]), move(0, 1), move(1, 9, [{"mode": Mode.FULL}]))
    assert choices(mended(setting(moves, (never(9),)))) == [{"mode": "half"}]


def test_where_nothing_mends_that_is_known_without_another_search() -> None:
    found = mended(setting((move(0, 9),), (never(9),)))
    assert (found.found, found.whole, found.explored) == ((), True, 1)


def test_a_matter_of_design_costs_more() -> None:
    either = setting((move(0, 9, [{"a": False, "b": False, "design": False}]),), (never(9),))
    assert choices(mended(either)) == [{"a": True}, {"b": True}]
    moves = (move(0, 9, [{"design": False, "a": False}, {"design": False, "b": False}]),)
    assert choices(mended(setting(moves, (never(9),)))) == [{"a": True, "b": True}]
    alone = setting((move(0, 9, [{"design": False}]),), (never(9),))
    assert choices(mended(alone)) == [{"design": True}]


def test_what_breaks_nothing_is_preferred_and_what_breaks_is_told() -> None:
    moves = (
        move(0, 9, [{"a": False, "c": False}]),
        move(0, 8, [{"a": True, "b": False}, {"c": True}]),
    )
    world = setting(moves, (never(9), never(8, "other")))
    assert mended(world, judged=("never", "other")).found == (Repair({"a": True, "b": True}),)
    alone = mended(world, judged=("never",))
    assert alone.found == (
        Repair({"a": True}, uncovers=("other",)),
        Repair({"c": True}, uncovers=("other",)),
    )
    only = setting((move(0, 9, [{"a": False}]), move(0, 8, [{"a": True}])), world.system.properties)
    found = mended(only, judged=("never", "other"))
    assert found.found == (Repair({"a": True}, breaks=("other",)),)


def test_a_goal_that_is_no_longer_reached_is_told() -> None:
    moves = (move(0, 9, [{"a": False}]), move(0, 1, [{"a": False}, {"b": True}]))
    world = setting(moves, (never(9), reached(1)))
    found = mended(world, judged=("never", "reached"))
    assert found.found == (Repair({"a": True}, breaks=("reached",)),)


def test_what_can_no_longer_happen_is_told_apart() -> None:
    moves = (move(0, 1, [{"a": False}]), move(1, 9, [{"b": False}]))
    world = setting(moves, (never(9, premise=reached(1)),))
    found = mended(world)
    assert found.found == (Repair({"a": True}, averted=("never",)), Repair({"b": True}))


def test_a_run_that_comes_to_rest_and_one_that_goes_round() -> None:
    @at_rest()
    def arrives(world: object) -> bool:
        return world.place == 5  # type: ignore[attr-defined, no-any-return]

    @eventually()
    def leaves(world: object) -> bool:
        return world.place == 5  # type: ignore[attr-defined, no-any-return]

    stuck = setting((move(0, 1), move(1, 5, [{"a": True}, {"b": True}])), (arrives, leaves))
    assert choices(mended(stuck, "arrives")) == [{"a": True}, {"b": True}]
    assert choices(mended(stuck, "leaves")) == [{"a": True}, {"b": True}]
    moves = (move(0, 1), move(1, 0), move(1, 5, [{"c": True}]), move(0, 5, [{"d": True}]))
    ring = setting(moves, (leaves,))
    assert mended(ring, "leaves").found == ()  # weak fairness: each is impossible now and then

    @transition(step, fairness=Fairness.STRONG)
    def leave(world: object) -> object | None:
        out = world.place == 1 and world.protocol.c  # type: ignore[attr-defined]
        return evolve(world, place=5) if out else None

    fair = setting((*moves[:2], leave), (leaves,))
    assert choices(mended(fair, "leaves")) == [{"c": True}]


# Against every protocol, tried one by one.


def cost(base: Protocol, other: Protocol) -> int:
    return sum(getattr(base, name) != getattr(other, name) for name in NAMES)


@pytest.mark.parametrize("seed", range(16))
def test_repairs_are_all_least_changes_there_are(seed: int) -> None:
    world = random_setting(seed)
    system, base = world.system, world.system.initial.protocol
    if not violated(system, base, "never"):
        assert needs_are_right(world)
        return
    good = [p for p in protocols(base) if not violated(system, p, "never")]
    known = [p for p in good if all(getattr(p, n) or not getattr(base, n) for n in NAMES[:5])]
    offered = known or good
    least = min((cost(base, one) for one in offered), default=0)
    wanted = [
        {name: getattr(one, name) for name in NAMES if getattr(one, name) != getattr(base, name)}
        for one in offered
        if cost(base, one) == least
    ]
    found = mended(world, judged=())
    assert found.whole
    assert sorted(map(str, choices(found))) == sorted(map(str, wanted))


def needs_are_right(world: Setting) -> bool:
    system, base = world.system, world.system.initial.protocol
    found = needed(world)
    on = [name for name in NAMES[:5] if getattr(base, name)]
    alone = [n for n in on if violated(system, attrs.evolve(base, **{n: False}), "never")]
    assert sorted(found.needed) == alone
    enough = [
        {name for name in on if getattr(one, name)}
        for one in protocols(base, on)
        if not violated(system, one, "never")
    ]
    enough = [those for those in enough if those >= set(alone)]
    least = [those for those in enough if not any(other < those for other in enough)]
    assert sorted(sorted(those) for those in found.sets) == sorted(sorted(t) for t in least)
    assert set(found.interchangeable) == set().union(*least) - set(alone)
    assert not set(found.redundant) & set().union(*least, alone)
    return True


@pytest.mark.parametrize("seed", range(16))
def test_a_conflict_is_exactly_where_its_run_is_one(seed: int) -> None:
    world = random_setting(seed)
    found, known = explore(world.system, None, FEW), switches(world.system)
    for prop in world.system.properties:
        if prop.name not in found.violated:
            continue
        trace = found.violated[prop.name]
        one = conflict(known, trace, prop)
        firings = [step.firing for step in trace.steps]
        for protocol in protocols(world.system.initial.protocol):
            assignment = tuple(getattr(protocol, switch.field) for switch in known.all)
            try:
                again = replayed(known.at(assignment), firings)
            except EngineError:
                again = None
            assert one.holds(assignment) == (again is not None and again.violates(prop))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", [at_rest, eventually])
def test_a_conflict_of_what_ends_or_goes_round_is_never_too_wide(
    seed: int, kind: Callable[[], Callable[[Predicate], Property]]
) -> None:
    @kind()
    def arrives(world: World) -> bool:
        return world.place == 4

    world = random_setting(seed)
    system = attrs.evolve(world.system, properties=(arrives,))
    found, known = explore(system, None, FEW), switches(system)
    if "arrives" not in found.violated:
        return
    trace = found.violated["arrives"]
    one = conflict(known, trace, arrives)
    assert one.holds(known.present)
    firings = [step.firing for step in trace.steps]
    for protocol in protocols(system.initial.protocol):
        assignment = tuple(getattr(protocol, switch.field) for switch in known.all)
        if one.holds(assignment):
            again = replayed(known.at(assignment), firings[: trace.lead])
            if trace.loop is not None:
                again = for_ever(again, firings[trace.lead :])
            assert again.violates(arrives)


# The mechanisms of a world.


def test_the_mechanisms_of_a_world_are_its_constants_of_truth_values_and_enums() -> None:
    found = switches(setting((), ()).system)
    assert [switch.name for switch in found.all] == list(NAMES)
    assert found.present == (False,) * 6 + (Mode.NONE,)
    assert [switch.mechanism.off for switch in found.all] == [False] * 6 + [Mode.NONE]
    assert found.at(found.present) is found.system
    other = found.at((True,) * 6 + (Mode.HALF,))
    assert other.initial.protocol == Protocol(mode=Mode.HALF)
    assert found.choice(found.of(other), found.present) == {
        **dict.fromkeys(NAMES[:6], True),
        "mode": "half",
    }


def test_two_holders_of_a_name_are_told_apart() -> None:
    system = System("both", Both(one=Plain(), two=Plain()), (finish,), (not_done,))
    found = mended(Setting(system, {}), "not-done")
    assert choices(found) == [{"two.safe": True}]
    assert switches(WORLDS["lease"][0]()).all == ()


def test_what_a_world_asks_is_known_from_its_lowering() -> None:
    moves = (move(0, 1, [{"b": True}, {}]), move(1, 2, [{"d": True}]), move(5, 6, [{"e": True}]))
    system = setting(moves, (never(9),)).system
    known = switches(system)
    assert known.names(asked_by(known, system)) == ("b", "d")


def test_interchangeable_needed_and_redundant() -> None:
    moves = (
        move(0, 9, [{"a": False, "b": False}]),
        move(0, 1),
        move(1, 9, [{"c": False}]),
        move(1, 2, [{"d": True}]),
    )
    found = needed(setting(moves, (never(9),), Protocol()))
    assert list(found.needed) == ["c"]
    assert found.needed["c"].lead == 2
    assert found.sets == (("a", "c"), ("b", "c"))
    assert (found.interchangeable, found.redundant) == (("a", "b"), ("d",))
    assert found.whole


def test_of_the_bundled_world_what_covers_for_what_is_found() -> None:
    bundled = Bundled("reference", {}, ONE, CACHED, {"router-restart": 1})
    found = needed(bundled_setting(bundled, Path()), "index-complete")
    assert list(found.needed) == ["after-gap"]
    assert found.sets == (
        ("after-gap", "heartbeat-numbers"),
        ("after-gap", "ask-on-join", "hold-while-asking"),
    )
    assert found.whole


def test_what_holds_with_all_but_some_put_the_other_way_may_not_with_all_but_more() -> None:
    moves = (move(0, 9, [{"a": True, "b": False, "c": False}]),)
    found = needed(setting(moves, (never(9),), Protocol()))
    assert (found.needed, found.sets) == ({}, ((),))
    assert found.redundant == ("a", "b")  # while these are on, nobody asks for c


# The command.


def test_the_command_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{SUPPORT / 'planted.py'}:world"
    assert run(["verify", "--repair", target, "--workers", "1"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "never-lost violated 1 backup: true 1 resend: true" in out
    assert "never-twice number 0 mechanisms" in out
    assert "protocols explored" in out


def test_json_has_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{SUPPORT / 'planted.py'}:world"
    assert run(["verify", "--repair", target, "--json", "-"]) == 1
    (data,) = json.loads(capsys.readouterr().out)
    assert data["repairs"] == [
        {
            "properties": ["never-lost"],
            "whole": True,
            "choices": [
                {
                    "change": {name: True},
                    "reported_fix": False,
                    "can_no_longer_happen": [],
                    "breaks": [],
                    "uncovers": [],
                }
                for name in ("backup", "resend")
            ],
        }
    ]
    assert data["needs"] == [
        {
            "property": "never-twice",
            "whole": True,
            "needed": {"number": {"faults": 0, "steps": 2}},
            "enough": [["number"]],
            "untested_with": [],
            "interchangeable": [],
            "redundant": [],
        }
    ]


def test_the_fix_of_a_scenario_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    bug = Path(__file__).parents[2] / "scenarios/bugs/llm-d-kv-cache-372-router-starts-with-nothing"
    assert run(["verify", "--repair", f"{bug}.yaml"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "index-complete violated 1 after-gap: replay 1 after-gap: dump" in out
    bug = bug.with_name("aibrix-2287-cleared-event-ignored")
    assert run(["verify", "--repair", f"{bug}.yaml"]) == 0
    assert "obey-cleared: true (reported fix)" in capsys.readouterr().out


def test_out_of_time_leaves_it_open(capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{SUPPORT / 'planted.py'}:world"
    assert run(["verify", "--repair", target, "--time-limit", "0.000001s"]) == 3
    assert "explored" in capsys.readouterr().out


def test_a_world_without_mechanisms_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    lease = Path(__file__).parents[2] / "docs" / "examples" / "lease.py"
    assert run(["verify", "--repair", f"{lease}:world"]) == 1
    assert (
        "note: nothing to repair: lease: there are no mechanisms to change"
        in capsys.readouterr().out
    )


def test_the_same_whatever_the_hash_seed() -> None:
    found = [_told(seed) for seed in ("0", "1", "4711")]
    assert found[0] == found[1] == found[2]
    (first,) = found[0]["repairs"]
    assert [one["change"] for one in first["choices"]] == [{"backup": True}, {"resend": True}]


def _told(seed: str) -> dict[str, object]:
    target = f"{SUPPORT / 'planted.py'}:world"
    program = "from rackproof.checker.cli import main; main()"
    command = [sys.executable, "-s", "-c", program, "verify", "--repair", "--json", "-"]
    done = subprocess.run(
        [*command, target],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
    )
    (report,) = json.loads(done.stdout)
    return {key: report[key] for key in ("repairs", "needs")}


# What is computed from mechanisms and kept.


@attrs.frozen
class Derived:
    fence: bool = False
    strict: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "strict", self.fence)


@attrs.frozen
class Cached:
    fence: bool = False

    @property
    def strict(self) -> bool:
        return strict_of(self)


@cache
def strict_of(protocol: Cached) -> bool:
    return protocol.fence


@pytest.mark.parametrize("kind", [Derived, Cached])
def test_what_is_kept_is_refused(kind: Any) -> None:
    @frozen
    class Walk:
        at: int = bounded(0, 3)
        protocol: Any = fixed()

    @transition(step)
    def go(world: Any) -> Any:
        """On."""
        stays = world.at >= 3 or (world.protocol.strict and world.at >= 1)
        return None if stays else evolve(world, at=world.at + 1)

    @always()
    def low(world: Any) -> bool:
        """Never at two."""
        return bool(world.at < 2)

    system = System("kept", Walk(protocol=kind()), (go,), (low,))
    with pytest.raises(ModelError, match="kept"):
        mended(Setting(system, {}), "low")


def test_what_is_asked_only_then_is_told_too() -> None:
    """All that is called redundant was put the other way at once, and nothing else was."""
    moves = (move(0, 9, [{"a": False, "b": False, "d": True}]), move(0, 8, [{"b": False}]))
    off = Protocol(a=False, b=False, c=False, d=False, e=False)
    world = setting(moves, (never(9),), attrs.evolve(off, a=True, b=True, d=True))
    assert needed(world).redundant == ("a", "b", "d")
    assert not violated(world.system, off, "never")
    assert violated(world.system, attrs.evolve(off, d=True), "never")
