"""What is left of the goodput under failure rates: availability, and requests lost a day?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import evolve

from rackproof.checker.performance.answers import Answer, Column, Table, Unit, Value
from rackproof.checker.performance.questions.failures import followed
from rackproof.checker.performance.study import Study, objectives
from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.degraded import Expected, Workload, domains
from rackproof.model.performance.failures.rates import (
    HOUR_S,
    Domain,
    affected_share,
    any_of,
    goodput,
    observed,
    restart,
)
from rackproof.scenarios.performance.plan import Variant

RATES: Final = ("gpu", "gpu-alone", "gpu-worst")
RESTARTS: Final = ("standby", "load", "restart", "replace")
DAY_S: Final = 86_400.0
DOMAINS: Final = (
    Column("what fails", "domain"),
    Column("how many", "count", Unit.COUNT),
    Column("MTBF of one", "mtbf", Unit.SECONDS),
    Column("known after", "detection", Unit.SECONDS),
    Column("then restarts for", "restart", Unit.SECONDS),
    Column("down for", "mttr", Unit.SECONDS),
    Column("one is up", "availability"),
    Column("seconds a day with one down", "down_a_day", Unit.SECONDS),
    Column("SLO met then", "attainment", Unit.SHARE),
    Column("requests hit", "hit", Unit.COUNT),
    Column("later by, mean", "late_mean", Unit.SECONDS),
    Column("miss the SLO", "missed", Unit.COUNT),
    Column("of all requests, hit", "affected"),
)
TOTALS: Final = (
    Column("failures", "rate"),
    Column("restart", "restart"),
    Column("MTBF of any", "mtbf_any", Unit.SECONDS),
    Column("goodput", "goodput", Unit.PER_S, 6),
    Column("lost by failures", "lost"),
    Column("requests a day", "lost_requests_a_day", Unit.COUNT),
    Column("all are up", "all_up"),
    Column("two are down, at most", "two_down"),
    Column("request-seconds late, a day", "late_a_day", Unit.SECONDS),
)
NOTES: Final = (
    "SLO met then: simulated with one instance less, all along; down for: until it is known, and "
    "the restart; of all requests, hit: the share of those offered that a failure hits",
    "later by: of requests on an instance that fails in the middle of the arrivals, how much later "
    "they end",
    "failure rates are of H100 training clusters: none is published of serving on GB200",
)


def ask(study: Study) -> Answer:
    """For each variant a row a kind of failure, and a row a rate and time to restart."""
    expected = study.plan.sections.get("availability") or Expected()
    tables: list[Table] = []
    for variant in study.plan.variants:
        tables += _tables(study, variant, expected)
    notes = (*NOTES, *legend(), *objectives(study.plan.variants))
    return Answer("availability", tuple(tables), notes=notes)


def legend() -> tuple[str, ...]:
    """What the failure rates and restarts of the totals stand for, and where they are from."""
    rates = [
        f"failures {name}: {one.text.rstrip('.')}: one in "
        f"{Unit.SECONDS.shown(one.mtbf_h * HOUR_S)} ({one.source})"
        for name, one in ((name, observed(name)) for name in RATES)
    ]
    restarts = [
        f"restart {name}: {Unit.SECONDS.shown(one.seconds)} ({one.source})"
        for name, one in ((name, restart(name)) for name in RESTARTS)
    ]
    return (*rates, *restarts)


def _tables(study: Study, variant: Variant, expected: Expected) -> tuple[Table, Table]:
    requests, run = followed(study, variant)
    if not run.last_arrival_s:
        raise ModelError(f"{variant.name}: all requests come at once; there is no rate of them")
    served = Workload(variant.deployment, requests, variant.slo, variant.warm_up, run)
    found = domains(served, expected)
    offered = run.offered / run.last_arrival_s
    title = f"What fails ({variant.name}, {offered:.1f} requests/s)"
    known_s = expected.known_s(served.traffic)
    rows = tuple(_row(domain, offered, known_s) for domain in found)
    totals = [("as expected", "as expected", *_total(found, offered, run.slo_attainment))]
    for rate in RATES:
        for name in RESTARTS:
            changed = _changed(found, expected, observed(rate).mtbf_h, restart(name).seconds)
            totals.append((rate, name, *_total(changed, offered, run.slo_attainment)))
    return (
        Table(title, DOMAINS, rows),
        Table(f"Goodput under failures ({variant.name})", TOTALS, tuple(totals)),
    )


def _row(domain: Domain, offered: float, known_s: float) -> tuple[Value, ...]:
    together_h = domain.mtbf_h / domain.count
    affected = affected_share(domain.stalled, offered, together_h)
    return (
        domain.name,
        domain.count,
        domain.mtbf_h * HOUR_S,
        known_s,
        domain.mttr_s - known_s,
        domain.mttr_s,
        f"{domain.availability:.7f}",
        domain.down_share * DAY_S,
        domain.attainment,
        domain.stalled,
        domain.stall_s,
        domain.missed,
        f"{affected:.2g}",
    )


def _changed(
    found: Sequence[Domain], expected: Expected, gpu_mtbf_h: float, restart_s: float
) -> list[Domain]:
    """The instances with another rate and restart; what is simulated of them stays."""
    scale = gpu_mtbf_h / expected.gpu_mtbf_h
    return [
        evolve(
            domain,
            mtbf_h=domain.mtbf_h * scale,
            mttr_s=domain.mttr_s - expected.restart_s + restart_s,
        )
        if domain.name.endswith("instance")
        else domain
        for domain in found
    ]


def _total(found: Sequence[Domain], offered: float, attainment: float) -> tuple[Value, ...]:
    left = goodput(offered, attainment, found)
    lost = offered * attainment - left.requests_per_s
    return (
        any_of(found) * HOUR_S,
        left.requests_per_s,
        f"{left.lost_share:.2g}",
        lost * DAY_S,
        f"{left.all_up_share:.6f}",
        f"{left.two_down_share:.2g}",
        left.stall_s_per_h * 24,
    )
