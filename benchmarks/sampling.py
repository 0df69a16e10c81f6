"""How soon planted bugs are found by engine sample, and by plain random walks.

python benchmarks/sampling.py [SEEDS] [STEPS]    a table in Markdown; steps: when a look is given up

A walk takes any firing that is possible, each as likely as the others, until nothing is possible or
it is 100 steps long. What is counted is the steps of all runs up to the violation, without those in
which Hypothesis shrinks it.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rackproof.checker.sample.engine import Sampler
from rackproof.checker.sample.point import Choices, Point
from rackproof.checker.sample.tally import Sampling, Tally
from rackproof.model.kernel import Property, Scope, System, holds
from rackproof.scenarios.loader import load

SCENARIOS = Path(__file__).parents[1] / "scenarios"
PLANTED = (
    "bugs/dynamo-7930-guided-request-migrated",
    "bugs/dynamo-w1-finish-then-disconnect",
    "bugs/dynamo-w2-zero-budget-emits",
    "bugs/dynamo-usage-inflated-by-migration",
    "bugs/dynamo-frozen-worker-chosen-again",
    "bugs/dynamo-13855-client-leaves-during-prefill",
    "bugs/dynamo-11647-duplicate-request",
    "bugs/dynamo-7863-watermark-outlives-registration",
    "bugs/vllm-32255-abort-races-completion",
    "bugs/vllm-55470-write-after-the-lease",
    "bugs/vllm-21570-read-after-timeout",
    "bugs/vllm-47021-clock-behind",
    "bugs/sglang-24527-abort-under-a-writer",
    "bugs/sglang-40125-duplicate-room",
    "bugs/trt-12542-evicted-before-send",
    "bugs/trt-14565-freed-under-a-transfer",
    "bugs/lmcache-3444-removed-while-read",
    "bugs/mooncake-3073-short-read-accepted",
    "bugs/nixl-1451-stale-signal-after-scale-up",
    "drills/zombie-unfenced",
)
LENGTH = 100


def sampled(system: System, wanted: list[Property], seed: int, most: int) -> tuple[int, int] | None:
    """Runs and steps until one of the properties is violated; None where that is not found."""
    names = [prop.name for prop in wanted]
    many = Sampling(runs=sys.maxsize, length=LENGTH, seed=seed)
    sampler = Sampler(system, many, asked=names, is_enough=lambda tally: _ends(tally, most))
    sampler.draw()
    return (sampler.tally.runs, sampler.tally.steps) if sampler.tally.violated else None


def _ends(tally: Tally, most: int) -> bool:
    return bool(tally.violated) or tally.steps >= most


def walked(system: System, wanted: list[Property], seed: int, most: int) -> tuple[int, int] | None:
    """The same by plain random walks."""
    choices, draw, runs, steps = Choices(system), random.Random(seed), 0, 0
    while steps < most:
        point, runs = choices.at(system.initial), runs + 1
        for _ in range(LENGTH):
            moves = [move for name in point.possible for move in point.moves(name)]
            if not moves:
                break
            point, steps = choices.at(draw.choice(moves).after), steps + 1
            if any(_is_violated(system, prop, point) for prop in wanted):
                return runs, steps
    return None


def _is_violated(system: System, prop: Property, point: Point) -> bool:
    is_asked = prop.scope is Scope.ALWAYS or point.rests
    return is_asked and not holds(system, prop, point.state)


Look = Callable[[System, list[Property], int, int], tuple[int, int] | None]


def row(path: str, seeds: int, most: int) -> str:
    """What comes of one bug: how often it is found, and the medians of runs and steps."""
    case = load(SCENARIOS / f"{path}.yaml").case
    system = case.setting.system
    names = {name for name, one in case.expect.items() if one.verdict == "violated"}
    wanted = [prop for prop in system.properties if prop.name in names]
    looks: tuple[Look, ...] = (sampled, walked)
    cells = [_cells([look(system, wanted, seed, most) for seed in range(seeds)]) for look in looks]
    return f"| {path.split('/')[1]} | {' | '.join(cells)} |"


def _cells(found: list[tuple[int, int] | None]) -> str:
    """Found of all, median runs, median steps; a median that lies among what was not found is
    none.
    """
    counts = [one or (sys.maxsize, sys.maxsize) for one in found]
    runs, steps = (statistics.median_low(those) for those in zip(*counts, strict=True))
    times = sum(one is not None for one in found)
    told = ("-", "-") if steps == sys.maxsize else (f"{runs:,}", f"{steps:,}")
    return f"{times} of {len(found)} | {told[0]} | {told[1]}"


def table(seeds: int, most: int) -> Iterator[str]:
    """A row a bug."""
    yield "| bug | sampled: found | runs | steps | walked: found | runs | steps |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for path in PLANTED:
        yield row(path, seeds, most)


if __name__ == "__main__":
    chosen = [int(word) for word in sys.argv[1:]]
    for line in table(*(chosen + [3, 5_000][len(chosen) :])):
        print(line, flush=True)
