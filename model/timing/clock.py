"""The ``Timing`` of the world: quantities, durations, charges, tags, and what clients see."""

from __future__ import annotations

from collections.abc import Mapping

from rackproof.model.kernel import Quantity, Timing
from rackproof.model.protocol import Protocol
from rackproof.model.rack import Placement
from rackproof.model.scope import Scope
from rackproof.model.timing.charges import Charges
from rackproof.model.timing.clients import seen, waiting
from rackproof.model.timing.costs import Costs
from rackproof.model.timing.deployment import Deployment
from rackproof.model.timing.durations import durations
from rackproof.model.timing.notes import notes
from rackproof.model.timing.quantities import natural
from rackproof.model.timing.tags import tags
from rackproof.model.timing.timeouts import TIMEOUTS


def timing(
    protocol: Protocol,
    scope: Scope,
    placement: Placement,
    deployment: Deployment | None = None,
    timeouts: Mapping[str, Quantity] = TIMEOUTS,
) -> Timing:
    """How long things take in a protocol, a scope and a placement.

    A deployment that is given is checked: ``ModelError`` where its model does not fit.
    """
    costs = Costs(deployment or Deployment(), placement, scope.tokens)
    if deployment is not None:
        costs.check()
    return Timing(
        quantities={**natural(costs), **timeouts},
        durations=durations(protocol),
        seen=seen,
        waiting=waiting,
        clients=tuple(f"request-{i}" for i in range(scope.requests)),
        charge=Charges(costs),
        tags=tags,
        notes=notes(costs, scope) if scope.requests else (),
    )
