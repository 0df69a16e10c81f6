"""What do clients see of failures: stalls, by detection and by recovery, and what bystanders do?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from attrs import evolve

from rackproof.checker.performance.answers import (
    Answer,
    Axis,
    Column,
    Mark,
    Plot,
    Series,
    Table,
    Unit,
    Value,
)
from rackproof.checker.performance.study import Study, objectives
from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.aftermath import Aftermath, aftermath
from rackproof.model.performance.failures.detection import Detection, Traffic, detector
from rackproof.model.performance.failures.outage import Failure
from rackproof.model.performance.failures.planned import FailurePlan, Moment, Planned, instances
from rackproof.model.performance.failures.recovery import Policy, Recovery
from rackproof.model.performance.hardware import Link, link
from rackproof.model.performance.simulation import Deployment, Request, Run, simulate
from rackproof.scenarios.performance.plan import Variant

MOST_REQUESTS: Final = 200_000
"""Requests are followed one by one."""
CHECKPOINTS_S: Final = (0.1, 1.0)
"""Intervals of checkpoints in host memory that are compared."""
MECHANISMS: Final = (
    "stream-break",
    "watchdog",
    "transport",
    "heartbeat",
    "heartbeat-kubernetes",
    "lease",
    "lease-60",
    "canary",
)
SEEN: Final = (
    Column("fails", "fails"),
    Column("at", "at", Unit.SECONDS),
    Column("looks like", "looks_like"),
    Column("noticed by", "mechanism"),
    Column("after, at least", "delay_least", Unit.SECONDS),
    Column("taken", "delay_taken", Unit.SECONDS),
    Column("at most", "delay_most", Unit.SECONDS),
)
CLIENTS: Final = (
    Column("requests hit", "hit", Unit.COUNT),
    Column("never finished", "never_finished", Unit.COUNT),
    Column("stall, mean", "stall_mean", Unit.SECONDS),
    Column("p99", "stall_p99", Unit.SECONDS),
    Column("longest", "stall_most", Unit.SECONDS),
    Column("bystanders' TTFT p99", "bystanders_ttft_p99", Unit.SECONDS),
    Column("without failure", "bystanders_ttft_p99_before", Unit.SECONDS),
    Column("TTFT with hand-off p99", "bystanders_ttft_with_hand_off_p99", Unit.SECONDS),
    Column("without failure", "bystanders_ttft_with_hand_off_p99_before", Unit.SECONDS),
    Column("SLO meanwhile", "slo_meanwhile", Unit.SHARE),
    Column("without failure", "slo_meanwhile_before", Unit.SHARE),
)
WORK: Final = (
    Column("KV tokens lost", "lost_tokens", Unit.COUNT),
    Column("recomputed", "recomputed_tokens", Unit.COUNT),
    Column("moved", "moved", Unit.BYTES),
    Column("KV is back after, by closed form", "closed_form", Unit.SECONDS),
    Column("backlog is gone after", "drained", Unit.SECONDS),
    Column("recovery", "recovery", Unit.JOULES),
    Column("all work", "more_work", Unit.JOULES),
    Column("idling", "more_idle", Unit.JOULES),
)
NOTES: Final = (
    "hit: on what failed, or sent there before it was known; never finished: lost for good; "
    "bystanders: all others; their TTFT ends with prefill, the one with hand-off with the first "
    "step of decode",
    "stall: from the last token before the failure to the next after it",
    "SLO meanwhile: of requests there between the first failure and the last repair",
    "KV is back: the last of the storm's, once it is known, by the closed form: over an idle link, "
    "or from a prefill pool that does nothing else (in turn: beside what new prompts take of it, "
    "and never where they take all, though in the run they come to an end)",
    "backlog is gone: the prefill pool has done as much as it would have without failure",
    "recovery: of what is moved and recomputed, each request alone; all work, idling: more than "
    "without failure (less where fewer instances have fuller batches)",
)


def ask(study: Study) -> Answer:
    """For each variant what was noticed when, and a row a recovery and a row a mechanism."""
    plan = study.plan.sections.get("failures")
    if plan is None:
        raise ModelError(
            "nothing fails in it; say what does, as in "
            "failures: [{fails: decode-0, at: 8 s, detection: 1 s}]"
        )
    tables: list[Table] = []
    plots: list[Plot] = []
    for variant in study.plan.variants:
        told = _Telling(study, variant, plan)
        tables += [told.seen(), *told.recoveries(), told.mechanisms()]
        plots += told.plots()
    return Answer(
        "failures", tuple(tables), tuple(plots), (*NOTES, *objectives(study.plan.variants))
    )


class _Telling:
    """A variant with its failures."""

    def __init__(self, study: Study, variant: Variant, plan: FailurePlan) -> None:
        self.study, self.variant, self.plan = study, variant, plan
        self.requests, self.before = followed(study, variant)
        run = self.before
        self.traffic = Traffic(True, run.itl.p99 if run.itl.count else 0.0)
        self.failures = plan.resolved(variant.deployment, self.traffic)
        self.planned = self._after(self.failures, "failures")

    def _after(self, failures: Sequence[Failure], what: str) -> Aftermath:
        self.study.progress(f"{self.variant.name}: {what}")
        variant = self.variant
        return aftermath(
            variant.deployment, self.requests, failures, variant.slo, variant.warm_up, self.before
        )

    def seen(self) -> Table:
        """When each failure is known, by which mechanism."""
        placement = self.plan.placement(self.variant.deployment)
        rows: list[tuple[Value, ...]] = []
        for one, failure in zip(self.plan.planned, self.failures, strict=True):
            symptom = one.symptom(self.variant.deployment, placement)
            head = (one.fails, failure.at_s, symptom.value)
            rows += [
                (*head, mechanism.name, *_delay(Detection((mechanism,)), self, one))
                for mechanism in one.detection.detectors
            ]
            low, _, high = _delay(one.detection, self, one)
            taken = f"all of them ({one.moment.value})"
            rows.append((*head, taken, low, failure.detection_s, high))
        return Table(f"Detection ({self.variant.name})", SEEN, tuple(rows))

    def recoveries(self) -> tuple[Table, Table]:
        """As planned, then each recovery for all of them: for clients, and what it takes."""
        done = ", ".join(name for name, _ in self.planned.policies)
        found = [(f"as planned ({done or 'nothing lost'})", self.planned)]
        for recovery in self._choices():
            changed = [evolve(failure, recovery=(recovery,)) for failure in self.failures]
            found.append((recovery.text, self._after(changed, recovery.text)))
        by = Column("recovery", "recovery_by")
        clients = tuple((name, *_clients(one)) for name, one in found)
        work = tuple((name, *_work(one)) for name, one in found)
        name = self.variant.name
        return (
            Table(f"What clients see, by recovery ({name})", (by, *CLIENTS), clients),
            Table(f"What it takes, by recovery ({name})", (by, *WORK), work),
        )

    def _choices(self) -> tuple[Recovery, ...]:
        """What there is to choose from: nothing, if nothing stops; no peer, if all of them do."""
        deployment = self.variant.deployment
        stopped = {name for failure in self.failures for name in failure.stopped}
        if not stopped:
            return ()
        peers = choices(deployment)
        return peers if stopped < set(instances(deployment)) else peers[2:]

    def mechanisms(self) -> Table:
        """The recovery as planned, each mechanism alone in the mean."""
        rows = []
        for name in MECHANISMS:
            failures = self._noticed_by(name)
            known_s = max(failure.detection_s for failure in failures)
            told: tuple[Value, ...] = (None,) * len(CLIENTS)
            if math.isfinite(known_s):
                told = _clients(self._after(failures, name))
            rows.append((name, known_s, *told))
        by = Column("noticed by", "mechanism"), Column("after", "delay", Unit.SECONDS)
        title = f"What clients see, by detection ({self.variant.name})"
        return Table(title, (*by, *CLIENTS), tuple(rows))

    def _noticed_by(self, name: str) -> tuple[Failure, ...]:
        """The same failures, in the mean of one mechanism."""
        detection = Detection((detector(name),))
        planned = tuple(
            evolve(one, detection=detection, moment=Moment.MEAN) for one in self.plan.planned
        )
        plan = FailurePlan(planned, self.plan.rack, self.plan.seed)
        return plan.resolved(self.variant.deployment, self.traffic)

    def plots(self) -> list[Plot]:
        """Requests in the system, and those that wait, with the failures and without."""
        columns = self.planned.run.series.columns
        waiting = [name for name in columns if name.endswith("_waiting") and any(columns[name])]
        return [self._plot(name) for name in ("in_system", *waiting)]

    def _plot(self, column: str) -> Plot:
        runs = (("with failures", self.planned.run), ("without", self.planned.before))
        series = tuple(
            Series(label, run.series.time_s, run.series.columns[column]) for label, run in runs
        )
        marks = tuple(
            Mark(failure.at_s, one.fails)
            for one, failure in zip(self.plan.planned, self.failures, strict=True)
            if math.isfinite(failure.at_s)
        )
        what, name = column.replace("_", " "), self.variant.name
        axes = Axis("time, s"), Axis(f"requests, {what}")
        return Plot(f"{what}-{name}", f"Requests, {what} ({name})", *axes, series, marks)


def followed(study: Study, variant: Variant) -> tuple[list[Request], Run]:
    """The requests of a variant, and its run with a record of each."""
    requests = list(variant.workload)
    if len(requests) > MOST_REQUESTS:
        raise ModelError(
            f"{variant.name}: failures are followed request by request, up to "
            f"{MOST_REQUESTS:,}; the workload has {len(requests):,}"
        )
    run = study.run(variant)
    if len(run.records) < len(requests):
        run = simulate(
            variant.deployment,
            requests,
            variant.slo,
            warm_up=variant.warm_up,
            keep=len(requests),
        )
    return requests, run


def choices(deployment: Deployment) -> tuple[Recovery, ...]:
    """Recoveries that are compared: KV at a peer (the first two), in host memory, over networks."""
    gpus = deployment.pools[-1].engine.gpus
    c2c = link("c2c")
    host = Link(f"{gpus}x-c2c", c2c.bandwidth_GB_s * gpus, c2c.latency_us, c2c.pJ_per_bit)
    links = (link("4x-nvlink5"), host, link("4x400g"), link("100gbe"))
    return (
        Recovery(Policy.REPLICA),
        *(Recovery(Policy.TRANSFER, way) for way in links),
        *(Recovery(Policy.CHECKPOINT, host, every_s=every_s) for every_s in CHECKPOINTS_S),
        Recovery(Policy.RECOMPUTE),
        Recovery(Policy.RECOMPUTE, first=False),
        Recovery(Policy.ABORT),
    )


def _delay(detection: Detection, told: _Telling, one: Planned) -> tuple[Value, ...]:
    deployment = told.variant.deployment
    symptom = one.symptom(deployment, told.plan.placement(deployment))
    bounds = detection.bounds(symptom, told.traffic)
    return bounds.low, detection.mean(symptom, told.traffic), bounds.high


def _clients(found: Aftermath) -> tuple[Value, ...]:
    stall, ttft, before = found.stall, found.bystanders, found.bystanders_before
    return (
        found.hit,
        found.run.lost,
        *map(_known, (stall.mean_s, stall.p99_s, stall.most_s)),
        *map(_known, (ttft.prefill_p99_s, before.prefill_p99_s)),
        *map(_known, (ttft.decode_p99_s, before.decode_p99_s)),
        *map(_known, (found.slo, found.slo_before)),
    )


def _work(found: Aftermath) -> tuple[Value, ...]:
    return (
        found.lost_tokens,
        found.recomputed_tokens,
        found.moved_bytes,
        found.closed_s,
        _known(found.drained_s),
        found.recovery_J,
        found.work_J,
        found.idle_J,
    )


def _known(value: float) -> float | None:
    """Infinity is an answer (never); NaN is none."""
    return None if math.isnan(value) else value
