"""What drawn runs have been through, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rackproof.checker.verdicts import counted
from rackproof.scenarios.steps import kebab

if TYPE_CHECKING:
    from rackproof.checker.sample.tally import Sampled
    from rackproof.checker.verdicts import Findings


def lines(findings: Findings) -> Iterator[str]:
    """The transitions by how often they fired, those that could have and never did, and the
    pairs.
    """
    if findings.sampled is None:
        return
    tally = findings.sampled.tally
    often = ", ".join(f"{kebab(name)} {times:,}" for name, times in tally.fired.most_common())
    yield f"{counted(tally.runs, 'run')}, {counted(tally.steps, 'step')}; {rested(tally.resting)}"
    yield f"fired: {often or 'nothing'}"
    if findings.idle:
        yield f"never fired in these runs: {', '.join(map(kebab, findings.idle))}"
    if tally.seen:
        seen = counted(len(tally.seen), "pair")
        yield f"{len(tally.covered):,} of {seen} of fault and phase that were seen were tried"


def rested(runs: int) -> str:
    """How many of the runs came to rest."""
    return f"{counted(runs, 'run')} came to rest"


def as_data(sampled: Sampled) -> dict[str, Any]:
    """The same as plain lists, maps, texts and numbers."""
    sampling, tally = sampled.sampling, sampled.tally
    return {
        "runs": tally.runs,
        "steps": tally.steps,
        "longest": tally.longest,
        "at_rest": tally.resting,
        "seed": sampling.seed,
        "fired": {kebab(name): times for name, times in sorted(tally.fired.items())},
        "pairs": {"tried": len(tally.covered), "seen": len(tally.seen)},
        "found": dict(sampled.found),
    }
