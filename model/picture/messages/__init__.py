"""Between whom each transition of the world passes."""

from __future__ import annotations

from typing import Any, Final

from attrs import frozen

from rackproof.model.kernel import Firing, Message
from rackproof.model.picture.cast import Cast
from rackproof.model.picture.messages.indexed import INDEXED
from rackproof.model.picture.messages.linked import LINKED, ROOMS
from rackproof.model.picture.messages.serving import OTHERS, REQUESTS, TRANSFERS, WORKERS
from rackproof.model.picture.messages.stored import STORED
from rackproof.model.picture.scene import Between, Scene

BETWEEN: Final[dict[str, Between]] = {
    **REQUESTS,
    **TRANSFERS,
    **WORKERS,
    **LINKED,
    **ROOMS,
    **INDEXED,
    **STORED,
}
"""From whom and to whom, by the name of the transition. What is done alone, and a fault, which is
drawn at whom it hits, are from and to the same.
"""

_ALL: Final = {**BETWEEN, **OTHERS}


@frozen
class Messages:
    """Between whom a step passes; of those who have no lane, the other stands for both."""

    cast: Cast

    def __call__(self, before: Any, firing: Firing, after: Any) -> Message:
        """Look up who it is in the states around the step."""
        parameters = (name for name, _ in firing.transition.parameters)
        ids = dict(zip(parameters, firing.arguments, strict=True))
        scene = Scene(self.cast, before, after, ids)
        names = [party(scene) for party in _ALL[firing.transition.name]]
        drawn = [name for name in names if name in self.cast.there]
        return Message(drawn[0], drawn[-1])
