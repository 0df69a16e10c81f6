"""What steps of the world take, from the roofline of its instances and the ways between them."""

from __future__ import annotations

from functools import cache, cached_property

from attrs import field, frozen

from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import Link, gpu
from rackproof.model.performance.paths import Fabric
from rackproof.model.performance.roofline import Engine, Work
from rackproof.model.rack import Part, Placement
from rackproof.model.timing.deployment import Deployment


@frozen(slots=False, eq=False)
class Costs:
    """A deployment on its instances; tokens: how many a scope has of an output."""

    deployment: Deployment
    placement: Placement
    tokens: int
    _ways: dict[tuple[int, int, bool], Link] = field(factory=dict, init=False)

    def check(self) -> None:
        """``ModelError`` where the model does not fit an instance, or a name is not known."""
        for worker in range(len(self.placement.instances)):
            self.engine(worker)

    def engine(self, worker: int) -> Engine:
        """The engine of an instance."""
        return _engine(self.deployment, len(self.placement.instances[worker].gpus))

    def real(self, position: float) -> float:
        """How many tokens of the output those before a position of the world stand for."""
        if position <= 0:
            return 0.0
        if self.tokens == 1:
            return self.deployment.output * float(position)
        return 1.0 + (position - 1) * (self.deployment.output - 1) / (self.tokens - 1)

    def context(self, position: float) -> int:
        """Tokens in the cache of a request that has those before a position."""
        return round(self.deployment.prompt + self.real(position))

    def prefill(self, worker: int, position: int) -> Work:
        """The prompt and what was emitted before, computed anew."""
        return self.engine(worker).prefill([(self.context(position), 0)])

    def decode(self, worker: int, position: float) -> Work:
        """A step of a whole batch, each as far as a position."""
        return self._step(worker, self.context(position))

    def step_s(self, worker: int) -> float:
        """A step of a whole batch, each half-way through its output."""
        return self._step(worker, self.deployment.prompt + self.deployment.output // 2).seconds

    def _step(self, worker: int, context: int) -> Work:
        batch = self.deployment.batch
        return self.engine(worker).decode(batch, batch * context)

    def between(self, position: int) -> float:
        """Tokens of the output from behind a position's predecessor up to its own."""
        return self.real(position + 1) - self.real(position)

    def kv_bytes(self, position: int) -> float:
        """Bytes of the KV of the prompt and of what was emitted before a position."""
        return self.engine(0).kv_bytes_per_token * self.context(position)

    def way(self, start: int, end: int, fallen_back: bool = False) -> Link:
        """The way from one instance to another; fallen_back: their NVLink domain has a fault."""
        key = (start, end, fallen_back)
        if key not in self._ways:
            source, target = (self.placement.instances[worker] for worker in (start, end))
            fabric = self._scale_out if fallen_back else self._fabric
            name = f"{source.name}->{target.name}"
            self._ways[key] = fabric.link(fabric.flows(source, target), name)
        return self._ways[key]

    @cached_property
    def _fabric(self) -> Fabric:
        return Fabric(self.placement.rack)

    @cached_property
    def _scale_out(self) -> Fabric:
        rack = self.placement.rack
        return Fabric(rack, frozenset(rack.parts(Part.NVLINK_SWITCH)))  # type: ignore[arg-type]

    @cached_property
    def store_way(self) -> Link:
        """The way from an instance to the store of the rack; of a rack without one, to a host."""
        kind = Part.STORE if self.placement.rack.parts(Part.STORE) else Part.HOST
        return self._fabric.link(self._fabric.stored(self.placement.instances[0], kind), "store")

    def over(self, link: Link, size: float, worst: bool) -> float:
        """How long so many bytes take on an idle way, or on one that others use."""
        share = self.deployment.link_share if worst else 1.0
        return link.latency_s + size / (link.bytes_per_s * share)


@cache
def _engine(deployment: Deployment, placed: int) -> Engine:
    return Engine(
        gpu(deployment.gpu),
        deployment.gpus or placed,
        architecture(deployment.model),
        kv_format(deployment.kv_format),
    )
