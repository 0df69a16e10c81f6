"""Berkeley ABC (Brayton and Mishchenko, 2010), where it is installed: its PDR, on the same circuit.

Nothing that it says is taken on trust: an invariant is to be checked, and a path is walked again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path as File

from rackproof.checker.export.aiger import binary
from rackproof.checker.proof.circuit import Circuit, Machine, machine
from rackproof.checker.proof.fields import Cube, clause
from rackproof.checker.proof.minimal import minimal
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.outcomes import (
    Budget,
    Invariant,
    Path,
    Unknown,
    effective,
    path_of,
)

PROGRAMS = ("berkeley-abc", "abc", "yosys-abc")


def program() -> str | None:
    """Where ABC is, under any of its names."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def abc(obligation: Obligation, budget: Budget | None = None) -> Invariant | Path | Unknown:
    """Find an invariant or a path to a bad state; ``Unknown`` where ABC is not installed, too."""
    found = program()
    if found is None:
        return Unknown(f"none of {', '.join(PROGRAMS)} is installed")
    budget = budget or Budget()
    circuit = Circuit(obligation)
    if not circuit.bads:
        return Invariant(())
    made = machine(circuit)
    with tempfile.TemporaryDirectory(prefix="rackproof-") as folder:
        place = File(folder)
        (place / "world.aig").write_bytes(binary(circuit, made, zeroed=True))
        said = _run(found, place, budget)
        return _outcome(circuit, made, place, said, budget)


def _run(command: str, place: File, budget: Budget) -> str | None:
    """What it says; None where it had to be stopped. It and its children end with this call."""
    left = budget.left
    if left is not None and left <= 0:
        return None
    limit = f" -T {int(left) + 1}" if left is not None else ""
    script = f"read_aiger world.aig; pdr -d{limit}; print_status; write_cex -a world.cex"
    with subprocess.Popen(
        [command, "-q", script],
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=left)[0]
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _outcome(
    circuit: Circuit, made: Machine, place: File, said: str | None, budget: Budget
) -> Invariant | Path | Unknown:
    if said is None:
        return Unknown("out of time")
    if "Status = 1" in said:
        table = (place / "world_inv.pla").read_text(encoding="ascii")
        cubes = minimal(circuit, list(_cubes(circuit, table)), budget)
        return Invariant(tuple(clause(circuit, cube) for cube in cubes))
    if "Status = 0" in said:
        frames = (place / "world.cex").read_text(encoding="ascii").split()[1:]
        return _path(circuit, made, frames)
    return Unknown(budget.spent or "ABC came to no result")


def _cubes(circuit: Circuit, table: str) -> Iterator[Cube]:
    """The cubes that are ruled out, from a table with a column for each latch that it names."""
    columns: list[int] = []
    for line in table.splitlines():
        if line.startswith(".ilb"):
            columns = [int(name.removeprefix("l")) for name in line.split()[1:]]
        elif line and line[0] in "01-":
            yield tuple(
                latch + 1 if (char == "1") is not circuit.first[latch] else -latch - 1
                for latch, char in zip(columns, line.split()[0], strict=True)
                if char != "-"
            )


def _path(circuit: Circuit, made: Machine, frames: Sequence[str]) -> Path:
    """The path that the inputs at each step lead along; those of the last step do nothing."""
    numbers = [made.chosen([char == "1" for char in frame[: len(made.inputs)]]) for frame in frames]
    actions = [circuit.moves[n].action for n in numbers if n < len(circuit.moves)]
    return path_of(circuit.relation, effective(circuit.relation, actions))
