"""What follows from an observation that no transition allows.

It is forced upon the model, and so is all that is after it in the same log. A state that comes
of that is of no run, so that a model need not be able to go on from it: then no more is told.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from rackproof.checker.conform.moves import Move, Moves
from rackproof.checker.conform.outcome import Broken
from rackproof.checker.conform.stopping import aftermath
from rackproof.checker.conform.telling import broken_sentence
from rackproof.model.kernel import ModelError, Observation, Property, evidence_of
from rackproof.model.kernel.evidence import Case

BEYOND: Final = (ModelError, LookupError)
"""What functions of a model raise in a state that they were not made for."""


def forced_breaks(case: Case, before: Any, observed: Sequence[Observation]) -> tuple[Broken, ...]:
    """The properties that are broken by what a log goes on to say, each at the first observation
    by which it is.

    observed: of one log, the rejected one first. before: the state before it.
    """
    found = list[Broken]()
    with contextlib.suppress(*BEYOND):
        for one in _forced_breaks(case, before, observed):
            found.append(one)
    return tuple(found)


def _forced_breaks(case: Case, before: Any, observed: Sequence[Observation]) -> Iterator[Broken]:
    evidence = evidence_of(case.system)
    force = evidence.forced
    if force is None:
        return
    moves = Moves(case.system)
    state = moves.number(before)
    found = set(moves.broken(state))
    for each in observed:
        after = force(moves.states[state], each)
        if after is None:
            continue
        state = moves.number(after)
        for prop in case.system.properties:
            if prop in moves.broken(state) and prop not in found:
                found.add(prop)
                yield _told(moves, state, prop, each)
    if case.ended and observed and evidence.owed:
        own = [each for each in observed if each.witness == observed[0].witness]
        yield from _at_the_end(case, moves, state, own[-1])


def _told(moves: Moves, state: int, prop: Property, at: Observation) -> Broken:
    sentence = broken_sentence(moves.system, prop, moves.states[state])
    return Broken(prop.name, sentence, at, predicted=False)


def _at_the_end(case: Case, moves: Moves, state: int, last: Observation) -> Iterator[Broken]:
    """What the witness is owed and never gets, as it writes no more, whatever others still do."""
    owed = evidence_of(case.system).owed

    def may(move: Move) -> bool:
        return not any(
            record.witness == last.witness and (record.witness, record.kind) in case.complete
            for record in move.records
        )

    after = aftermath(moves, state, may, due=False)
    stays = list(after.stays()) if after.whole else []
    if not stays:
        return
    always = frozenset.intersection(*(after.broken(part) for part in stays))
    end = next(number for number in after.moves if number in stays[0])
    for prop in case.system.properties:
        if prop in always and prop.name in owed:
            yield _told(moves, end, prop, last)
