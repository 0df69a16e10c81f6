"""How long proofs take, and whether proof and search agree on every bundled scenario.

python benchmarks/proofs.py ladder [SECONDS]     worlds of the reference, from small to large
python benchmarks/proofs.py agreement [SECONDS]  every bundled scenario, as reported and fixed
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rackproof.checker.engines import Options, explore
from rackproof.checker.lowering import lower
from rackproof.checker.proof.abc import abc, program
from rackproof.checker.proof.certificate import certificate
from rackproof.checker.proof.checking import check
from rackproof.checker.proof.circuit import bits
from rackproof.checker.proof.obligations import SAFETY, obligation
from rackproof.checker.proof.outcomes import Budget, Invariant
from rackproof.checker.proof.pdr import pdr
from rackproof.checker.proof.proof import Proof
from rackproof.checker.proof.prover import Prover
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Bundled, Case
from rackproof.scenarios.settings import bundled_setting

SCENARIOS = Path(__file__).parents[1] / "scenarios"
SIX = (
    "no-duplicate-tokens",
    "bounded-retries",
    "kv-consistent",
    "nothing-after-finish",
    "terminal-latch",
    "no-overwrite-in-flight",
)
MANY = {"crash": 1, "hang": 1, "resume": 1, "disconnect": 1, "transfer-failure": 1}
LADDER = (
    ({"aggregated": 2}, {"tokens": 3}, {"crash": 1}),
    ({"prefill": 1, "decode": 2}, {"tokens": 3}, {"crash": 1}),
    ({"prefill": 1, "decode": 2}, {"tokens": 3, "retry-limit": 2}, MANY),
    ({"prefill": 1, "decode": 1}, {"requests": 2}, {"crash": 1, "disconnect": 1}),
    ({"prefill": 1, "decode": 2}, {"requests": 2}, {"crash": 1, "disconnect": 1}),
)


def ladder(seconds: float) -> Iterator[str]:
    """The six properties of the reference in one proof: found alone, then confirmed."""
    yield "| world | bits | by | clauses | found, s | z3, s | cvc5, s |"
    yield "|---|--:|---|--:|--:|--:|--:|"
    engines = {"pdr": pdr, **({"abc": abc} if program() else {})}
    for rack, scope, faults in LADDER:
        system = bundled_setting(Bundled(rack=rack, scope=scope, faults=faults), SCENARIOS).system
        relation = lower(system)
        shown = obligation(relation, SIX)
        size = f"{bits(relation)} ({bits(shown.relation)} matter)"
        for name, engine in engines.items():
            began = time.monotonic()
            found = engine(shown, budget=Budget.of(seconds))
            spent = time.monotonic() - began
            words = ", ".join(f"{key} {n}" for key, n in {**rack, **scope, **faults}.items())
            if not isinstance(found, Invariant):
                yield f"| {words} | {size} | {name} | {found} | {spent:.1f} | | |"
                continue
            item = certificate("", "", Proof(shown, found.clauses, name, spent))
            checks = [check(item, None, [solver]).answers[0] for solver in ("z3", "cvc5")]
            assert all(answer.said == "unsat" for answer in checks)
            times = " | ".join(f"{answer.seconds:.1f}" for answer in checks)
            yield f"| {words} | {size} | {name} | {len(found.clauses)} | {spent:.1f} | {times} |"


def agreement(seconds: float) -> Iterator[str]:
    """What a search and a proof without any search say of the safety properties judged."""
    told = Counter[str]()
    for path in sorted(SCENARIOS.glob("bugs/*.yaml")) + sorted(SCENARIOS.glob("drills/*.yaml")):
        scenario = load(path)
        for case in filter(None, (scenario.case, scenario.fix)):
            for name, verdict in compared(case, seconds):
                told[verdict] += 1
                if verdict != "agree":
                    yield f"{path.stem}: {name}: {verdict}"
    yield ", ".join(f"{verdict}: {number}" for verdict, number in sorted(told.items()))


def compared(case: Case, seconds: float) -> Iterator[tuple[str, str]]:
    """Each safety property that counts, and whether both say the same of it."""
    system = case.setting.system
    seen = explore(system, None, Options("search"))
    asked = tuple(
        p.name
        for p in system.properties
        if p.scope in SAFETY
        and (not case.expect or p.name in case.expect)
        and system.speaks_of_anything(p)
    )
    prover = Prover(lower(system), asked, set(seen.reached), seconds=seconds)
    prover.run()
    for name in asked:
        proved, violated = name in prover.proofs, name in prover.violated
        if not (proved or violated):
            yield name, "no answer in time"
        else:
            yield name, "agree" if violated == (name in seen.violated) else "DISAGREE"


if __name__ == "__main__":
    limit = float(sys.argv[2]) if len(sys.argv) > 2 else 120.0
    for line in {"ladder": ladder, "agreement": agreement}[sys.argv[1]](limit):
        print(line, flush=True)
