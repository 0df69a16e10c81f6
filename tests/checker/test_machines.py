"""State-machine diagrams: every change that happens is there, and what was seen is what happens."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import naive
import pytest
import worlds
from random_worlds import random_world

from rackproof.checker.cli import run
from rackproof.checker.machines import (
    Change,
    Machine,
    as_data,
    dot,
    explored,
    machines,
    markdown,
    merged,
    mermaid,
)
from rackproof.checker.machines.drawing import drawing
from rackproof.checker.targets import expand
from rackproof.model.kernel import (
    Kind,
    System,
    always,
    bounded,
    evolve,
    frozen,
    step,
    successors,
    transition,
)
from rackproof.scenarios.steps import kebab

BUG = "scenarios/bugs/dynamo-7930-guided-request-migrated.yaml"
LEASE = "docs/examples/lease.py:world"

Told = set[tuple[str, str, str, str]]
"""Path of a field without numbers, value before, value after, transition."""


def named(state: Any, path: str = "") -> Iterator[tuple[str, str, Enum]]:
    """Each named value of a plain state: where it is exactly, without numbers, and what."""
    if isinstance(state, Enum):
        yield path, "".join(c for c in path if not c.isdigit()), state
    elif isinstance(state, tuple):
        for number, item in enumerate(state):
            yield from named(item, f"{path}[{number}]")
    elif hasattr(state, "__attrs_attrs__"):
        for attribute in state.__attrs_attrs__:
            yield from named(getattr(state, attribute.name), f"{path}.{attribute.name}")


def differing(name: str, before: Any, after: Any) -> Told:
    pairs = zip(named(before), named(after), strict=True)
    return {
        (path, str(old.value), str(new.value), kebab(name))
        for (_, path, old), (_, _, new) in pairs
        if old is not new
    }


def told(found: tuple[Machine, ...], seen_only: bool = False) -> Told:
    return {
        ("." + without_sorts(machine.field), c.before, c.after, c.transition)
        for machine in found
        for c in machine.changes
        if c.seen or not seen_only
    }


def without_sorts(field: str) -> str:
    parts = field.split("]")
    return "]".join(part.split("[")[0] + "[" * ("[" in part) for part in parts)


SMALL: dict[str, Callable[[], System]] = {
    "lease": worlds.WORLDS["lease"][0],
    "pool": lambda: worlds.pool(2, 2, 2),
    "trays": lambda: worlds.trays(2, 2),
    "stream": lambda: worlds.stream(2, replays=True),
    **{f"random-{seed}": (lambda seed=seed: random_world(seed)) for seed in range(3)},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", SMALL)
def test_what_is_seen_is_exactly_what_happens(name: str) -> None:
    system = SMALL[name]()
    happens: Told = set()
    for state in naive.reachable(system):
        for firing, after in successors(system, state):
            happens |= differing(firing.transition.name, state, after)
    found = machines(system)
    assert told(found, seen_only=True) == happens <= told(found)
    assert all(machine.reason is None for machine in found)


def test_a_walk_of_a_bundled_world_stays_within_its_diagrams() -> None:
    (target,) = expand([BUG]).found
    system = target.load().case.setting.system
    found = told(machines(system, explored(system, most=50)))
    chance, state = random.Random(1), system.initial
    walked: Told = set()
    for _ in range(120):
        ways = list(successors(system, state))
        firing, after = chance.choice(ways) if ways else (None, system.initial)
        if firing is not None:
            walked |= differing(firing.transition.name, state, after)
        state = after
    assert walked
    assert walked <= found


def test_the_lease_has_these_edges() -> None:
    (machine,) = machines(worlds.WORLDS["lease"][0]())
    assert (machine.field, machine.enum, machine.initial) == ("block", "Block", ("held",))
    assert machine.values == ("held", "freed", "reused")
    assert machine.changes == (
        Change("held", "freed", "expire", Kind.TIMER, seen=True),
        Change("held", "freed", "slow-read", Kind.FAULT, seen=True),
        Change("freed", "reused", "reuse", Kind.STEP, seen=True),
    )


class Light(Enum):
    RED = "red"
    GREEN = "green"
    OFF = "<b>off</b>"


@frozen
class Crossing:
    one: Light = Light.RED
    other: Light = Light.RED
    count: int = bounded(0, 3)


@transition(step)
def go(w: Crossing) -> Crossing | None:
    """One goes."""
    return evolve(w, one=Light.GREEN) if w.one == Light.RED and w.count < 3 else None


@transition(step)
def follow(w: Crossing) -> Crossing | None:
    """The other shows what one shows, later."""
    return evolve(w, other=w.one, count=w.count + 1) if w.count < 3 else None


@transition(step)
def fail(w: Crossing) -> Crossing | None:
    """Both off, where they cannot be."""
    both = w.one == Light.RED and w.other == Light.GREEN
    return evolve(w, other=Light.OFF) if both else None


@always()
def counts(w: Crossing) -> bool:
    """The count is small."""
    return w.count < 4


CROSSING = System("<b>crossing</b>", Crossing(), (go, follow, fail), (counts,))


def test_what_nothing_reads_has_a_diagram_too_and_what_never_is_says_so() -> None:
    one, other = machines(CROSSING)
    assert [(c.before, c.after, c.transition, c.seen) for c in one.changes] == [
        ("red", "green", "go", True)
    ]
    assert one.never == ("<b>off</b>",)
    assert {(c.before, c.after, c.transition): c.seen for c in other.changes} == {
        ("red", "green", "follow"): True,
        ("green", "red", "follow"): False,
        ("green", "<b>off</b>", "fail"): False,
        ("<b>off</b>", "red", "follow"): False,
        ("<b>off</b>", "green", "follow"): False,
    }


def test_of_states_that_were_not_all_seen_that_is_told() -> None:
    (machine,) = machines(system := worlds.WORLDS["lease"][0](), explored(system, most=3))
    assert machine.reason is not None
    assert [c.transition for c in machine.unseen] != []
    assert machine.reason in markdown([machine], "lease")


def test_machines_of_several_worlds_are_told_as_one() -> None:
    whole = machines(worlds.WORLDS["lease"][0]())
    few = machines(system := worlds.WORLDS["lease"][0](), explored(system, most=3))
    assert merged([*few, *whole])[0].changes == whole[0].changes
    assert merged(whole) == whole


def test_mermaid_and_dot_of_the_lease() -> None:
    (machine,) = machines(worlds.WORLDS["lease"][0]())
    assert mermaid(machine) == (
        "stateDiagram-v2\n"
        '    state "held" as s0\n'
        '    state "freed" as s1\n'
        '    state "reused" as s2\n'
        "    [*] --> s0\n"
        "    s0 --> s1: expire, slow-read\n"
        "    s1 --> s2: reuse\n"
    )
    assert '"held" -> "freed" [label="expire, slow-read"];' in dot(machine)
    assert as_data(machine)["changes"][2] == {
        "from": "freed",
        "to": "reused",
        "transition": "reuse",
        "kind": "step",
        "seen": True,
    }


def test_hostile_names_are_inert() -> None:
    text = markdown(machines(CROSSING), CROSSING.name)
    assert "<" not in text.replace("\\<", "")
    assert "#60;b#62;off#60;/b#62; (never seen)" not in text
    assert 'state "#60;b#62;off#60;/b#62;" as s2' in text
    assert "(never seen)" in text


def test_export_writes_the_diagrams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", LEASE, "--to", "machines"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "# State machines of lease\n\n## `block`\n\n```mermaid\nstateDiagram-v2"
    )
    out = tmp_path / "machines.md"
    assert run(["export", LEASE, "--to", "machines", "--out", str(out)]) == 0
    assert out.read_text() == shown


def upright(path: str) -> tuple[float, float, float]:
    """Where the part of a line that goes up or down is, and from where to where."""
    number = r"(-?[\d.]+)"
    around = re.search(rf" {number} {number}V{number}", path)
    assert around is not None
    x, start, end = map(float, around.groups())
    return x, min(start, end), max(start, end)


def test_no_two_lines_of_a_drawing_lie_on_one_another_and_none_crosses_a_value() -> None:
    values = ("one", "two", "three", "four", "five")
    changes = [
        Change(before, after, "go", Kind.STEP, seen=True)
        for before in values
        for after in values
        if before != after
    ]
    drawn = drawing(Machine("field", "Value", values, ("one",), tuple(changes)))
    assert len(drawn.lines) == 20
    passing = [upright(line.path) for line in drawn.lines if "Q" in line.path]
    assert len(passing) == 16
    for (x, low, high), (other, bottom, top) in itertools.combinations(passing, 2):
        assert x != other or high < bottom or top < low
    for box in drawn.boxes:
        assert all(abs(x - box.x) > box.width / 2 for x, _, _ in passing)
    for upper, lower in itertools.pairwise(drawn.boxes):
        assert upper.y + upper.height / 2 < lower.y - lower.height / 2
    ends = [(line.tip, line.path[:12]) for line in drawn.lines]
    assert len({tip for tip, _ in ends}) == len({start for _, start in ends}) == 20
    assert all(0 < x < drawn.width for x, _, _ in passing)
    assert {(line.before, line.after) for line in drawn.lines} == {
        (change.before, change.after) for change in changes
    }


def test_what_never_happened_and_what_faults_alone_do_is_drawn_as_such() -> None:
    (machine,) = machines(worlds.WORLDS["lease"][0]())
    assert [line.style for line in drawing(machine).lines] == ["seen", "seen"]
    _, other = machines(CROSSING)
    assert [line.style for line in drawing(other).lines].count("never") == 4
    faults = Machine("f", "V", ("a", "b"), ("a",), (Change("a", "b", "x", Kind.FAULT, seen=True),))
    assert [line.style for line in drawing(faults).lines] == ["fault"]
