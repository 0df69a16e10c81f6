"""From what was measured to what is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import nan
from typing import TYPE_CHECKING

from rackproof.model.performance.simulation.decode import Decode
from rackproof.model.performance.simulation.distributions import Distribution
from rackproof.model.performance.simulation.results import Energy, Run, Use
from rackproof.model.performance.simulation.server import Server

if TYPE_CHECKING:
    from rackproof.model.performance.simulation.simulation import Simulation


def told(simulation: Simulation) -> Run:
    """The result of a run that has ended."""
    meters, channels, horizon = simulation.meters, simulation.channels, simulation.now
    spreads = {name: values.spread() for name, values in meters.spreads.items()}
    attainment = meters.kept_slo / meters.measured if meters.measured else nan
    return Run(
        offered=meters.offered,
        completed=meters.completed,
        rejected=meters.rejected,
        lost=meters.lost,
        prompt_tokens=meters.prompt_tokens,
        output_tokens=meters.output_tokens,
        last_arrival_s=meters.last_arrival_s,
        horizon_s=horizon,
        itl=_gaps(simulation.decode).spread(),
        hand_off_mean_all_s=_share(meters.hand_off_s, meters.handed_over),
        hand_off_utilisation=_share(channels.busy_s, channels.count * horizon),
        slo_attainment=attainment,
        goodput_per_s=_share(attainment * meters.offered, meters.last_arrival_s),
        in_system=_share(meters.in_system.area(horizon), horizon),
        mean_stay_s=_share(meters.stay_s, meters.completed + meters.lost),
        pools=tuple(_use(simulation, name) for name in simulation.pools),
        energy=_energy(simulation),
        series=simulation.sampler.series(),
        records=meters.records,
        reasons=tuple(meters.reasons),
        **spreads,
    )


def probes(simulation: Simulation) -> dict[str, Callable[[], float]]:
    """What is sampled over time, by name."""
    given: dict[str, Callable[[], float]] = {"in_system": lambda: simulation.meters.in_system.value}
    for name, servers in simulation.pools.items():
        given[f"{name}_waiting"] = partial(_waiting, servers)
        given[f"{name}_running"] = partial(_running, servers)
        given[f"{name}_kv"] = partial(_kv, servers)
    return given


def _waiting(servers: Sequence[Server]) -> float:
    return float(sum([server.waiting for server in servers]))


def _running(servers: Sequence[Server]) -> float:
    return float(sum([server.running for server in servers]))


def _kv(servers: Sequence[Server]) -> float:
    held = sum([server.kv.value for server in servers])
    return held / (servers[0].engine.kv_capacity_tokens * len(servers))


def _gaps(servers: Sequence[Decode]) -> Distribution:
    all_gaps = Distribution(exact=0)
    for server in servers:
        all_gaps.merge(server.gaps)
    return all_gaps


def _use(simulation: Simulation, name: str) -> Use:
    servers, horizon = simulation.pools[name], simulation.now
    lived = horizon * len(servers)
    capacity = servers[0].engine.kv_capacity_tokens
    steps = sum(server.steps for server in servers)
    busy_s = sum(server.busy_s for server in servers)
    caches = [server.cache for server in servers if server.cache is not None]
    return Use(
        name=name,
        instances=len(servers),
        gpus=sum(server.engine.gpus for server in servers),
        utilisation=_share(busy_s, lived),
        steps=steps,
        batch=_share(sum(server.batched for server in servers), steps),
        step_s=_share(busy_s, steps),
        tokens=sum(server.tokens for server in servers),
        kv_mean=_share(sum(server.kv.area(horizon) for server in servers), lived * capacity),
        kv_peak=max(server.kv.peak for server in servers) / capacity,
        blocked_kv=_share(sum(s.blocked_kv.seconds(horizon) for s in servers), lived),
        blocked_batch=_share(sum(s.blocked_batch.seconds(horizon) for s in servers), lived),
        idle_while_waiting=_share(simulation.idling[name].seconds(horizon), lived),
        asked_blocks=sum(cache.asked for cache in caches),
        hit_blocks=sum(cache.hit for cache in caches),
    )


def _energy(simulation: Simulation) -> Energy:
    servers = [server for pool in simulation.pools.values() for server in pool]
    return Energy(
        static_J=simulation.now * sum(server.engine.idle_W for server in servers),
        compute_J=sum(server.compute_J for server in servers),
        memory_J=sum(server.memory_J for server in servers),
        hand_off_J=simulation.channels.joules,
        collectives_J=sum(server.link_J for server in servers),
        output_tokens=simulation.meters.served_tokens,
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else nan
