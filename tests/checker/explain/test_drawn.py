"""How worlds are drawn that do not say: lanes of identifiers, and between whom steps pass."""

import re
from pathlib import Path
from typing import Any

import attrs
import pytest
from worlds import WORLDS

from rackproof.checker.explain.drawn import WORLD, message, picture
from rackproof.checker.explain.survival import survival
from rackproof.checker.trace import Step
from rackproof.model.kernel import Kind, Message, System, successors


def passed(system: System, name: str) -> Message:
    """Between whom the first firing of a transition passes, on the way to where it is possible."""
    seen, pending = {system.initial}, [system.initial]
    for state in pending:
        for firing, after in successors(system, state):
            if firing.transition.name == name:
                return message(picture(system), Step(system, firing, state, after))
            if after not in seen:
                seen.add(after)
                pending.append(after)
    raise LookupError(name)


def test_the_lanes_are_the_identifiers_that_transitions_take() -> None:
    system = WORLDS["pool-2-1"][0]()
    lanes = [(lane.name, lane.kind) for lane in picture(system).lanes]
    workers = [("worker-0", "worker"), ("worker-1", "worker")]
    assert lanes == [(WORLD, "world"), ("request-0", "request"), *workers]


def test_a_step_passes_to_whom_it_changes() -> None:
    lease = WORLDS["lease"][0]()
    assert passed(lease, "start") == Message("reader-0", WORLD)
    assert passed(lease, "finish") == Message("reader-0", "reader-0")
    assert passed(lease, "expire") == Message(WORLD, WORLD)


def test_identifiers_of_one_name_have_lanes_of_their_own() -> None:
    system = WORLDS["pool-2-1"][0]()
    sorts = {sort.name: sort for sort in system.schema.counts}
    names = {sorts["request"]: ("one",), sorts["worker"]: ("one", "two")}
    lanes = [lane.name for lane in picture(attrs.evolve(system, names=names)).lanes]
    assert lanes == [WORLD, "request one", "worker one", "two"]


@pytest.mark.parametrize("name", WORLDS)
def test_every_step_passes_between_lanes_and_a_fault_hits_one(name: str) -> None:
    system = WORLDS[name][0]()
    drawn, state = picture(system), system.initial
    lanes = {lane.name for lane in drawn.lanes}
    assert len(lanes) == len(drawn.lanes)
    for _ in range(8):
        for firing, after in successors(system, state):
            found = drawn.message(state, firing, after)
            assert {found.source, found.target} <= lanes
            assert firing.transition.kind is not Kind.FAULT or found.source == found.target
            state = after


def test_the_picture_that_the_manual_shows() -> None:
    text = (Path(__file__).parents[3] / "docs" / "modelling.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    scope: dict[str, Any] = {"__name__": "leader"}
    for block in blocks:
        if "world = System(" in block or "Picture(" in block:
            exec(block, scope)
    system = attrs.evolve(scope["world"], picture=scope["drawn"])
    assert passed(system, "elect") == Message("node-0", "client")
    led = scope["elect"](system.initial, 1)
    (belief,) = scope["beliefs"](scope["crash"](led, 1))
    assert (belief.subject, belief.truth, belief.agrees) == ("node-1", "is dead", False)
    (fate,) = survival(system).fates
    assert (fate.survives, fate.back) == ("sometimes", ())
