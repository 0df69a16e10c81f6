"""What is recorded of each step of the serving world: by the client, the frontend, the workers, the
operator and discovery, each in a log of its own; and, where there are caches, of what is in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rackproof.model.evidence.client import client
from rackproof.model.evidence.forced import forced
from rackproof.model.evidence.frontend import frontend
from rackproof.model.evidence.indexed import of_caches
from rackproof.model.evidence.operators import discovery, operator
from rackproof.model.evidence.step import Step
from rackproof.model.evidence.words import in_words
from rackproof.model.evidence.workers import worker
from rackproof.model.kernel import Evidence, Firing, Identifiers, Record
from rackproof.model.sorts import Prefixes, Workers
from rackproof.model.world import World

WITNESSES = (frontend, client, worker, operator, discovery)
"""Each writes of a step what it knows of it, in the order in which it does."""


def evidence(names: Mapping[Identifiers, Sequence[str]]) -> Evidence:
    """What is recorded in a world whose identifiers are called so."""
    workers = tuple(names[Workers])
    cached = of_caches(workers, tuple(names[Prefixes]))

    def records(before: World, firing: Firing, after: World) -> Sequence[Record]:
        step = Step(workers, before, firing.transition.name, _chosen(firing), after)
        found = (record for witness in WITNESSES for record in witness(step))
        return (*cached.records(before, firing, after), *found) if names[Prefixes] else tuple(found)

    if names[Prefixes]:
        owed = ("index-sound", "index-complete")
        return Evidence(records, cached.forced, owed=owed, words=in_words)
    return Evidence(records, forced(workers), owed=("clear-failure",), words=in_words)


def _chosen(firing: Firing) -> dict[str, int]:
    parameters = (name for name, _ in firing.transition.parameters)
    return dict(zip(parameters, firing.arguments, strict=True))
