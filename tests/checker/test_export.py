"""Exported models: other checkers come to the same number of states."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import worlds
from random_worlds import random_world

from rackproof.checker.export import murphi, promela, tla
from rackproof.checker.export.guarded import in_order
from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Arena
from rackproof.checker.lowering.relation import Relation
from rackproof.checker.search import explore
from rackproof.model.kernel import System

CHOSEN = {
    "lease": worlds.WORLDS["lease"][0],
    "counters": worlds.WORLDS["counters"][0],
    "pool": lambda: worlds.pool(3, 2, 2),
    "trays": lambda: worlds.trays(2, 2),
    "ring": lambda: worlds.ring(4),
    "stream": lambda: worlds.stream(3, replays=False),
    "random-3": lambda: random_world(3),
    "random-8": lambda: random_world(8),
}


@pytest.mark.skipif(not (shutil.which("spin") and shutil.which("gcc")), reason="needs SPIN and gcc")
@pytest.mark.parametrize("name", CHOSEN)
def test_spin_counts_the_same_states(name: str, tmp_path: Path) -> None:
    def count(relation: Relation) -> int:
        (tmp_path / "world.pml").write_text(promela(relation, properties=False))
        # Without its data-flow optimisations, which leave out what only properties read.
        run(tmp_path, "spin", "-o1", "-o2", "-a", "world.pml")
        run(tmp_path, "gcc", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
        return number(run(tmp_path, "./pan", "-n"), r"(\d+) states, stored")

    same_count(CHOSEN[name], count)


@pytest.mark.skipif(not (shutil.which("rumur") and shutil.which("gcc")), reason="needs rumur, gcc")
@pytest.mark.parametrize("name", CHOSEN)
def test_rumur_counts_the_same_states(name: str, tmp_path: Path) -> None:
    def count(relation: Relation) -> int:
        (tmp_path / "world.m").write_text(murphi(relation, properties=False))
        run(tmp_path, "rumur", "--deadlock-detection", "off", "--output", "world.c", "world.m")
        run(tmp_path, "gcc", "-mcx16", "-o", "world", "world.c", "-lpthread")
        return number(run(tmp_path, "./world"), r"(\d+) states, \d+ rules")

    same_count(CHOSEN[name], count)


def same_count(make: Callable[[], System], count: Callable[[Relation], int]) -> None:
    relation = lower(make())
    assert count(relation) == explore(relation).states


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def number(text: str, pattern: str) -> int:
    found = re.search(pattern, text)
    assert found, text
    return int(found[1])


@pytest.mark.skipif(not (shutil.which("rumur") and shutil.which("gcc")), reason="needs rumur, gcc")
def test_rumur_finds_the_violation(tmp_path: Path) -> None:
    (tmp_path / "world.m").write_text(murphi(lower(worlds.ring(3))))
    run(tmp_path, "rumur", "--deadlock-detection", "off", "--output", "world.c", "world.m")
    run(tmp_path, "gcc", "-mcx16", "-o", "world", "world.c", "-lpthread")
    done = subprocess.run("./world", cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "still-somewhere" in done.stdout
    assert done.returncode != 0


def test_promela_has_a_formula_for_each_property() -> None:
    text = promela(lower(worlds.WORLDS["counters"][0]()))
    assert re.findall(r"^ltl (\w+)", text, re.MULTILINE) == ["ordered", "never_six"]


def test_tla_is_a_module_with_its_configuration() -> None:
    module, config = tla(lower(worlds.WORLDS["counters"][0]()), "counters")
    assert module.startswith("---- MODULE counters ----\n")
    assert module.endswith("====\n")
    assert "UNCHANGED" in module
    assert config.splitlines() == [
        *("SPECIFICATION Spec", "INVARIANT ordered", "INVARIANT never_six"),
        "CHECK_DEADLOCK FALSE",
    ]


def test_assignments_that_need_each_others_values() -> None:
    arena = Arena()
    a, b, c = (arena.var(slot) for slot in range(3))
    kept, ordered = in_order(arena, [(0, b), (1, a), (2, arena.add(c, a))])
    assert len(kept) == 1
    assert {slot for slot, _ in kept + ordered} == {0, 1, 2}
    written: set[int] = set()
    for slot, node in ordered:
        assert not arena.slots(node) & written
        written.add(slot)
