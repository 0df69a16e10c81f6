"""Measure the simulator of the performance model, and others on the same workload, in one run.

python benchmarks/simulation.py [--repeat N] [--traces FOLDER]

DynoSim takes part where ai-dynamo and ai-dynamo-runtime are installed, Vidur where VIDUR_HOME names
its checkout and VIDUR_PYTHON a Python with what it needs. All come to the same mean stay, or there
is no table. FOLDER has AzureLLMInferenceTrace_conv.csv and mooncake_synthetic_trace.jsonl, which
are repeated up to a million requests.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import itertools
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import simulators

from rackproof.model.performance.simulation import PrefixCache, Request, simulate

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests" / "support"))
from serving import study, workload  # noqa: E402

Trace = list[tuple[float, int, int, tuple[int, ...]]]


def main() -> None:
    """Measure, check, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--trace", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.trace:
        name, count = given.trace
        repeated(given.traces, name, int(count))
        return
    study_of_a_rack(given.repeat)
    print("\n| workload | simulator | requests | CPU s | requests a CPU s | ours is |")
    print("|---|---|--:|--:|--:|--:|")
    if importlib.util.find_spec("dynamo"):
        compare("study, 12 prefill, 6 decode", ["rackproof", "dynosim"], 1500, 1, given.repeat)
        compare("outputs of 6,000 tokens", ["rackproof", "dynosim"], 1500, 10, given.repeat)
    if "VIDUR_HOME" in os.environ:
        names = ["rackproof_aggregated", "vidur", "vidur_without_metrics"]
        compare("study, 18 aggregated", names, 1500, 1, given.repeat)
    if given.traces:
        print("\n| trace | requests | wall s | CPU s | peak MiB |")
        print("|---|--:|--:|--:|--:|", flush=True)
        for name, count in itertools.product(TRACES, (100_000, 1_000_000)):
            arguments = ("--traces", str(given.traces), "--trace", name, str(count))
            subprocess.run((sys.executable, "-Es", __file__, *arguments), check=True)


def study_of_a_rack(repeat: int) -> None:
    """The published study, with its own model of hardware."""
    requests, taken = list(workload()), []
    for _ in range(repeat):
        start = time.perf_counter()
        simulate(study(12, 6), requests)
        taken.append(time.perf_counter() - start)
    print(f"1,500 requests of the study: {statistics.median(taken):.2f} s (of {repeat} runs)")


def compare(workload_name: str, names: list[str], count: int, longer: int, repeat: int) -> None:
    """Rows of simulators on a workload, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.json"
        rows.write_text(json.dumps(simulators.workload(count, longer)))
        runs = [[measured(name, rows) for name in names] for _ in range(repeat)]
    stays = [run["mean_stay_s"] for run in runs[0]]
    if not all(math.isclose(stays[0], stay, rel_tol=1e-4) for stay in stays):
        sys.exit(f"{workload_name}: {names} come to mean stays of {stays} s")
    ours = statistics.median(turn[0]["cpu_s"] for turn in runs)
    for place, name in enumerate(names):
        cpu_s = statistics.median(turn[place]["cpu_s"] for turn in runs)
        cells = f"{count:,} | {cpu_s:.2f} | {count / cpu_s:,.0f} | {cpu_s / ours:.1f} x"
        print(f"| {workload_name} | {name} | {cells} |", flush=True)


def measured(name: str, rows: Path) -> dict[str, float]:
    """What a simulator took, in a process of its own."""
    python = os.environ.get("VIDUR_PYTHON", sys.executable) if "vidur" in name else sys.executable
    command = (python, "-Es", str(HERE / "simulators.py"), name, str(rows))
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    taken: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return taken


def azure(folder: Path) -> Trace:
    """The conversations of Azure's trace."""
    with (folder / "AzureLLMInferenceTrace_conv.csv").open() as file:
        rows = list(csv.DictReader(file))
    times = [datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp() for row in rows]
    return [
        (time - times[0], int(row["ContextTokens"]), int(row["GeneratedTokens"]), ())
        for time, row in zip(times, rows, strict=True)
    ]


def mooncake(folder: Path) -> Trace:
    """Mooncake's synthetic trace, with its blocks."""
    lines = (folder / "mooncake_synthetic_trace.jsonl").read_text().splitlines()
    return [
        (r["timestamp"] / 1e3, r["input_length"], r["output_length"], tuple(r["hash_ids"]))
        for r in map(json.loads, lines)
    ]


TRACES: dict[str, Callable[[Path], Trace]] = {"azure": azure, "mooncake": mooncake}


def repeated(folder: Path, name: str, count: int) -> None:
    """A trace again and again; a row of what that took."""
    rows = TRACES[name](folder)
    span = rows[-1][0] + 1

    def requests() -> Iterator[Request]:
        for turn in itertools.count():
            for time_s, *rest in rows:
                yield Request(turn * span + time_s, *rest)

    cache = PrefixCache(512, 20_000) if name == "mooncake" else None
    cpu, wall = time.process_time(), time.perf_counter()
    run = simulate(study(12, 6, cache=cache), itertools.islice(requests(), count), count=count)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert run.completed == count
    print(f"| {name} | {count:,} | {wall:.0f} | {cpu:.0f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()
