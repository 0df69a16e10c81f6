"""How a world is drawn: who does what to whom, who believes what, what stands where.

A picture explains; nothing is decided by it. Its functions are called with plain states only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from rackproof.model.kernel.domains import Identifiers
from rackproof.model.kernel.properties import Property
from rackproof.model.kernel.system import Firing

if TYPE_CHECKING:
    import networkx as nx


@frozen
class Lane:
    """Somebody who takes part: a column of a sequence diagram.

    kind: what it is, such as client, frontend, router, prefill, decode, store or discovery.
    """

    name: str
    kind: str


@frozen
class Message:
    """Between whom a step passes, by the names of their lanes; the same for what one does alone."""

    source: str
    target: str


@frozen
class Belief:
    """What somebody takes for so, and what is so, in words; subject: of whom or of what.

    who: the name of a lane. agrees: whether the belief is true. behind: it is not, but what is to
    put it right is on its way, as always happens where there are messages.
    """

    who: str
    subject: str
    believed: str
    truth: str
    agrees: bool
    behind: bool = False

    @property
    def mistaken(self) -> bool:
        """Whether it is wrong, and nothing on its way is to put it right."""
        return not self.agrees and not self.behind


@frozen
class Site:
    """What a node of the rack is like in a state.

    condition: fine, busy, suspect (somebody is mistaken about it) or failed. words:
    what there is to know, such as what it holds and whom it serves.
    """

    condition: str
    words: tuple[str, ...] = ()


@frozen
class Item:
    """A part of what is known of a request (or of another sort), which a fault may lose.

    lives: the kind of the lanes where it is kept. there: whether it is, of a state and one of the
    sort.
    """

    name: str
    text: str
    lives: str
    sort: Identifiers
    there: Callable[[Any, int], bool]


def _no_beliefs(_: Any) -> Sequence[Belief]:
    return ()


def _sentence(_before: Any, firing: Firing, _after: Any) -> str:
    return firing.transition.sentence


def _broken(_state: Any, prop: Property, _arguments: Sequence[int]) -> str | None:
    return prop.broken


def _no_sites(_: Any) -> Mapping[str, Site]:
    return {}


@frozen
class Picture:
    """How a system is drawn.

    lanes: from left to right. message: of the state before, a firing and the state after it, names
    of lanes. beliefs: of a state, true ones too. graph: the rack, whose nodes ``sites`` speaks of
    by name; node attributes ``kind`` and, where one stands on another, ``on``. items: what can be
    lost. sentence: of a state, a firing and the state after it, what the step came to, with
    ``{parameter}`` placeholders; that of the transition speaks of all that it may come to. broken:
    of a state, a property and identifiers for which it does not hold there, what is so instead,
    with ``{parameter}`` placeholders; where it has no more to say, what the property does.
    """

    lanes: tuple[Lane, ...]
    message: Callable[[Any, Firing, Any], Message]
    beliefs: Callable[[Any], Sequence[Belief]] = _no_beliefs
    graph: nx.Graph[str] | None = None
    sites: Callable[[Any], Mapping[str, Site]] = _no_sites
    items: tuple[Item, ...] = field(default=())
    sentence: Callable[[Any, Firing, Any], str] = _sentence
    broken: Callable[[Any, Property, Sequence[int]], str | None] = _broken
