"""Who believes what of whom, and what is so; only what somebody acts on.

What is believed and what is so are told of the subject: decode-0 "is there", decode-0 "has
crashed".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from rackproof.model.kernel import Belief
from rackproof.model.picture.beliefs.blocks import of_blocks, of_room
from rackproof.model.picture.beliefs.indexed import of_index
from rackproof.model.picture.beliefs.linked import of_links, of_rooms
from rackproof.model.picture.beliefs.requests import of_requests
from rackproof.model.picture.beliefs.stored import of_store
from rackproof.model.picture.beliefs.transfers import of_transfers
from rackproof.model.picture.beliefs.workers import of_workers
from rackproof.model.picture.cast import Cast

CONCERNS = (
    of_workers,
    of_requests,
    of_transfers,
    of_blocks,
    of_room,
    of_links,
    of_rooms,
    of_index,
    of_store,
)


@frozen
class Beliefs:
    """The beliefs of those who take part."""

    cast: Cast

    def __call__(self, world: Any) -> Sequence[Belief]:
        """What is believed in a state, concern by concern."""
        found = (belief for concern in CONCERNS for belief in concern(self.cast, world))
        return tuple(belief for belief in found if belief.who in self.cast.there)
