"""Measure the search against other model checkers, whole processes in one run.

python benchmarks/run.py [--repeat N]

Every tool explores the same lowered model with all its preparation (generating code, compiling)
and must come to the same number of states. Tools that are not installed are left out. The table
goes into benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import peers
from attrs import frozen
from peers import Contender, Size

LARGE: Size = (6, 2, 2)
POOL: Size = (20, 1, 2)
README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- measured -->", "<!-- end -->"


@frozen
class Measured:
    """What one whole run took."""

    contender: Contender
    states: int | None
    cpu: float
    wall: float
    output: str


def main() -> None:
    """Measure, check, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as name:
        text = "\n".join(report(Path(name), repeat))
    readme = README.read_text()
    before, rest = readme.split(BEGIN)
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
    print(text)


def report(folder: Path, repeat: int) -> Iterable[str]:
    """The measured part of the README."""
    yield f"\n{machine()}; medians of {repeat} runs, taken in turn.\n"
    peers.written(folder, LARGE)
    plain = [
        peers.ours(LARGE, threads=1),
        peers.ours(LARGE, threads=2),
        *(peers.spin(name) for name in peers.SPIN_FLAGS),
        peers.rumur(),
        peers.minicheck_run(),
        peers.tlc(),
    ]
    reduced = peers.ours(LARGE, threads=2, symmetry=True)
    found = measured([*present(plain), reduced], folder, repeat)
    count = agreed(found[:-1])
    yield f"**The same {count:,} states**, all of them stored whole:\n"
    yield from table(found)
    yield ""
    yield from memory(found[0])
    yield from many_workers(folder, repeat)


def present(contenders: Iterable[Contender | None]) -> list[Contender]:
    """Those that are installed."""
    return [contender for contender in contenders if contender is not None]


def measured(contenders: Sequence[Contender], folder: Path, repeat: int) -> list[Measured]:
    """Run each several times, taking turns; the medians."""
    runs: dict[str, list[Measured]] = {contender.name: [] for contender in contenders}
    for _ in range(repeat):
        for contender in contenders:
            print(contender.name, file=sys.stderr)
            runs[contender.name].append(run(contender, folder))
    return [median(several) for several in runs.values()]


def median(several: Sequence[Measured]) -> Measured:
    """One of the runs, with the median times."""
    (states,) = {one.states for one in several}
    cpu = statistics.median(one.cpu for one in several)
    wall = statistics.median(one.wall for one in several)
    return Measured(several[0].contender, states, cpu, wall, several[0].output)


def run(contender: Contender, folder: Path) -> Measured:
    """One whole run, commands one after another."""
    output, cpu, started = "", 0.0, time.monotonic()
    for command in contender.commands:
        done = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert done.stdout is not None
        output += done.stdout.read()
        _, status, usage = os.wait4(done.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(command)} failed:\n{output}")
        cpu += usage.ru_utime + usage.ru_stime
    wall = time.monotonic() - started
    return Measured(contender, contender.states(output), cpu, wall, output)


def agreed(found: Sequence[Measured]) -> int:
    """The number of states that all came to."""
    counts = {one.contender.name: one.states for one in found}
    if len(set(counts.values())) != 1 or None in counts.values():
        raise SystemExit(f"the counts differ: {counts}")
    (count,) = {one.states for one in found if one.states is not None}
    return count


def table(found: Sequence[Measured]) -> Iterable[str]:
    """Seconds, and ratios to our own runs: CPU to that of one thread, wall to the last."""
    one, last = found[0], found[-1]
    yield "| tool | states | CPU s | wall s | CPU, ours 1 | wall, ours with symmetry 1 |"
    yield "|---|--:|--:|--:|--:|--:|"
    for item in found:
        what = f" (`{item.contender.what}`)" if item.contender.what else ""
        yield (
            f"| {item.contender.name}{what} | {item.states:,} | {item.cpu:.2f} | {item.wall:.2f} "
            f"| {item.cpu / one.cpu:.1f} | {item.wall / last.wall:.1f} |"
        )


def memory(one: Measured) -> Iterable[str]:
    """What a state takes."""
    figures = json.loads(one.output)
    each = figures["bytes"] / figures["states"]
    yield (
        f"A stored state of {figures['words']} word takes {each:.1f} bytes here, table and all "
        "(8 for the state, 5.7 to 11.4 for its place in the table)."
    )


def many_workers(folder: Path, repeat: int) -> Iterable[str]:
    """The world whose workers are many and interchangeable."""
    workers, requests, faults = POOL
    (found,) = measured([peers.ours(POOL, threads=2, symmetry=True)], folder, repeat)
    yield (
        f"\n{workers} interchangeable workers, {requests} request, {faults} faults: exhausted in "
        f"{found.wall:.2f} s, the whole process ({found.states:,} states up to symmetry)."
    )


def machine() -> str:
    """What this was measured on."""
    info = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    cores = len(os.sched_getaffinity(0))
    return f"{models[0] if models else platform.machine()}, {cores} cores, {platform.system()}"


if __name__ == "__main__":
    main()
