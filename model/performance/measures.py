"""Figures of a run by their names: what tables show, and what published figures are held against.

A time to first token says which it is: to the end of prefill, as the published rack study has it;
or to the end of the first decode step, with the hand-off, as DynoSim has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

from attrs import frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.simulation import (
    Convention,
    Deployment,
    Disaggregated,
    Run,
    Slo,
    Spread,
)

Kind = Literal["seconds", "share", "joules", "tokens/s", "requests/s"]

QUANTILES: Final = ("mean", "p50", "p90", "p95", "p99")
SPREADS: Final[Mapping[str, tuple[str, str]]] = {
    "ttft-prefill": ("ttft_prefill", "TTFT {} (end of prefill)"),
    "ttft-decode": ("ttft_decode", "TTFT {} (with hand-off and first step)"),
    "tpot": ("tpot", "TPOT {}"),
    "itl": ("itl", "ITL {}"),
    "e2e": ("e2e", "end to end {}"),
    "hand-off": ("hand_off", "hand-off {}"),
}
"""Name of a measure: the field of a run, and its title with the quantile left open."""


@frozen
class Measure:
    """A figure of a run, in SI units."""

    name: str
    title: str
    kind: Kind
    of: Callable[[Run], float]


def _spreads() -> dict[str, Measure]:
    found = {}
    for name, (field, title) in SPREADS.items():
        for quantile in QUANTILES:
            key = f"{name}-{quantile}"
            found[key] = Measure(key, title.format(quantile), "seconds", _of(field, quantile))
    return found


def _of(field: str, quantile: str) -> Callable[[Run], float]:
    def value(run: Run) -> float:
        spread: Spread = getattr(run, field)
        return float(getattr(spread, quantile))

    return value


def _per_arrival_s(tokens: float, run: Run) -> float:
    return tokens / run.last_arrival_s if run.last_arrival_s else float("nan")


MEASURES: Final[Mapping[str, Measure]] = _spreads() | {
    measure.name: measure
    for measure in (
        Measure("slo-met", "SLO met", "share", lambda run: run.slo_attainment),
        Measure("goodput", "goodput", "requests/s", lambda run: run.goodput_per_s),
        Measure("energy", "J/output token", "joules", lambda run: run.energy.J_per_token),
        Measure(
            "hand-off-mean-all",
            "hand-off mean (warm-up too)",
            "seconds",
            lambda run: run.hand_off_mean_all_s,
        ),
        Measure(
            "offered-prompt",
            "offered prompt tok/s",
            "tokens/s",
            lambda run: _per_arrival_s(run.prompt_tokens, run),
        ),
        Measure(
            "offered-output",
            "offered output tok/s",
            "tokens/s",
            lambda run: _per_arrival_s(run.output_tokens, run),
        ),
    )
}
"""Every figure, by name."""
OF_SLO: Final = frozenset({"slo-met", "goodput"})
"""Those that say how many requests keep the SLO."""


def ttft(run: Run, slo: Slo) -> Spread:
    """Times to the first token, by the convention of an SLO."""
    first = slo.convention is Convention.FIRST_TOKEN
    return run.ttft_decode if first else run.ttft_prefill


def ideal_hand_off_s(deployment: Deployment, tokens: int) -> float:
    """Seconds for the KV of so many tokens over the link's bandwidth alone, as specifications tell
    it: no latency, no queue. ``ModelError`` where nothing is handed over.
    """
    if not isinstance(deployment, Disaggregated):
        raise ModelError("an aggregated deployment hands nothing over")
    size = tokens * deployment.prefill.engine.kv_bytes_per_token
    return size / deployment.hand_off.link.bytes_per_s
