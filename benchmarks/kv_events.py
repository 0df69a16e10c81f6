"""Measure how long a log of KV events takes to be checked, and how much memory.

python benchmarks/kv_events.py [--changes N] [--late]

Logs of N, 2 N and 4 N changes of a cache of about a thousand blocks are made up. With --late the
first message of each is dropped, so that what was cached at the start is not known.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rackproof.checker.conform.explainer import Explainer
from rackproof.scenarios.recorded.kv import kv_cases
from rackproof.scenarios.schema import Bundled

BLOCKS = 1000


def main() -> None:
    """Print a row for each log, which is checked in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=100_000)
    parser.add_argument("--late", action="store_true")
    given = parser.parse_args()
    print("| changes | MB | cases | searched | CPU s | peak MB | answers |")
    print("|--:|--:|--:|--:|--:|--:|---|", flush=True)
    for times in (1, 2, 4):
        arguments = times * given.changes, given.late
        process = multiprocessing.get_context("spawn").Process(target=measure, args=arguments)
        process.start()
        process.join()


def measure(changes: int, late: bool) -> None:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kv.jsonl"
        with path.open("w") as file:
            file.writelines(messages(changes, late))
        started, explainer, answers = time.process_time(), Explainer(), Counter[str]()
        for case in kv_cases(path, print, Bundled("dynamo"), "sglang-kv"):
            answers[explainer.explain(case).answer.value] += 1
        seconds = time.process_time() - started
        size = path.stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    told = ", ".join(f"{count:,} {answer}" for answer, count in sorted(answers.items()))
    cases = f"{answers.total():,} | {explainer.explained}"
    print(
        f"| {changes:,} | {size:.0f} | {cases} | {seconds:.1f} | {peak:.0f} | {told} |", flush=True
    )


def messages(changes: int, late: bool) -> Iterator[str]:
    """A log of so many changes, in messages of a few each."""
    rng, cache, number, done = random.Random(1), Cache(), 0, 0
    while done < changes:
        events = [cache.change(rng) for _ in range(rng.randint(1, 4))]
        done += sum(len(event["block_hashes"]) for event in events)
        if number or not late:
            yield json.dumps({"seq": number, "batch": [1e9 + number / 1000, events, 0]}) + "\n"
        number += 1


class Cache:
    """Blocks behind each other, of which one that nothing continues may be evicted."""

    def __init__(self) -> None:
        """Nothing is cached."""
        self.parents: dict[int, int | None] = {}
        self.children: Counter[int] = Counter()
        self.order: list[int] = []

    def change(self, rng: random.Random) -> dict[str, Any]:
        """Store a few blocks, or evict one if there are enough."""
        if len(self.parents) < BLOCKS:
            return self.store(rng)
        return self.evict(rng)

    def store(self, rng: random.Random) -> dict[str, Any]:
        """A few blocks behind one that is there, or at the beginning."""
        first = parent = rng.choice(self.order) if self.order and rng.random() < 0.8 else None
        blocks = [rng.getrandbits(63) for _ in range(rng.randint(1, 8))]
        for block in blocks:
            self.parents[block] = parent
            self.order.append(block)
            if parent is not None:
                self.children[parent] += 1
            parent = block
        return {
            "type": "BlockStored",
            "block_hashes": blocks,
            "parent_block_hash": first,
            "token_ids": [],
            "block_size": 16,
        }

    def evict(self, rng: random.Random) -> dict[str, Any]:
        """A block that nothing continues."""
        while self.children[self.order[at := rng.randrange(len(self.order))]]:
            pass
        block, self.order[at] = self.order[at], self.order[-1]
        self.order.pop()
        parent = self.parents.pop(block)
        if parent is not None:
            self.children[parent] -= 1
        return {"type": "BlockRemoved", "block_hashes": [block]}


if __name__ == "__main__":
    main()
