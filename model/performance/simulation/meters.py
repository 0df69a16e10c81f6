"""What is measured while requests come and go, in memory that does not grow with their number."""

from __future__ import annotations

from math import isnan

from rackproof.model.performance.simulation.distributions import Distribution
from rackproof.model.performance.simulation.jobs import Job
from rackproof.model.performance.simulation.levels import Level
from rackproof.model.performance.simulation.results import Record
from rackproof.model.performance.simulation.setting import Request, Slo

REASONS = 20
"""How many rejected and lost requests are told by number."""


class Meters:
    """warm: requests at the start that are left out. keep: how many are recorded one by one."""

    def __init__(self, slo: Slo, warm: int, keep: int) -> None:
        self.slo, self.warm, self.keep = slo, warm, keep
        self.offered = self.rejected = self.lost = self.completed = self.kept_slo = 0
        self.prompt_tokens = self.output_tokens = self.served_tokens = 0
        self.last_arrival_s = 0.0
        self.in_system = Level()
        self.stay_s = 0.0
        self.hand_off_s, self.handed_over = 0.0, 0
        self.reasons: list[str] = []
        self._records: list[Record] | None = []
        names = ("ttft_prefill", "ttft_decode", "tpot", "e2e")
        waits = ("hand_off", "prefill_wait", "decode_wait")
        self.spreads = {name: Distribution(exact=keep) for name in names + waits}

    @property
    def measured(self) -> int:
        """Requests after the warm-up."""
        return max(0, self.offered - self.warm)

    @property
    def records(self) -> tuple[Record, ...]:
        """Of all requests in their order; none when there were too many."""
        return tuple(sorted(self._records or (), key=lambda record: record.index))

    def came(self, request: Request) -> None:
        """A request was offered."""
        self.offered += 1
        self.prompt_tokens += request.prompt
        self.output_tokens += request.output
        self.last_arrival_s = request.arrival_s

    def reject(self, job: Job, reason: str) -> None:
        """It can never be served."""
        self.rejected += 1
        self._gone(job, "rejected", reason)

    def lose(self, job: Job, now: float, reason: str) -> None:
        """It will not be served after all."""
        self.lost += 1
        self.in_system.add(now, -1)
        self.stay_s += now - job.request.arrival_s
        self._gone(job, "lost", reason)

    def finish(self, job: Job, now: float) -> None:
        """It is done."""
        job.finished_s = now
        arrival = job.request.arrival_s
        self.completed += 1
        self.in_system.add(now, -1)
        self.stay_s += now - arrival
        self.served_tokens += job.output
        if self._handed_over(job):
            self.hand_off_s += job.handed_over_s - job.prefill_end_s
            self.handed_over += 1
        if job.index >= self.warm:
            self._measure(job, arrival)
        self._record(job, "completed")

    def _measure(self, job: Job, arrival_s: float) -> None:
        spreads = self.spreads
        spreads["e2e"].add(job.finished_s - arrival_s)
        spreads["ttft_prefill"].add(job.prefilled_s - arrival_s)
        spreads["prefill_wait"].add(job.started_s - arrival_s)
        if job.output > 1:
            spreads["tpot"].add((job.finished_s - job.prefilled_s) / (job.output - 1))
            spreads["ttft_decode"].add(job.decoded_s - arrival_s)
        if self._handed_over(job):
            spreads["hand_off"].add(job.handed_over_s - job.prefill_end_s)
            spreads["decode_wait"].add(job.joined_s - job.handed_over_s)
        self.kept_slo += self.slo.kept(job, arrival_s)

    def _handed_over(self, job: Job) -> bool:
        """Whether it went the ordinary way from prefill to decode."""
        return not isnan(job.handed_over_s) and not job.interruptions

    def _gone(self, job: Job, outcome: str, reason: str) -> None:
        if len(self.reasons) < REASONS:
            self.reasons.append(f"request {job.index} was {outcome}: {reason}")
        self._record(job, outcome)

    def _record(self, job: Job, outcome: str) -> None:
        job.outcome = outcome
        if self._records is None:
            return
        if len(self._records) == self.keep:
            self._records = None
            return
        self._records.append(
            Record(
                job.index,
                job.request.arrival_s,
                job.prompt,
                job.output,
                job.cached,
                job.started_s,
                job.prefilled_s,
                job.handed_over_s,
                job.decoded_s,
                job.finished_s,
                job.stall_s,
                job.interruptions,
                outcome,
            )
        )
