"""What is left to serve with while something is down, and what a failure costs who was on it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import evolve, field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import not_negative, positive
from rackproof.model.performance.failures.aftermath import aftermath, keeps
from rackproof.model.performance.failures.detection import Detection, Symptom, Traffic, detector
from rackproof.model.performance.failures.outage import Failure
from rackproof.model.performance.failures.planned import instances
from rackproof.model.performance.failures.rates import Domain, observed, restart
from rackproof.model.performance.failures.recovery import Policy, Recovery
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    Pool,
    Request,
    Run,
    Slo,
    simulate,
)


@frozen
class Expected:
    """What failures are expected: how often a GPU takes its instance with it, and what follows.

    restart_s: from when it is known. domain_mtbf_h: of the whole NVLink domain, where that is known
    (nothing is published), and domain_restart_s until it serves again.
    """

    gpu_mtbf_h: float = field(factory=lambda: observed("gpu").mtbf_h, validator=positive)
    restart_s: float = field(factory=lambda: restart("restart").seconds, validator=not_negative)
    detection: Detection = field(factory=lambda: Detection((detector("lease"),)))
    recovery: tuple[Recovery, ...] = (Recovery(Policy.RECOMPUTE),)
    domain_mtbf_h: float | None = None
    domain_restart_s: float = field(
        factory=lambda: restart("replace").seconds, validator=not_negative
    )

    def known_s(self, traffic: Traffic) -> float:
        """Mean seconds until the loss of an instance is known, should its host fall silent.

        ``ModelError`` where none of the mechanisms sees that.
        """
        seconds = self.detection.mean(Symptom.SILENCE, traffic)
        if not math.isfinite(seconds):
            names = ", ".join(one.name for one in self.detection.detectors) or "never"
            raise ModelError(
                f"nothing notices a host that falls silent (detection: {names}); a lease would"
            )
        return seconds


def without_one(deployment: Deployment, pool: str) -> Deployment | None:
    """A deployment with an instance less in a pool; None where that leaves none."""
    if isinstance(deployment, Aggregated):
        less = _less(deployment.pool)
        return None if less is None else evolve(deployment, pool=less)
    prefill, decode = pool == "prefill", pool == "decode"
    pools = _less(deployment.prefill, prefill), _less(deployment.decode, decode)
    if pools[0] is None or pools[1] is None:
        return None
    paths = deployment.paths
    if paths is not None:
        rows = paths[: pools[0].count]
        paths = tuple(row[: pools[1].count] for row in rows)
    return evolve(deployment, prefill=pools[0], decode=pools[1], paths=paths)


def _less(pool: Pool, one: bool = True) -> Pool | None:
    if not one:
        return pool
    return evolve(pool, count=pool.count - 1) if pool.count > 1 else None


@frozen
class Workload:
    """What is served meanwhile: requests, their objectives, and the run without a failure."""

    deployment: Deployment
    requests: Sequence[Request]
    slo: Slo
    warm_up: float
    before: Run

    @property
    def traffic(self) -> Traffic:
        """What an instance was doing as it failed."""
        itl_s = self.before.itl.p99
        return Traffic(True, itl_s if math.isfinite(itl_s) else 0.0)


def domains(workload: Workload, expected: Expected) -> tuple[Domain, ...]:
    """Every pool's instances, and the NVLink domain if it fails, as domains that fail alike.

    The share within objectives while one is down is simulated with a pool one smaller; what a
    failure costs who was on it, with one in the middle of the arrivals.
    """
    found = [_pool(name, pool, workload, expected) for name, pool in _pools(workload.deployment)]
    if expected.domain_mtbf_h is not None:
        mttr_s = expected.known_s(workload.traffic) + expected.domain_restart_s
        in_system = workload.before.in_system
        lost = Domain("NVLink domain", 1, expected.domain_mtbf_h, mttr_s)
        found.append(evolve(lost, stalled=in_system, stall_s=mttr_s, missed=in_system))
    return tuple(found)


def _pool(name: str, pool: Pool, workload: Workload, expected: Expected) -> Domain:
    rest = without_one(workload.deployment, name)
    attainment = 0.0
    if rest is not None:
        run = simulate(rest, workload.requests, workload.slo, warm_up=workload.warm_up)
        attainment = run.slo_attainment
    known_s = expected.known_s(workload.traffic)
    first = next(i for i in instances(workload.deployment) if i.startswith(name))
    hit, late_s, missed = _one_loss(first, known_s, workload, expected)
    return Domain(
        name=f"{name} instance",
        count=pool.count,
        mtbf_h=expected.gpu_mtbf_h / pool.engine.gpus,
        mttr_s=known_s + expected.restart_s,
        attainment=attainment,
        stalled=hit,
        stall_s=late_s,
        missed=missed,
        unknown_s=known_s,
    )


def _one_loss(
    name: str, known_s: float, workload: Workload, expected: Expected
) -> tuple[int, float, int]:
    """Requests on an instance as it fails, or sent there until it is known; by how many seconds
    each ends later in the mean, and how many of them miss their objectives because of it.
    """
    before, slo = workload.before, workload.slo
    at_s = before.last_arrival_s / 2
    failure = Failure(at_s, (name,), expected.recovery, known_s, expected.restart_s)
    found = aftermath(
        workload.deployment, workload.requests, [failure], slo, workload.warm_up, before
    )
    hit = [(r, before.records[r.index]) for r in found.run.records if r.interruptions]
    late = [r.finished_s - b.finished_s for r, b in hit if r.outcome == "completed"]
    missed = sum(keeps(b, slo) and not keeps(r, slo) for r, b in hit)
    return len(hit), sum(late) / len(late) if late else 0.0, missed


def _pools(deployment: Deployment) -> tuple[tuple[str, Pool], ...]:
    if isinstance(deployment, Aggregated):
        return (("worker", deployment.pool),)
    return ("prefill", deployment.prefill), ("decode", deployment.decode)
