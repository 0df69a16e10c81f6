"""A run held against the model while it happens: the runs that explain what was seen so far.

All of them are kept, as the states they may have come to. Steps that nobody sees are filled in; a
step that would be seen is taken where it was. Of one witness, what was seen is in order; between
two witnesses there is no order, but within one batch: what an operation came between is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from attrs import evolve, frozen

from rackproof.checker.conform.moves import Move, Moves
from rackproof.checker.conform.stopping import Stops
from rackproof.checker.trace import Trace, run
from rackproof.model.kernel import Firing, Observation, Record, System, evidence_of
from rackproof.model.kernel.evidence import Kinds

MOST: Final = 100_000
"""States that one batch of observations may take to explain."""
NOTHING: Final[Mapping[str, tuple[str, str]]] = {}

Deed = tuple[str, str, str]
"""A transition that is done from outside, with an identifier by its parameter's name."""


class TooMany(Exception):
    """There are too many runs to tell whether one explains what was seen."""


class World:
    """The steps of a world, state by state. What is done to it from outside is known, and is looked
    at when it is done: those steps are apart.
    """

    def __init__(
        self,
        system: System,
        deeds: Mapping[str, tuple[str, str]] = NOTHING,
        outside: str = "",
        most: int = MOST,
    ) -> None:
        """Nothing is explored yet.

        deeds: the transitions that are done from outside, each with the witness and the kind of
        what is recorded of it. outside: the witness whose word comes first. most: states that one
        batch of observations may take to explain.
        """
        self.outside = outside
        self.system, self.recorded, self.most = system, deeds, most
        self._stops: dict[Kinds, Stops] = {}
        quiet = [item for item in system.transitions if item.name not in deeds]
        self.moves = Moves(evolve(system, transitions=quiet))
        self._deeds: dict[Deed, list[Firing]] = {}
        for firing in system.firings():
            if firing.transition.name in deeds:
                for name, of in firing.named(system).items():
                    self._deeds.setdefault((firing.transition.name, name, of), []).append(firing)
        self._done: dict[tuple[int, Deed], tuple[Move, ...]] = {}

    def stops(self, complete: Kinds) -> Stops:
        """How runs may be over, where all is recorded that these witnesses tell of these kinds."""
        return self._stops.setdefault(complete, Stops(self.moves, complete))

    def deeds(self, number: int, deed: Deed) -> tuple[Move, ...]:
        """The ways in which something may be done in a state."""
        known = self._done.get((number, deed))
        if known is None:
            known = self._done[number, deed] = tuple(self._ways(number, deed))
        return known

    def _ways(self, number: int, deed: Deed) -> Iterator[Move]:
        before, records = self.moves.states[number], evidence_of(self.system).records
        for firing in self._deeds.get(deed, ()):
            after = firing.transition.function(before, *firing.arguments)
            if after is not None and after != before:
                own = self.recorded[deed[0]]
                told = (r for r in records(before, firing, after) if (r.witness, r.kind) != own)
                yield Move(firing, self.moves.number(after), tuple(told), owed=False)


