"""A run held against the model while it happens: which states may it be in by now?

All are kept, so that a step that nobody sees may have been taken or not. Observations come in the
order in which their steps happened; what one step has several witnesses write may come in between,
of each witness in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from attrs import frozen

from rackproof.checker.conform.moves import Move, Moves
from rackproof.checker.conform.outcome import Allowed, Rejection
from rackproof.checker.conform.stopping import Kinds, Stops
from rackproof.checker.conform.telling import written
from rackproof.checker.trace import Step, Trace
from rackproof.model.kernel import Firing, Observation, Record, System

MOST: Final = 20_000
"""States that are kept; where there are more, nothing is known of the run any more."""

MOST_EXPECTED: Final = 4
"""Steps that are told as what the model allowed."""


@frozen(eq=False)
class Held:
    """A state that the run may be in. owed: what is still to be observed of steps it took."""

    state: int
    owed: tuple[Record, ...] = ()
    parent: Held | None = None
    move: Move | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """The same where nothing that is observed from now on makes a difference."""
        return self.state, tuple(map(written, self.owed))


class Watch:
    """The states in which a run may be; ``given_up`` says why nothing is known of it any more.

    complete: the witnesses and kinds of which every record is observed, so that a step without it
    did not happen.
    """

    def __init__(
        self,
        system: System,
        complete: Iterable[tuple[str, str]],
        moves: Moves | None = None,
        most: int = MOST,
    ) -> None:
        """The run is at its start. moves: the system, as far as it is explored already."""
        self.moves = Moves(system) if moves is None else moves
        self.complete: Kinds = frozenset(complete)
        self.most, self.given_up = most, None if most > 0 else "no states may be kept"
        self._stops = Stops(self.moves, self.complete)
        self._held: list[Held] = [Held(0)]

    def observe(self, seen: Observation) -> Rejection | None:
        """What is wrong with an observation: None where some run explains it with all others.

        One that nothing explains is passed over.
        """
        if self.given_up:
            return None
        reached = self._silently()
        after = self._distinct(each for held in reached for each in self._seen(held, seen))
        if self.given_up:
            return None
        if not after:
            return Rejection(seen, tuple(self._expected(reached, seen.witness)), ())
        self._held = after
        return None

    def do(self, deed: Firing | Callable[[Firing], bool]) -> bool:
        """A step is taken, one of those that are meant; whether the model allows it by now. What
        it has others write is to be observed.
        """
        if self.given_up:
            return True
        meant = deed.__eq__ if isinstance(deed, Firing) else deed
        after = self._distinct(
            Held(move.target, (*held.owed, *self._told(move.records)), held, move)
            for held in self._silently()
            for move in self.moves.of(held.state)
            if meant(move.firing)
        )
        self._held = after or self._held
        return bool(after)

    def may_be_over(self) -> bool:
        """Whether nothing need be observed any more if nobody does anything."""
        silently = self._silently()
        return bool(self.given_up) or any(
            not held.owed and self._stops.of(held.state) is not None for held in silently
        )

    @property
    def states(self) -> list[object]:
        """The states in which the run may be, before any further step that nobody sees."""
        return list(dict.fromkeys(self.moves.states[held.state] for held in self._held))

    @property
    def trace(self) -> Trace:
        """A run that explains everything so far, with as few steps as any."""
        steps = list[Step]()
        held = self._held[0]
        while held.parent is not None:
            if held.move is not None:
                before, after = (self.moves.states[h.state] for h in (held.parent, held))
                steps.append(Step(self.moves.system, held.move.firing, before, after))
            held = held.parent
        return Trace(self.moves.system, tuple(reversed(steps)))

    def _told(self, records: Iterable[Record]) -> tuple[Record, ...]:
        return tuple(each for each in records if (each.witness, each.kind) in self.complete)

    def _silently(self) -> list[Held]:
        """Where the run may be after further steps that nobody sees, breadth first."""
        found = {held.key: held for held in self._held}
        pending = list(found.values())
        for held in pending:
            for move in self.moves.of(held.state):
                if not self._told(move.records):
                    after = Held(move.target, held.owed, held, move)
                    if found.setdefault(after.key, after) is after:
                        pending.append(after)
            if self._are_too_many(len(pending)):
                break
        return pending

    def _distinct(self, found: Iterable[Held]) -> list[Held]:
        distinct: dict[object, Held] = {}
        for held in found:
            distinct.setdefault(held.key, held)
        self._are_too_many(len(distinct))
        return list(distinct.values())

    def _are_too_many(self, count: int) -> bool:
        if count > self.most:
            self.given_up = f"the run may be in more than {self.most:,} states"
        return count > self.most

    def _seen(self, held: Held, seen: Observation) -> Iterator[Held]:
        """What comes of it if an observation is of a step before, or of the next one."""
        first = next((each for each in held.owed if each.witness == seen.witness), None)
        if first is not None:
            if seen.fits(first):
                owed = tuple(each for each in held.owed if each is not first)
                yield Held(held.state, owed, held)
            return
        for move in self.moves.of(held.state):
            for record in self._firsts(move, seen.witness):
                if seen.fits(record):
                    others = (each for each in self._told(move.records) if each is not record)
                    yield Held(move.target, (*held.owed, *others), held, move)

    def _firsts(self, move: Move, witness: str) -> Iterator[Record]:
        """What may be the first that a witness is seen to write of a step: what need not be there
        may be passed over.
        """
        for record in move.records:
            if record.witness == witness:
                yield record
                if self._told((record,)):
                    return

    def _expected(self, reached: Iterable[Held], witness: str) -> list[Allowed]:
        """What might have been observed instead; by the same witness, if anything."""
        found: dict[str, tuple[bool, Allowed]] = {}
        for held in reached:
            for record in held.owed:
                words = "this is still to be observed of an earlier step"
                found.setdefault(
                    written(record), (record.witness != witness, Allowed(words, written(record)))
                )
            for move in self.moves.of(held.state):
                if told := self._told(move.records):
                    text = "; ".join(map(written, move.records))
                    other = all(record.witness != witness for record in told)
                    words = move.firing.words(self.moves.system)
                    found.setdefault(text, (other, Allowed(words, text)))
        ranked = sorted(found.values(), key=lambda each: each[0])
        least = [one for other, one in ranked if other is ranked[0][0]]
        return least[:MOST_EXPECTED]
