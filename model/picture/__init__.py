"""How the world is drawn: who takes part, between whom steps pass, who believes what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rackproof.model.kernel import Identifiers, Picture
from rackproof.model.picture.beliefs import Beliefs
from rackproof.model.picture.cast import cast
from rackproof.model.picture.messages import Messages
from rackproof.model.picture.outcomes import Outcomes

if TYPE_CHECKING:
    from rackproof.model.rack import Placement
    from rackproof.model.scope import Scope


def picture(
    scope: Scope, placement: Placement, names: Mapping[Identifiers, Sequence[str]]
) -> Picture:
    """The picture of a scope on a placement; names: of all its identifiers."""
    everybody = cast(scope, placement, names)
    return Picture(
        lanes=everybody.lanes,
        message=Messages(everybody),
        sentence=Outcomes(everybody),
        beliefs=Beliefs(everybody),
    )
