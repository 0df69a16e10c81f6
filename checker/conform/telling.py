"""Runs, records and observations in words, under the names that the logs have for things."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from rackproof.checker.conform.matching import misread
from rackproof.checker.conform.moves import Move, Moves
from rackproof.checker.conform.outcome import Broken, Misattributed
from rackproof.checker.conform.search import Node
from rackproof.checker.trace import Step, Trace
from rackproof.model.kernel import Observation, Property, Record, System
from rackproof.model.kernel.evidence import Kinds, Value

NO_KINDS: Final[Kinds] = frozenset()


def written(told: Record | Observation) -> str:
    """A record on one line: who writes, what, and with which values."""
    values = ", ".join(f"{name} {said(value)}" for name, value in told.values.items())
    return f"{told.witness} {told.kind}" + (f": {values}" if values else "")


def said(value: object) -> str:
    """A value as people write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def trace_of(moves: Moves, node: Node, further: Sequence[Move] = ()) -> Trace:
    """The run to a node, and on from there; each state is held against the domains of its fields
    (``OutOfDomain``).
    """
    taken = [each.move for each in node.path if each.move is not None]
    states = [0, *(move.target for move in (*taken, *further))]
    steps = []
    for move, (before, after) in zip((*taken, *further), pairwise(states), strict=True):
        moves.ordinals(after)
        step = Step(moves.system, move.firing, moves.states[before], moves.states[after])
        steps.append(step)
    return Trace(moves.system, tuple(steps))


def written_of(node: Node) -> tuple[tuple[Observation, ...], ...]:
    """For each step of the run to a node, what was recorded of it."""
    return tuple(tuple(seen for seen, _ in each.pairs) for each in node.path)


def assumed(trace: Trace, observed: Sequence[Sequence[Observation]]) -> tuple[str, ...]:
    """The steps in words that nobody owes, and no log tells of."""
    pairs = zip(trace.steps, observed, strict=True)
    return tuple(step.words for step, seen in pairs if not step.firing.is_owed and not seen)


def misattributed(node: Node) -> tuple[Misattributed, ...]:
    """What logs say beside that is not so in the run to a node, in the order of the run."""
    found: dict[tuple[str, Value, Value], list[Observation]] = {}
    for each in node.path:
        for seen, record in each.pairs:
            for name, (said, truth) in misread(seen, record).items():
                found.setdefault((name, said, truth), []).append(seen)
    return tuple(
        Misattributed(name, said, truth, len(seen), seen[0])
        for (name, said, truth), seen in found.items()
    )


def broken_sentence(system: System, prop: Property, state: Any) -> str:
    """What is so instead in a state in which a property fails, be it one that no run comes to."""
    last = Step(system, next(system.firings()), state, state)
    return " ".join(Trace(system, (last,)).broken(prop)) or f"This does not hold: {prop.statement}"


def broken_on(moves: Moves, node: Node, complete: Kinds = NO_KINDS) -> tuple[Broken, ...]:
    """The properties that fail on the run to a node, each where it first does.

    Not those that fail by a step of which a witness that writes all of these kinds wrote nothing:
    its log stops before.
    """
    path, found, unwritten = node.path, dict[Property, Broken](), set[Property]()
    nodes = [path[0].parent, *path] if path else [node]
    for index, here in enumerate(nodes):
        assert here is not None
        for prop in moves.system.properties:
            if prop in moves.broken(here.state) and prop not in [*found, *unwritten]:
                if _is_unwritten(here, complete):
                    unwritten.add(prop)
                    continue
                sentence = broken_sentence(moves.system, prop, moves.states[here.state])
                found[prop] = Broken(prop.name, sentence, _at(nodes[index:]), predicted=True)
    return tuple(found.values())


def _is_unwritten(node: Node, complete: Kinds) -> bool:
    records = node.move.records if node.move else ()
    seen = [record for _, record in node.pairs]
    return any((each.witness, each.kind) in complete and each not in seen for each in records)


def _at(nodes: Sequence[Node | None]) -> Observation | None:
    """The first observation from a node on."""
    return next((pair[0] for node in nodes if node for pair in node.pairs), None)
