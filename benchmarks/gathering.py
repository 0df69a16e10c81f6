"""How long a record of many requests takes to be gathered by request, and how much memory.

    python benchmarks/gathering.py [REQUESTS]

Each request has ten tokens in order, and six other notes in two files. What is measured is the
time of the process and its largest size; half as many requests are measured too.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from rackproof.model.kernel import Observation, Place
from rackproof.scenarios.recorded.gathered import Gathered
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.recorded.runs import run_of

TOKENS = 10


def notes(requests: int) -> Iterator[Noted]:
    """What the clients noted of all requests, and then what the frontend did."""
    for number in range(requests):
        for line, (kind, values) in enumerate(CLIENT):
            yield noted(number, "client", kind, values, line)
    for number in range(requests):
        for line, (kind, values) in enumerate(FRONTEND):
            yield noted(number, "frontend", kind, values, line)


CLIENT: list[tuple[str, dict[str, int | str]]] = [
    *(("token", {"position": position}) for position in range(TOKENS)),
    ("finish", {}),
    ("usage", {"completion": TOKENS}),
    ("end", {}),
]
FRONTEND: list[tuple[str, dict[str, int | str]]] = [
    ("dispatch", {"attempt": 0, "worker": "w1", "delivered": 0}),
    ("done", {"attempt": 0, "worker": "w1"}),
    ("over", {"outcome": "done"}),
]


def noted(number: int, witness: str, kind: str, values: dict[str, int | str], line: int) -> Noted:
    """A note of a request with a name as long as those of real ones."""
    place = Place(witness, number * TOKENS + line)
    about = f"{number:08x}-6cf1-4f3c-a198-36631c631067"
    return Noted(about, Observation(witness, kind, values, {}, place, number * 0.01), witness)


def measure(requests: int) -> None:
    """Gather, go through all requests, and print what that took."""
    for _ in notes(requests):
        pass
    made = time.process_time()
    count = 0
    with Gathered(map(run_of, notes(requests)), lambda _: None) as gathered:
        for _about, found in gathered:
            count += 1
            assert len(found) == len(CLIENT) + len(FRONTEND)
    assert count == requests
    took = time.process_time() - made
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    where = "files" if gathered.in_files else "memory"
    print(
        f"{requests:>9,} requests, by {where}: {took:6.1f} s with making them "
        f"({made:.1f} s), {size} MB",
        flush=True,
    )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(int(sys.argv[1]))
    else:
        most = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
        for requests in (most // 2, most):
            subprocess.run([sys.executable, __file__, str(requests), "alone"], check=True)
