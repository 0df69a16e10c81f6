"""What a step costs beside time: bytes that move, tokens computed again, joules.

Joules are those of the work itself; what GPUs draw when they are idle is no path's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from rackproof.model.kernel import Charge, Firing
from rackproof.model.timing.costs import Costs
from rackproof.model.timing.progress import computed_before, computes_itself, is_first
from rackproof.model.timing.quantities import piece, way_of

if TYPE_CHECKING:
    from rackproof.model.world import World

NOTHING = Charge()


@frozen
class Charges:
    """The charge of each firing, of a deployment."""

    costs: Costs

    def __call__(self, before: World, firing: Firing, after: World) -> Charge:
        """What a firing costs."""
        match firing.transition.name:
            case "prefill" | "start_stream":
                request, attempt, worker, *_ = firing.arguments
                return self._prefill(before, request, attempt, worker)
            case "emit" | "finish_with_last_token":
                return self._tokens(before, firing)
            case "land" | "data_lands" | "report_sent":
                return self._moved(before, firing)
            case "read_first_half" | "read_second_half":
                return self._stored(0.5)
            case "write":
                return self._stored(1.0)
            case "miss":
                return Charge(joules=self.costs.prefill(0, 0).joules)
            case _:
                del after
                return NOTHING

    def _prefill(self, world: World, request: int, attempt: int, worker: int) -> Charge:
        start = world.streams[request].attempts[attempt].start
        joules = self.costs.prefill(worker, start).joules
        again = computed_before(world, request, attempt)
        tokens = self.costs.context(start) if again else 0
        return Charge(tokens_recomputed=tokens, joules=joules)

    def _tokens(self, world: World, firing: Firing) -> Charge:
        request, attempt, worker = firing.arguments
        here = world.streams[request].attempts[attempt]
        costs = self.costs
        ahead = 1.0 if is_first(here) and costs.tokens > 1 else costs.between(here.sent)
        step = costs.decode(worker, here.sent + 0.5).joules / costs.deployment.batch
        charge = Charge(joules=ahead * step)
        if is_first(here) and computes_itself(world, request, attempt):
            return charge + self._alone(world, request, attempt, worker)
        return charge

    def _alone(self, world: World, request: int, attempt: int, worker: int) -> Charge:
        """A decode worker computes the prompt; again, where a prefill worker had done so."""
        load = world.loads[request].attempts[attempt]
        charge = self._prefill(world, request, attempt, worker)
        if load.prefill is None or charge.tokens_recomputed:
            return charge
        start = world.streams[request].attempts[attempt].start
        return charge + Charge(tokens_recomputed=self.costs.context(start))

    def _moved(self, world: World, firing: Firing) -> Charge:
        size = piece(self.costs, world, firing)
        joules = way_of(self.costs, world, firing).joules(size)
        return Charge(bytes_moved=size, joules=joules)

    def _stored(self, share: float) -> Charge:
        size = share * self.costs.kv_bytes(0)
        return Charge(bytes_moved=size, joules=self.costs.store_way.joules(size))
