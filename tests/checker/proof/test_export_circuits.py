"""AIGER and BTOR2, read back and run, step as the plain functions do."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import naive
import pytest
import worlds
from attrs import define
from random_worlds import random_world

from rackproof.checker.cli import run
from rackproof.checker.export.aiger import aiger, aiger_binary
from rackproof.checker.export.btor2 import btor2
from rackproof.checker.lowering import lower
from rackproof.checker.proof import abc
from rackproof.checker.proof.circuit import codes
from rackproof.checker.proof.obligations import SAFETY, Obligation, obligation
from rackproof.model.kernel import System, holds, successors
from rackproof.model.kernel.system import at_rest

CHOSEN: dict[str, Callable[[], System]] = {
    "lease": worlds.WORLDS["lease"][0],
    "counters": worlds.WORLDS["counters"][0],
    "pool": lambda: worlds.pool(2, 2, 1),
    "stream": lambda: worlds.stream(3, replays=False),
    **{f"random-{seed}": lambda seed=seed: random_world(seed) for seed in range(4)},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", CHOSEN)
def test_aiger_steps_as_the_plain_functions(name: str) -> None:
    asked = everything(CHOSEN[name]())
    machine = Aiger.read(aiger(asked))
    fields = codes(asked.relation)

    def ordinals(state: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(
            field.ordinal([bool(state[latch]) for latch in field.latches]) for field in fields
        )

    along(asked, machine.first, machine.step, 1 << machine.inputs, ordinals)


@pytest.mark.parametrize("name", CHOSEN)
def test_btor2_steps_as_the_plain_functions(name: str) -> None:
    asked = everything(CHOSEN[name]())
    machine = Btor2.read(btor2(asked))
    along(asked, machine.first, machine.step, len(asked.relation.actions), lambda state: state)


def everything(system: System) -> Obligation:
    names = [prop.name for prop in system.properties if prop.scope in SAFETY]
    return obligation(lower(system), names)


def along(
    asked: Obligation,
    first: tuple[int, ...],
    step: Callable[[tuple[int, ...], int], tuple[tuple[int, ...], int]],
    actions: int,
    ordinals: Callable[[tuple[int, ...]], tuple[int, ...]],
) -> None:
    """A random run: in each state all successors are the same, and what is bad is."""
    relation, system, state = asked.relation, asked.relation.system, first
    chance, plain = random.Random(1), asked.relation.system.initial
    for _ in range(12):
        here = naive.projected(relation, system.schema.flatten(plain))
        assert ordinals(state) == here
        after = {
            naive.projected(relation, system.schema.flatten(item)): item
            for _, item in successors(system, plain)
        }
        found = {ordinals(item): item for n in range(actions) for item, _ in [step(state, n)]}
        assert found.keys() - {here} == after.keys() - {here}
        assert step(state, 0)[1] == is_bad(asked, plain)
        if not after:
            break
        key = chance.choice(sorted(after))
        plain, state = after[key], found.get(key, state)


def is_bad(asked: Obligation, plain: Any) -> bool:
    system = asked.relation.system
    false = {p.property for p in asked.predicates if not holds(system, p.property, plain)}
    rests = at_rest(system, plain)
    return any(prop.scope.value == "always" or rests for prop in false)


@define
class Aiger:
    """The ASCII form, evaluated gate by gate."""

    inputs: int
    latches: list[list[int]]
    bad: int
    gates: list[list[int]]

    @classmethod
    def read(cls, text: str) -> Aiger:
        header, *lines = text.splitlines()
        _, inputs, latches, outputs, gates = map(int, header.split()[1:])
        rows = [list(map(int, line.split())) for line in lines[: inputs + latches + 1 + gates]]
        assert outputs == 1
        assert [row[0] for row in rows[:inputs]] == [2 * i + 2 for i in range(inputs)]
        rest = rows[inputs + latches + 1 :]
        return cls(inputs, rows[inputs : inputs + latches], rows[inputs + latches][0], rest)

    @property
    def first(self) -> tuple[int, ...]:
        return tuple(row[2] if len(row) == 3 else 0 for row in self.latches)

    def step(self, state: tuple[int, ...], action: int) -> tuple[tuple[int, ...], int]:
        values = {0: 0, **{2 * i + 2: action >> i & 1 for i in range(self.inputs)}}
        values.update(zip((row[0] for row in self.latches), state, strict=True))

        def value(literal: int) -> int:
            return values[literal & ~1] ^ (literal & 1)

        for gate, a, b in self.gates:
            assert gate > a >= b
            values[gate] = value(a) & value(b)
        return tuple(value(row[1]) for row in self.latches), value(self.bad)


@define
class Btor2:
    """A text of BTOR2, evaluated line by line."""

    lines: list[list[str]]

    @classmethod
    def read(cls, text: str) -> Btor2:
        rows = [line.split() for line in text.splitlines() if not line.startswith(";")]
        assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
        return cls(rows)

    @property
    def states(self) -> list[str]:
        return [row[0] for row in self.lines if row[1] == "state"]

    @property
    def first(self) -> tuple[int, ...]:
        begins = {row[3]: row[4] for row in self.lines if row[1] == "init"}
        values = self.evaluated({}, 0)
        return tuple(values[begins[line]] for line in self.states)

    def step(self, state: tuple[int, ...], action: int) -> tuple[tuple[int, ...], int]:
        values = self.evaluated(dict(zip(self.states, state, strict=True)), action)
        after = {row[3]: values[row[4]] for row in self.lines if row[1] == "next"}
        bad = next(values[row[2]] for row in self.lines if row[1] == "bad")
        return tuple(after.get(line, values[line]) for line in self.states), bad

    def evaluated(self, state: Mapping[str, int], action: int) -> dict[str, int]:
        values: dict[str, int] = {}
        widths = {row[0]: int(row[3]) for row in self.lines if row[1] == "sort"}
        for line, kind, *rest in self.lines:
            if kind in ("sort", "init", "next", "bad"):
                continue
            taken = [values.get(item, 0) for item in rest[1:]]
            value = {
                "input": lambda: action,
                "state": lambda line=line: state.get(line, 0),  # type: ignore[misc]
                "constd": lambda rest=rest: int(rest[1]),  # type: ignore[misc]
                "one": lambda: 1,
                "zero": lambda: 0,
                "add": lambda: taken[0] + taken[1],  # noqa: B023
                "sub": lambda: taken[0] - taken[1],  # noqa: B023
                "mul": lambda: taken[0] * taken[1],  # noqa: B023
                "eq": lambda: int(taken[0] == taken[1]),  # noqa: B023
                "slt": lambda: int(taken[0] < taken[1]),  # noqa: B023
                "slte": lambda: int(taken[0] <= taken[1]),  # noqa: B023
                "not": lambda: 1 - taken[0],  # noqa: B023
                "and": lambda: taken[0] & taken[1],  # noqa: B023
                "or": lambda: taken[0] | taken[1],  # noqa: B023
                "ite": lambda: taken[1] if taken[0] else taken[2],  # noqa: B023
            }[kind]()
            width = widths[rest[0]]
            if kind not in ("input", "constd") and width > 1:
                assert -(1 << width - 1) <= value < 1 << width - 1
            values[line] = value
        return values


@pytest.mark.skipif(abc.program() is None, reason="needs berkeley-abc")
def test_abc_reads_the_binary_form(tmp_path: Path) -> None:
    asked = everything(worlds.stream(3, replays=False))
    (tmp_path / "world.aig").write_bytes(aiger_binary(asked))
    script = "read_aiger world.aig; print_stats; bmc2 -F 20; print_status"
    command = [abc.program() or "", "-c", script]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    machine = Aiger.read(aiger(asked))
    assert re.search(rf"i/o = +{machine.inputs}/ +1 +lat = +{len(machine.latches)} ", said)
    shortest = naive.nearest(asked.relation.system, list(asked.relation.system.properties))
    assert re.search(rf"Frame = +{shortest} ", said)


EXPORTED = {
    "aiger": "aag ",
    "btor2": "; lease",
    "promela": "byte block",
    "murphi": "var",
    "tla": "---- MODULE",
}


@pytest.mark.parametrize("form", EXPORTED)
def test_the_command_writes_every_format(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "docs/examples/lease.py:world", "--to", form]) == 0
    assert capsys.readouterr().out.startswith(EXPORTED[form])


def test_the_command_writes_files(tmp_path: Path) -> None:
    file = tmp_path / "lease.tla"
    world = "docs/examples/lease.py:world"
    assert run(["export", world, "--to", "tla", "--out", str(file)]) == 0
    assert file.read_text().startswith("---- MODULE lease ----")
    assert "INVARIANT" in file.with_suffix(".cfg").read_text()
    file = tmp_path / "lease.aig"
    assert run(["export", world, "--to", "aiger", "--out", str(file)]) == 0
    assert file.read_bytes().startswith(b"aig ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["docs/examples/none.yaml"], "no such file"),
        (["docs/examples/lease.py:world", "--property", "nope"], "no-overwrite-in-flight"),
        (["docs/examples/lease.py:world", "--fixed"], "no fix"),
        (["stack:nope"], "nope"),
        (["docs/examples/lease.py:world", "--out", "/nowhere/x"], "no such file"),
    ],
)
def test_what_cannot_be_exported_is_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", *arguments, "--to", "aiger"]) == 2
    assert told in capsys.readouterr().err
