"""Failures as people tell them: what fails, when, how it is noticed, what is done."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from random import Random
from typing import Final

from attrs import frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.detection import Detection, Symptom, Traffic
from rackproof.model.performance.failures.domains import Struck, struck
from rackproof.model.performance.failures.outage import Failure
from rackproof.model.performance.failures.recovery import Policy, Recovery
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.paths import Fabric
from rackproof.model.performance.simulation import Aggregated, Deployment, Disaggregated
from rackproof.model.rack import Instance, Part, Placement, Rack, place

_SAME: Final = 0.01
"""Two bandwidths that differ by no more are of the same way."""


class Moment(Enum):
    """Which of the delays that a mechanism may have is taken."""

    LEAST = "least"
    MEAN = "mean"
    MOST = "most"
    DRAWN = "drawn"
    """At random, from the seed."""


@frozen
class Planned:
    """A failure that is to come: ``fails`` is an instance, or a part of the rack.

    looks: like what, from outside, where it is not what such a part usually looks like. detour: the
    link that KV goes over, where a way is lost rather than instances. falls_back: a lost NVLink
    domain is such a way, over the scale-out network. Others as in ``outage.Failure``.
    """

    fails: str
    at_s: float
    detection: Detection
    recovery: tuple[Recovery, ...] = (Recovery(Policy.RECOMPUTE),)
    restart_s: float = math.inf
    looks: Symptom | None = None
    detour: Link | None = None
    falls_back: bool = False
    resend: bool = False
    moment: Moment = Moment.MEAN

    def struck(self, deployment: Deployment, placement: Placement | None) -> Struck:
        """What it does."""
        detours = self.falls_back or self.detour is not None
        return struck(self.fails, instances(deployment), placement, detours)

    def symptom(self, deployment: Deployment, placement: Placement | None) -> Symptom:
        """What it looks like."""
        return self.looks or self.struck(deployment, placement).symptom

    def resolved(
        self,
        deployment: Deployment,
        placement: Placement | None,
        traffic: Traffic,
        random: Random,
    ) -> Failure:
        """The failure of a run; ``ModelError`` where there is no such thing to fail."""
        what = self.struck(deployment, placement)
        detour = self.detour
        if what.detoured and detour is None:
            detour = _detour(self.fails, what.detoured[0], deployment, placement)
        return Failure(
            self.at_s,
            what.stopped,
            self.recovery,
            self._delay(self.looks or what.symptom, traffic, random),
            self.restart_s,
            what.detoured,
            detour,
            self.resend,
        )

    def _delay(self, symptom: Symptom, traffic: Traffic, random: Random) -> float:
        bounds = self.detection.bounds(symptom, traffic)
        match self.moment:
            case Moment.LEAST:
                return bounds.low
            case Moment.MOST:
                return bounds.high
            case Moment.DRAWN:
                return self.detection.sample(symptom, traffic, random)
            case _:
                return self.detection.mean(symptom, traffic)


@frozen(eq=False)
class FailurePlan:
    """What is to fail in a run: failures, the rack that the instances are on, a seed for delays."""

    planned: tuple[Planned, ...]
    rack: Rack
    seed: int = 1

    def placement(self, deployment: Deployment) -> Placement | None:
        """Where the instances are, as far as anything but an instance fails."""
        names = instances(deployment)
        if all(one.fails in names for one in self.planned):
            return None
        return placed(deployment, self.rack)

    def resolved(self, deployment: Deployment, traffic: Traffic) -> tuple[Failure, ...]:
        """The failures of a run; delays that are drawn come one after the other."""
        random, placement = Random(self.seed), self.placement(deployment)
        return tuple(one.resolved(deployment, placement, traffic, random) for one in self.planned)


def instances(deployment: Deployment) -> tuple[str, ...]:
    """The names of all instances, as a simulation and a placement have them."""
    if isinstance(deployment, Aggregated):
        return tuple(f"worker-{i}" for i in range(deployment.pool.count))
    pools = ("prefill", deployment.prefill), ("decode", deployment.decode)
    return tuple(f"{name}-{i}" for name, pool in pools for i in range(pool.count))


def placed(deployment: Deployment, rack: Rack) -> Placement:
    """Its instances on a rack, one a tray in turn; ``ModelError`` where they do not fit."""
    if isinstance(deployment, Aggregated):
        placement = place(rack, aggregated=deployment.pool.count)
    else:
        counts = deployment.prefill.count, deployment.decode.count
        placement = place(rack, *counts)
    sizes = [pool.engine.gpus for pool in deployment.pools for _ in range(pool.count)]
    for instance, size in zip(placement.instances, sizes, strict=True):
        if len(instance.gpus) != size:
            raise ModelError(
                f"{instance.name} has {size} GPUs; on {rack.name} it has {len(instance.gpus)}"
            )
    return placement


def _detour(fails: str, name: str, deployment: Deployment, placement: Placement | None) -> Link:
    """The way that KV of an instance has left; ``ModelError`` where it is the one it had."""
    if isinstance(deployment, Aggregated) or placement is None:
        raise ModelError(f"{fails}: nothing is handed over, so no way can be lost")
    ends = _ends(name, placement.instances)
    usual = _usual(deployment, placement.rack, ends)
    before, after = (
        _way(placement.rack, lost, ends, f"without {fails}") for lost in (usual, usual | {fails})
    )
    if math.isclose(before.bytes_per_s, after.bytes_per_s, rel_tol=_SAME):
        raise ModelError(f"KV of {name} does not go over {fails}; nothing is lost with it")
    return after


def _ends(name: str, all_instances: Iterable[Instance]) -> tuple[Instance, Instance]:
    """An instance, and one of the other pool."""
    known = {instance.name: instance for instance in all_instances}
    one = known[name]
    other = next(i for i in known.values() if i.role != one.role)
    return (one, other) if one.role == "prefill" else (other, one)


def _usual(
    deployment: Disaggregated, rack: Rack, ends: tuple[Instance, Instance]
) -> frozenset[str]:
    """What the hand-off does without: nothing, or NVLink, if it is as fast as the network."""
    link = deployment.hand_off.link
    for unused in (frozenset[str](), frozenset(rack.parts(Part.NVLINK_SWITCH))):
        found = _way(rack, unused, ends)
        if math.isclose(found.bytes_per_s, link.bytes_per_s, rel_tol=_SAME):
            return unused
    raise ModelError(
        f"{rack.name} has no way as fast as the hand-off's ({link.bandwidth_GB_s:g} GB/s); "
        "say over which link KV goes once its way is lost"
    )


def _way(
    rack: Rack, lost: frozenset[str], ends: tuple[Instance, Instance], name: str = "path"
) -> Link:
    fabric = Fabric(rack, lost)  # type: ignore[arg-type] # the converter is generic
    return fabric.link(fabric.flows(*ends), name)
