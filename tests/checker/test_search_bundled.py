"""The bundled worlds: native code agrees with the plain functions, symmetry with its absence."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import naive
import pytest

from rackproof.checker.lowering import lower
from rackproof.checker.native import Native
from rackproof.checker.search import Exploration, explore
from rackproof.checker.symmetry import interchangeable
from rackproof.model.kernel import System, successors
from rackproof.scenarios.loader import load

ROOT = Path(__file__).parents[2]
LARGE = {"twenty-decode-workers"}  # ten seconds of lowering and more
FILES = [
    path
    for folder in ("bugs", "drills")
    for path in sorted((ROOT / "scenarios" / folder).glob("*.yaml"))
    if path.stem not in LARGE
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bundled_world(path: Path) -> None:
    system = load(path).case.setting.system
    relation = lower(system)
    classes = interchangeable(relation)
    native = Native(relation, classes)
    for state in naive.reachable(system, 30):
        agree(system, native, state)
    whole, reduced = explore(relation), explore(relation, classes)
    assert whole.exhausted
    assert reduced.states <= whole.states
    assert verdicts(whole) == verdicts(reduced)


def agree(system: System, native: Native, state: Any) -> None:
    ordinals = system.schema.flatten(state)
    before = native.layout.pack(ordinals)
    images = [native.layout.pack(system.schema.flatten(s)) for _, s in successors(system, state)]
    found = [words for _, words in native.successors(ordinals)]
    assert sorted(found) == sorted(words for words in images if words != before)


def verdicts(found: Exploration) -> tuple[Any, ...]:
    actions = found.native.relation.actions
    return (
        {name: (f.faults, f.steps) for name, f in found.violations.items()},
        {prop.name for prop in found.reached},
        {actions[number].firing.transition.name for number in found.fired},
        (found.depth, found.faults),
    )


def test_the_measured_world() -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from recovery import recovery  # noqa: PLC0415
    finally:
        sys.path.pop(0)
    system = recovery(2, 2, 1)
    relation = lower(system)
    classes = interchangeable(relation)
    states = naive.reachable(system)
    assert explore(relation).states == len(states)
    assert explore(relation, classes).states == naive.orbits(relation, classes, states)
    many = lower(recovery(20, 1, 2))
    found = explore(many, interchangeable(many))
    assert found.exhausted
    assert (found.states, found.violations) == (320, {})
