"""Measure how long recorded requests take to be checked, and how much memory.

python benchmarks/conformance.py [--requests N] [--gigabyte] [--keep FOLDER]

Captures of N and of 2 N requests are written out from runs of the model, in the layout of Dynamo: a
tenth of the requests lose a worker. Each is checked by a process of its own. With --gigabyte there
is one of a gigabyte too, of long outputs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests" / "support"))
from written_out import Shape, write_capture  # noqa: E402

PROGRAM = "from rackproof.checker.cli import main; main()"
GIGABYTE = Shape(1_400, least=1_500, most=2_000)


def main() -> None:
    """Write the captures, check each, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--gigabyte", action="store_true")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    shapes = [Shape(given.requests), Shape(2 * given.requests)]
    if given.gigabyte:
        shapes.append(GIGABYTE)
    print("| requests | MB | wall s | CPU s | peak MB | verdict |")
    print("|--:|--:|--:|--:|--:|---|", flush=True)
    for shape in shapes:
        if given.keep:
            measure(shape, given.keep / str(shape.requests))
            continue
        with tempfile.TemporaryDirectory() as folder:
            measure(shape, Path(folder) / str(shape.requests))


def measure(shape: Shape, folder: Path) -> None:
    """A row for a capture, which is written first where it is not there."""
    if not folder.exists():
        folder.mkdir(parents=True)
        write_capture(folder, shape)
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    command = [sys.executable, "-Ic", PROGRAM, "conform", str(folder), "--stack", "dynamo", "-q"]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.read()
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    wall = time.perf_counter() - started
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
    verdict = told.splitlines()[0].partition(": ")[2] if told else "nothing"
    print(
        f"| {shape.requests:,} | {size:,.0f} | {wall:.1f} | {cpu:.1f} | {peak:,.0f} | {verdict} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
