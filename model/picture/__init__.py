"""How the world is drawn: who takes part, between whom steps pass, who believes what, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rackproof.model.kernel import Identifiers, Picture
from rackproof.model.picture.beliefs import Beliefs
from rackproof.model.picture.board import Board
from rackproof.model.picture.broken import Broken
from rackproof.model.picture.cast import Cast, cast
from rackproof.model.picture.items import items
from rackproof.model.picture.messages import Messages
from rackproof.model.picture.outcomes import Outcomes
from rackproof.model.picture.sites import Sites
from rackproof.model.rack.graph import Part

if TYPE_CHECKING:
    from rackproof.model.rack import Placement
    from rackproof.model.scope import Scope


def picture(
    scope: Scope, placement: Placement, names: Mapping[Identifiers, Sequence[str]]
) -> Picture:
    """The picture of a scope on a placement; names: of all its identifiers."""
    everybody, drawn = cast(scope, placement, names), Board(placement)
    return Picture(
        lanes=everybody.lanes,
        message=Messages(everybody),
        sentence=Outcomes(everybody),
        broken=Broken(everybody),
        beliefs=Beliefs(everybody),
        graph=drawn.graph(),
        sites=_sites(everybody, drawn),
        items=items(scope, placement),
    )


def _sites(everybody: Cast, drawn: Board) -> Sites:
    rack, instances = drawn.rack, tuple(enumerate(drawn.placement.instances))
    return Sites(
        cast=everybody,
        beliefs=Beliefs(everybody),
        gpus={drawn.called(gpu): worker for worker, here in instances for gpu in here.gpus},
        trays={
            drawn.called(tray): tuple(worker for worker, here in instances if here.tray == number)
            for number, tray in enumerate(drawn.placement.trays)
        },
        frontends=tuple(drawn.called(node) for node in rack.parts(Part.FRONTEND)),
        stores=tuple(drawn.called(node) for node in rack.parts(Part.STORE)),
        switches=tuple(drawn.called(node) for node in rack.parts(Part.NVLINK_SWITCH)),
    )
