"""How a world is drawn: who does what to whom, who believes what, what stands where.

A picture explains; nothing is decided by it. Its functions are called with plain states only.
"""

from __future__ import annotations

import inspect
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import field, frozen

from rackproof.model.kernel.domains import Identifiers
from rackproof.model.kernel.errors import ModelError
from rackproof.model.kernel.properties import Property
from rackproof.model.kernel.system import Firing

if TYPE_CHECKING:
    import networkx as nx


CONDITIONS: Final = ("fine", "busy", "suspect", "failed")


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

    @cached_property
    def checked(self) -> Picture:
        """The same picture, whose functions raise ``ModelError`` where they return what makes no
        picture: each is its author's, and nothing else looks at that.
        """
        _look_at_lanes(self.lanes)
        lanes, nodes = frozenset(lane.name for lane in self.lanes), _nodes(self.graph)
        return attrs.evolve(
            self,
            message=_Checked("message", self.message, lambda it, _: _message_flaws(it, lanes)),
            beliefs=_Checked("beliefs", self.beliefs, lambda it, _: _belief_flaws(it, lanes)),
            sites=_Checked("sites", self.sites, lambda it, _: _site_flaws(it, nodes)),
            sentence=_Checked("sentence", self.sentence, _sentence_flaws),
        )


@frozen
class _Checked:
    """A function of a picture; flaws: what is wrong with what it returned for some arguments."""

    name: str
    function: Callable[..., Any]
    flaws: Callable[[Any, tuple[Any, ...]], Iterator[str]]

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        found = self.function(*arguments)
        for flaw in self.flaws(found, arguments):
            raise ModelError(f"{_where(self.function)}the picture's {self.name} returned {flaw}")
        return found


def _where(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code else ""


def _nodes(graph: Any) -> frozenset[str] | None:
    """The nodes of a rack; None where there is no rack."""
    if graph is None:
        return None
    names = frozenset(getattr(graph, "nodes", (None,)))
    for name in names:
        if not isinstance(name, str):
            raise ModelError(f"the graph of the picture has {_short(name)} for a node, not a name")
    return names


def _look_at_lanes(lanes: Any) -> None:
    for flaw in _lane_flaws(lanes):
        raise ModelError(f"the lanes of the picture are {flaw}")


def _lane_flaws(lanes: Any) -> Iterator[str]:
    if not isinstance(lanes, tuple | list):
        yield f"{_short(lanes)}, not a tuple of Lane"
        return
    for lane in lanes:
        if not isinstance(lane, Lane):
            yield f"not all Lane: {_short(lane)} is among them"
        elif not _are_texts(lane.name, lane.kind):
            yield f"not all of texts: {_short(lane)} is among them"
        elif Counter(other.name for other in lanes)[lane.name] > 1:
            yield f"not told apart: two are called {lane.name!r}"


def _message_flaws(found: Any, lanes: frozenset[str]) -> Iterator[str]:
    if not isinstance(found, Message):
        yield f"{_short(found)}, not a Message"
        return
    for name in (found.source, found.target):
        if name not in lanes:
            yield f"{_short(found)}, but there is no lane {name!r}"


def _belief_flaws(found: Any, lanes: frozenset[str]) -> Iterator[str]:
    if not isinstance(found, tuple | list):
        yield f"{_short(found)}, not a list of Belief"
        return
    for belief in found:
        if not isinstance(belief, Belief):
            yield f"{_short(belief)} among beliefs, not a Belief"
        elif not _are_texts(belief.subject, belief.believed, belief.truth):
            yield f"{_short(belief)}, of which not all is text"
        elif belief.who not in lanes:
            yield f"{_short(belief)}, but there is no lane {belief.who!r}"


def _site_flaws(found: Any, nodes: frozenset[str] | None) -> Iterator[str]:
    if not isinstance(found, Mapping):
        yield f"{_short(found)}, not a map from nodes to Site"
        return
    for name, site in found.items():
        if not isinstance(site, Site):
            yield f"{_short(site)} for {name!r}, not a Site"
        elif site.condition not in CONDITIONS:
            known = f"{', '.join(CONDITIONS[:-1])} or {CONDITIONS[-1]}"
            yield f"{_short(site)} for {name!r}, whose condition is not {known}"
        elif not isinstance(site.words, tuple | list) or not _are_texts(name, *site.words):
            yield f"{_short(site)} for {name!r}, of which not all is text"
        elif nodes is not None and name not in nodes:
            yield f"a Site for {name!r}, but there is no such node in its graph"


def _sentence_flaws(found: Any, arguments: tuple[Any, ...]) -> Iterator[str]:
    if not isinstance(found, str):
        yield f"{_short(found)}, not a sentence"
        return
    taken = [name for name, _ in arguments[1].transition.parameters]
    try:
        placeholders = [name for _, name, _, _ in string.Formatter().parse(found)]
    except ValueError as error:
        yield f"{_short(found)}: {error}"
        return
    for name in placeholders:
        if name is not None and name not in taken:
            takes = ", ".join(taken) or "nothing"
            yield f"{_short(found)}, but {{{name}}} is none of what the step takes: {takes}"


def _are_texts(*values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _short(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= 80 else f"{told[:77]}..."
