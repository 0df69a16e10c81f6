"""How other model checkers are run on the same lowered model, and how their output is read."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from attrs import frozen
from recovery import recovery

from rackproof.checker.export import murphi, promela, tla
from rackproof.checker.export.guarded import Notation, commands, names
from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Op
from rackproof.checker.lowering.relation import Relation

HERE = Path(__file__).parent
Size = tuple[int, int, int]


@frozen
class Contender:
    """A tool: the commands of one whole run, and how many states its output says there are."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    states: Callable[[str], int | None]
    what: str = ""


def ours(size: Size, threads: int, symmetry: bool = False) -> Contender:
    """The search of this repository."""
    text = f"rackproof, {threads} thread{'s' * (threads > 1)}" + ", symmetry" * symmetry
    arguments = (*map(str, size), str(threads), *(["symmetry"] if symmetry else []))
    command = (sys.executable, str(HERE / "ours.py"), *arguments)
    return Contender(text, (command,), lambda out: int(json.loads(out)["states"]))


def written(folder: Path, size: Size) -> Relation:
    """Write the model in every language; return what was lowered."""
    relation = lower(recovery(*size))
    (folder / "world.pml").write_text(promela(relation, properties=False))
    (folder / "world.m").write_text(murphi(relation))
    for path, text in zip(("world.tla", "world.cfg"), tla(relation, "world"), strict=True):
        (folder / path).write_text(text)
    (folder / "world_minicheck.py").write_text(minicheck(relation))
    return relation


SPIN_FLAGS = {
    "SPIN": ("-O2", "-DSAFETY", "-DNOREDUCE"),
    "SPIN, best flags found": (
        *("-O2", "-march=native", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK"),
        *("-DHASH64", "-DNOCOMP"),
    ),
}


def spin(name: str) -> Contender | None:
    """SPIN: an exhaustive search with its own reductions off, as they would hide states."""
    if not (shutil.which("spin") and shutil.which("gcc")):
        return None
    return Contender(
        name,
        (
            ("spin", "-a", "world.pml"),
            ("gcc", *SPIN_FLAGS[name], "-o", "pan", "pan.c"),
            ("./pan", "-m1000000", "-w24", "-n"),
        ),
        _number(r"(\d+) states, stored"),
        " ".join(SPIN_FLAGS[name]),
    )


def rumur() -> Contender | None:
    """Rumur, which compiles Murphi models; it uses every core."""
    if not (shutil.which("rumur") and shutil.which("gcc")):
        return None
    flags = ("-O3", "-march=native", "-mcx16")
    return Contender(
        "rumur",
        (
            ("rumur", "--deadlock-detection", "off", "--output", "world.c", "world.m"),
            ("gcc", *flags, "-o", "world", "world.c", "-lpthread"),
            ("./world",),
        ),
        _number(r"(\d+) states, \d+ rules"),
        " ".join(flags),
    )


def tlc() -> Contender | None:
    """TLC, where TLA2TOOLS_JAR names its archive."""
    jar = os.environ.get("TLA2TOOLS_JAR")
    if not (jar and shutil.which("java")):
        return None
    command = ("java", "-XX:+UseParallelGC", "-cp", jar, "tlc2.TLC", "-workers", "auto", "world")
    return Contender("TLC", (command,), _number(r"([\d,]+) distinct states found"))


def minicheck_run() -> Contender | None:
    """minicheck, where it is installed."""
    if importlib.util.find_spec("minicheck") is None:
        return None
    command = (sys.executable, "world_minicheck.py")
    return Contender("minicheck", (command,), lambda out: int(json.loads(out)["states"]))


def _number(pattern: str) -> Callable[[str], int | None]:
    """The last number that a pattern finds."""

    def read(text: str) -> int | None:
        found = re.findall(pattern, text)
        return int(found[-1].replace(",", "")) if found else None

    return read


_PYTHON = {
    Op.ADD: "+",
    Op.SUB: "-",
    Op.MUL: "*",
    Op.EQ: "==",
    Op.LT: "<",
    Op.LE: "<=",
    Op.NOT: "not ",
    Op.AND: "and",
    Op.OR: "or",
}


def minicheck(relation: Relation) -> str:
    """The model for minicheck: a Python function from a tuple to what follows it."""
    fields = list(names(relation))
    at = {slot: i for i, slot in enumerate(fields)}
    notation = Notation(
        arena=relation.arena,
        symbols=_PYTHON,
        variable=lambda slot: f"s[{at[slot]}]",
        as_number=lambda truth: f"int({truth})",
        true="True",
        false="False",
    )
    lines = ["import json", "from minicheck import Protocol, check_safety", "", "def after(s):"]
    lines.append("    found = []")
    for command in commands(relation):
        if not command.error:
            lines += [f"    if {notation.guard(command.guard)}:", "        t = list(s)"]
            lines += [f"        t[{at[s]}] = {notation.number(n)}" for s, n in command.writes]
            lines.append(f"        found.append(({command.name!r}, tuple(t)))")
    initial = tuple(relation.initial[slot] for slot in fields)
    fields_text = tuple(f"v{slot}" for slot in fields)
    lines += [
        "    return found",
        "",
        f"model = Protocol(name='world', candidate=False, fields={fields_text}, initial={initial},",
        "    transitions=after, invariants={'true': lambda d: True})",
        "print(json.dumps({'states': check_safety(model, max_states=10**9)['reachable_states']}))",
    ]
    return "\n".join(lines) + "\n"
