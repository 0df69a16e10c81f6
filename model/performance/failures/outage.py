"""Failures in a run: what goes down when, when it is known, and what is done for whom.

In truth an instance stops at once; routers go on sending requests to it until they know. What they
then do for everything that was on it, or was sent there since, is one storm.

What has reached decode counts as saved, wherever a recovery takes it from; KV that a prefill
instance loses with itself is always computed again. All that a recovery moves leaves by one egress.
Of two ways lost at once on one instance the later counts, and ends both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from attrs import define, field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.recovery import Policy, Recovery, Storm, cheapest
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.simulation import Simulation
from rackproof.model.performance.simulation.jobs import Job
from rackproof.model.performance.simulation.server import Server
from rackproof.model.performance.simulation.simulation import Action


@frozen
class Failure:
    """A failure of a run, at a time in seconds (infinite: it never comes).

    stopped: instances that go down. detoured: instances whose KV goes over the link ``detour`` once
    the failure is known, and nowhere before. detection_s: until it is known (infinite: never).
    recovery: for what was lost; of several, the one by which the storm is over first. restart_s:
    until all is as before, once it is known (infinite: it stays so). resend: whether KV that was
    sent to an instance which was down already is still where it came from, and is sent again.
    """

    at_s: float
    stopped: tuple[str, ...] = ()
    recovery: tuple[Recovery, ...] = (Recovery(Policy.RECOMPUTE),)
    detection_s: float = 0.0
    restart_s: float = math.inf
    detoured: tuple[str, ...] = ()
    detour: Link | None = None
    resend: bool = False

    def __attrs_post_init__(self) -> None:
        """Refuse times that are none, and failures of nothing."""
        for name in ("at_s", "detection_s", "restart_s"):
            value = getattr(self, name)
            if not value >= 0:
                raise ModelError(f"a failure: {name} is not negative; it is {value!r}")
        if not self.stopped and not self.detoured:
            raise ModelError("a failure takes an instance, or a way to one; this takes nothing")
        if self.detoured and self.detour is None:
            raise ModelError(f"KV of {self.detoured[0]} has lost its way; which link has it now?")
        if self.stopped and not self.recovery:
            raise ModelError("a failure needs a recovery (abort is one)")


@define(eq=False)
class Casualty:
    """A request that was on an instance as it failed, or was sent there since.

    context: tokens of KV that it lost; 0 where its prefill had not ended. policy: what was done for
    it, at ``again_s``; nothing if nobody ever knew. silent_s: when its client had the last token;
    lost_s: when its KV was lost.
    recomputed: tokens that the prefill pool makes again.
    """

    job: Job
    context: int
    silent_s: float
    lost_s: float
    policy: str = ""
    again_s: float = math.inf
    recomputed: int = 0

    def saved(self, every_s: float) -> int:
        """Tokens of its KV in the last checkpoint before it was lost, of one each so many seconds.

        None, if it came since. Checkpoints are at half an interval, one and a half, and so on: a
        failure at a round time does not find one that is just done. Its tokens count as having come
        at their mean pace.
        """
        job, last_s = self.job, (math.floor(self.lost_s / every_s - 0.5) + 0.5) * every_s
        if not self.context or self._since_s > last_s:
            return 0
        itl_s = (job.last_token_s - job.prefilled_s) / max(1, job.emitted - 1)
        since = math.ceil((job.last_token_s - last_s) / itl_s) if itl_s else 0
        return min(self.context - 1, self.context - max(0, since))

    @property
    def _since_s(self) -> float:
        """Since when its KV is where it is decoded: handed over, or made there."""
        job = self.job
        return max(t for t in (job.prefill_end_s, job.handed_over_s) if not math.isnan(t))


@define(eq=False)
class Outages:
    """All failures of a run: a script for it, and the books of what came of them.

    moved_bytes, moved_J: by recoveries, beside the hand-off. recomputed_J: of what is recomputed,
    each request alone. closed_s: until the last request of a storm has its KV, of the longest
    storm, by its closed form.
    """

    failures: Sequence[Failure]
    casualties: list[Casualty] = field(factory=list)
    moved_bytes: float = 0.0
    moved_J: float = 0.0  # noqa: N815 (the unit)
    recomputed_J: float = 0.0  # noqa: N815
    closed_s: float = 0.0
    _egress: dict[str, float] = field(factory=dict)
    _back_s: dict[str, float] = field(factory=dict)

    def script(self) -> list[tuple[float, Action]]:
        """What happens when, for ``simulate``."""
        return [
            (failure.at_s, partial(self._strike, failure))
            for failure in self.failures
            if math.isfinite(failure.at_s)
        ]

    def _strike(self, failure: Failure, simulation: Simulation) -> None:
        down = [s for s in _named(simulation, failure.stopped) if s.up]
        held = [
            self._lost(job, server, simulation.now, simulation)
            for server in down
            for job in server.stop()
        ]
        known_s = simulation.now + failure.detection_s
        if failure.detoured:
            ways = _named(simulation, failure.detoured)
            simulation.detour(ways, failure.detour, known_s)
            if math.isfinite(known_s + failure.restart_s):
                simulation.at(known_s + failure.restart_s, partial(_straight, ways))
        if down and math.isfinite(known_s):
            simulation.at(known_s, partial(self._know, failure, down, held))

    def _lost(self, job: Job, server: Server, at_s: float, simulation: Simulation) -> Casualty:
        """Note a request that an instance had as it failed then, or was sent there since."""
        at_decode = any(server is other for other in simulation.decode)
        context = job.known if job.ready else 0
        casualty = Casualty(job, context, job.last_token_s, at_s)
        if context and not at_decode:
            # Nobody copies KV that is on its way to decode.
            casualty.policy = Policy.RECOMPUTE.value
        self.casualties.append(casualty)
        return casualty

    def _know(
        self, failure: Failure, down: list[Server], held: list[Casualty], simulation: Simulation
    ) -> None:
        simulation.believe_all(down, False)
        for server in down:
            self._back_s[server.name] = simulation.now + failure.restart_s
        stranded = self._stranded(down, failure.at_s, simulation)
        self._recover(failure, [*held, *stranded], simulation)
        if math.isfinite(failure.restart_s):
            simulation.at(simulation.now + failure.restart_s, partial(_back, down))

    def _stranded(
        self, down: Iterable[Server], at_s: float, simulation: Simulation
    ) -> list[Casualty]:
        return [
            self._lost(job, server, at_s, simulation)
            for server in down
            if not server.up
            for job in server.take()
        ]

    def _recover(self, failure: Failure, lost: Sequence[Casualty], simulation: Simulation) -> None:
        """One storm."""
        if not lost:
            return
        contexts = [casualty.context for casualty in lost if casualty.context]
        hit = storm(simulation, contexts, self._back_s)
        choice = cheapest(hit, failure.recovery)
        if contexts:
            self.closed_s = max(self.closed_s, hit.ends_s(choice))
        for casualty in lost:
            casualty.again_s = simulation.now
            self._readmit(casualty, choice, failure.resend, simulation)

    def _readmit(
        self, casualty: Casualty, recovery: Recovery, resend: bool, simulation: Simulation
    ) -> None:
        job, policy = casualty.job, recovery.policy
        if policy is Policy.ABORT:
            casualty.policy = policy.value
            simulation.lose(job, "its instance failed")
        elif resend and job.source is not None:
            casualty.policy, casualty.context = "resend", 0
            simulation.hand_over_again(job)
        elif casualty.policy or not casualty.context or policy is Policy.RECOMPUTE:
            casualty.policy = Recovery(Policy.RECOMPUTE, first=recovery.first).text
            self._recompute(casualty, 0, recovery.first, simulation)
        elif policy is Policy.CHECKPOINT:
            casualty.policy = recovery.text
            saved = casualty.saved(recovery.every_s)
            after_s = self._fetched_s(saved, recovery, simulation) if saved else 0.0
            then = partial(self._recompute, casualty, saved, recovery.first)
            simulation.at(simulation.now + after_s, then)
        else:
            casualty.policy = recovery.text
            simulation.decode_again(job, self._fetched_s(job.known, recovery, simulation))

    def _recompute(
        self, casualty: Casualty, saved: int, first: bool, simulation: Simulation
    ) -> None:
        """All but the tokens that were saved, by the prefill pool."""
        job = casualty.job
        if job.emitted:
            casualty.recomputed = job.known - saved
            work = simulation.prefill[0].engine.step([(job.known - saved, saved)], 0, 0)
            self.recomputed_J += work.joules
        simulation.prefill_again(job, cached=saved, first=first)

    def _fetched_s(self, tokens: int, recovery: Recovery, simulation: Simulation) -> float:
        """How long until KV of so many tokens has come, one after the other over one egress."""
        if recovery.link is None:
            return 0.0
        size = tokens * simulation.decode[0].engine.kv_bytes_per_token
        free_s = self._egress.get(recovery.link.name, 0.0)
        end_s = max(simulation.now + recovery.lookup_s, free_s) + recovery.link.seconds(size)
        self._egress[recovery.link.name] = end_s
        self.moved_bytes += size
        self.moved_J += recovery.link.joules(size)
        return end_s - simulation.now


def storm(
    simulation: Simulation, contexts: Sequence[int], back_s: Mapping[str, float] | None = None
) -> Storm:
    """A storm as a router sees it: what is lost, and the prefill pool it believes in.

    back_s: when instances that are down are back, in seconds of the run; where none is up, the
    pool is those that are back first.
    """
    now, back_s = simulation.now, back_s or {}
    there = [
        (now if server.believed else back_s.get(server.name, math.inf), server)
        for server in simulation.prefill
    ]
    starts_s = min(time for time, _ in there)
    pool = [server for time, server in there if time == starts_s]
    mean = max(1, round(sum(contexts) / len(contexts))) if contexts else 1
    rate = sum(mean / server.engine.step([(mean, 0)], 0, 0).seconds for server in pool)
    offered = simulation.meters.prompt_tokens / now if now else 0.0
    kv = simulation.decode[0].engine.kv_bytes_per_token
    return Storm(tuple(contexts), kv, rate, offered, starts_s - now)


def _named(simulation: Simulation, names: Iterable[str]) -> list[Server]:
    servers = {server.name: server for server in (*simulation.prefill, *simulation.decode)}
    for name in names:
        if name not in servers:
            raise ModelError(
                f"there is no instance {name!r} to fail; there are {', '.join(servers)}"
            )
    return [servers[name] for name in names]


def _back(down: Iterable[Server], simulation: Simulation) -> None:
    back = [server for server in down if not server.up]
    for server in back:
        server.start()
    simulation.believe_all(back, True)


def _straight(ways: Iterable[Server], simulation: Simulation) -> None:
    simulation.detour(ways, None, simulation.now)
