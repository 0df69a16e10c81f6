"""One whole run of the search, as a process.

python benchmarks/ours.py WORKERS REQUESTS FAULTS THREADS [symmetry]
"""

from __future__ import annotations

import json
import sys

from recovery import recovery

from rackproof.checker.lowering import lower
from rackproof.checker.search import explore
from rackproof.checker.symmetry import interchangeable


def main(workers: str, requests: str, faults: str, threads: str, symmetry: str = "") -> None:
    """Explore, and print the figures as JSON."""
    relation = lower(recovery(int(workers), int(requests), int(faults)))
    classes = interchangeable(relation) if symmetry else ()
    found = explore(relation, classes, workers=int(threads))
    figures = {
        "states": found.states,
        "exhausted": found.exhausted,
        "words": found.words,
        "bytes": found.memory,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