@frozen(eq=False)
class Node:
    """A state that a run may have come to, by its number.

    owed: records of its steps that were not seen yet; those of complete kinds
    must be. ordered: operations of which
    nothing is known but that they come after all that was seen before them. came: the node before,
    and the step from there. seen: how much of each log of the present batch is explained.
    """

    state: int
    owed: tuple[Record, ...] = ()
    ordered: tuple[Deed, ...] = ()
    came: tuple[Node, Move] | None = None
    seen: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes another run to the same place needless."""
        written = tuple((r.witness, r.kind, tuple(sorted(r.values.items()))) for r in self.owed)
        return self.state, written, len(self.ordered), self.seen


@frozen(eq=False, slots=False)
class Watch:
    """The states that runs of the model may be in, after all that was seen.

    complete: the witnesses and kinds of which every record is seen, so that a step with another
    one of them did not happen.
    """

    world: World
    complete: Kinds
    nodes: tuple[Node, ...]

    @classmethod
    def at_start(cls, world: World, complete: Kinds) -> Watch:
        """Before anything was seen."""
        return cls(world, complete, (Node(0),))

    @property
    def states(self) -> list[Any]:
        """The states in which the run may be, before any further step that nobody sees."""
        return [self.world.moves.states[n] for n in dict.fromkeys(n.state for n in self.nodes)]

    def after(self, batch: Sequence[Observation]) -> Watch | Unexplained:
        """What explains a batch of observations too; or how far that goes."""
        logs = by_witness(batch)
        starts = [evolve(node, seen=(0,) * len(logs)) for node in self.nodes]
        whole = tuple(map(len, logs))
        reached = list(self._spread(starts, logs))
        done = tuple(node for node in reached if node.seen == whole)
        if done:
            return evolve(self, nodes=done)
        most = max(sum(node.seen) for node in reached)
        furthest = [node for node in reached if sum(node.seen) == most]
        return Unexplained(self, logs, tuple(furthest))

    @cached_property
    def silently(self) -> list[Node]:
        """Where runs may have come to since, by steps that nobody sees."""
        return list(self._spread([evolve(node, seen=()) for node in self.nodes], ()))

    def may_do(self, deed: Deed) -> tuple[Firing, Any] | None:
        """A way in which something may be done now, and the state in which it may: one behind all
        that was ordered before.
        """
        return self._first(self.nodes, deed) or self._first(self.silently, deed)

    def _first(self, nodes: Iterable[Node], deed: Deed) -> tuple[Firing, Any] | None:
        for node in nodes:
            for move in () if node.ordered else self.world.deeds(node.state, deed):
                return move.firing, self.world.moves.states[node.state]
        return None

    def doing(self, deed: Deed) -> Watch | None:
        """What explains that it was done now; None where nothing does."""
        nodes: dict[Any, Node] = {}
        for node in self.silently:
            for done in self._done(node, deed):
                nodes.setdefault(done.key, done)
        return evolve(self, nodes=tuple(nodes.values())) if nodes else None

    def ordering(self, deed: Deed) -> Watch:
        """What explains that it was ordered, and takes effect at any time from now on."""
        nodes = (evolve(node, ordered=(*node.ordered, deed)) for node in self.nodes)
        return evolve(self, nodes=tuple(nodes))

    def _done(self, node: Node, deed: Deed) -> Iterator[Node]:
        for move in self.world.deeds(node.state, deed):
            owed = (*node.owed, *filter(self._must, move.records))
            yield Node(move.target, owed, node.ordered, (node, move), node.seen)

    @property
    def resting(self) -> list[frozenset[str]]:
        """For each run that may be over now, the properties that it breaks."""
        found, stops = [], self.world.stops(self.complete)
        waiting = any(node.ordered for node in self.nodes)
        for node in self.silently if waiting else self.nodes:
            stop = None if any(map(self._must, node.owed)) or node.ordered else stops.of(node.state)
            if stop is not None:
                broken = self.world.moves.broken(node.state) | stop.broken
                found.append(frozenset(prop.name for prop in broken))
        return found

    def trace(self, node: Node) -> Trace:
        """The run to a node."""
        moves: list[Move] = []
        here: Node | None = node
        while here is not None and here.came is not None:
            here, move = here.came
            moves.append(move)
        return run(self.world.system, [move.firing for move in reversed(moves)])

    def _spread(self, starts: Sequence[Node], logs: Sequence[Sequence[Observation]]) -> list[Node]:
        """All nodes that can be reached by steps unseen and by steps that are in the logs.

        Nodes that explain all of them are not gone on from.
        """
        whole = tuple(map(len, logs))
        known = {node.key: node for node in starts}
        queue = list(known.values())
        for node in queue:
            if logs and node.seen == whole:
                continue
            fresh = (n for n in self._onwards(node, logs) if known.setdefault(n.key, n) is n)
            queue.extend(fresh)
            if len(queue) > self.world.most:
                most = f"{self.world.most:,}"
                raise TooMany(f"more than {most} states of the model may explain what was seen")
        return queue

    def _onwards(self, node: Node, logs: Sequence[Sequence[Observation]]) -> Iterator[Node]:
        yield from self._paid(node, logs)
        for deed in node.ordered[:1]:
            yield from self._done(evolve(node, ordered=node.ordered[1:]), deed)
        blocked = {record.witness for record in node.owed if self._must(record)}
        for move in self.world.moves.of(node.state):
            told = tuple(r for r in move.records if (r.witness, r.kind) in self.complete)
            came = (node, move)
            if not told:
                yield evolve(node, state=move.target, came=came)
            yield from self._seen(node, move, logs, blocked)

    def _paid(self, node: Node, logs: Sequence[Sequence[Observation]]) -> Iterator[Node]:
        """What is owed and was seen now."""
        for at, record in enumerate(node.owed):
            before = [r for r in node.owed[:at] if r.witness == record.witness]
            if any(map(self._must, before)):
                continue
            seen = _fitting(record, logs, node.seen)
            if seen is not None:
                owed = (r for r in node.owed if r is not record and r not in before)
                yield evolve(node, owed=tuple(owed), seen=seen)

    def _seen(
        self,
        node: Node,
        move: Move,
        logs: Sequence[Sequence[Observation]],
        blocked: set[str],
    ) -> Iterator[Node]:
        """A step of which a record was seen now; its others must be seen, or may."""
        for at, record in enumerate(move.records):
            earlier = [r for r in move.records[:at] if r.witness == record.witness]
            if record.witness in blocked or any(self._must(r) for r in earlier):
                continue
            seen = _fitting(record, logs, node.seen)
            if seen is not None:
                others = move.records[:at] + move.records[at + 1 :]
                due = (r for r in node.owed if self._must(r) or r.witness != record.witness)
                owed = (*due, *(r for r in others if r not in earlier))
                yield Node(move.target, owed, node.ordered, (node, move), seen)

    def _must(self, record: Record) -> bool:
        return (record.witness, record.kind) in self.complete


@frozen(eq=False)
class Unexplained:
    """Observations that no run of the model explains.

    before: what explained all before them. logs: the observations by witness. furthest: the nodes
    that explain most of them.
    """

    before: Watch
    logs: tuple[tuple[Observation, ...], ...]
    furthest: tuple[Node, ...]

    @property
    def at(self) -> Observation:
        """The first observation that is not explained; of the witness outside, where it can be."""
        return self._head(self.furthest[0])

    @property
    def nodes(self) -> list[Node]:
        """The nodes of the furthest that are stopped by this one."""
        return [node for node in self.furthest if self._head(node) is self.at]

    def _head(self, node: Node) -> Observation:
        heads = [log[n] for log, n in zip(self.logs, node.seen, strict=True) if n < len(log)]
        return min(heads, key=lambda item: item.witness != self.before.world.outside)


def by_witness(batch: Sequence[Observation]) -> tuple[tuple[Observation, ...], ...]:
    """The log of each witness, in its own order."""
    logs: dict[str, list[Observation]] = {}
    for item in batch:
        logs.setdefault(item.witness, []).append(item)
    return tuple(map(tuple, logs.values()))


def _fitting(
    record: Record, logs: Sequence[Sequence[Observation]], seen: tuple[int, ...]
) -> tuple[int, ...] | None:
    """How much is seen once a record is among it; None where it is not the next of its log."""
    for at, log in enumerate(logs):
        if seen[at] < len(log) and log[seen[at]].fits(record):
            return (*seen[:at], seen[at] + 1, *seen[at + 1 :])
    return None
