"""What was recorded of one request, sorted: by whom, of how many tokens, at which workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Final

from attrs import define, evolve, field

from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import FRONTEND, SENDS
from rackproof.model.evidence.operators import DEEDS, DISCOVERY, OPERATOR
from rackproof.model.kernel import Observation, Place
from rackproof.model.kernel.evidence import Value
from rackproof.scenarios.recorded.everybody import DAMAGED, EVERYBODY, FACTS, Everybody
from rackproof.scenarios.recorded.noted import Noted

NOBODY: Final[frozenset[str]] = frozenset()
NUMBERS: Final = frozenset({"position", "delivered", "start", "completion", "tokens", "number"})
"""Values that are a position of the output, or a number of tokens."""
_ENDS: Final = {
    CLIENT: frozenset({"finish", "error", "end", "left"}),
    FRONTEND: frozenset({"done", "over"}),
}
"""What is written once a request is over, by who writes it."""
NO_WORKERS: Final = (CLIENT, FRONTEND, OPERATOR, DISCOVERY)
"""Whoever writes and is no worker."""


@define(eq=False, slots=False)
class Story:
    """The notes of one request.

    facts: by kind, what is no observation. whole: the kinds of which every record is there, by who
    writes them, as far as that is said of this request alone. of: the notes by who wrote them.
    spoilt: who wrote something of it that could not be read.
    """

    about: str
    everybody: Everybody
    facts: dict[str, dict[str, Value]] = field(factory=dict)
    whole: dict[str, frozenset[str]] = field(factory=dict)
    of: dict[str, list[Noted]] = field(factory=dict)
    spoilt: set[str] = field(factory=set)

    def take(self, noted: Noted) -> None:
        """Sort a note in."""
        seen = noted.observation
        if seen.witness != FACTS:
            noted = _ended_badly(sound(noted))
            self.of.setdefault(self.everybody.called(seen.witness), []).append(noted)
        elif seen.kind == DAMAGED:
            self.spoilt.add(self.everybody.called(seen.values.get("by", EVERYBODY)))
        elif seen.kind == "complete":
            if seen.place is not None and seen.place.file in self.everybody.spoilt:
                return
            who, kinds = str(seen.values.get("by")), str(seen.values.get("kinds", "")).split()
            self.whole[who] = self.whole.get(who, NOBODY) | frozenset(kinds)
        else:
            self.facts.setdefault(seen.kind, {}).update(seen.values)

    # -- who wrote what -----------------------------------------------------------------------

    @cached_property
    def client(self) -> list[Observation]:
        """What the client wrote down."""
        return [each.observation for each in self.of.get(CLIENT, ())]

    @cached_property
    def frontend(self) -> list[Observation]:
        """What the frontend wrote down."""
        return [each.observation for each in self.of.get(FRONTEND, ())]

    @cached_property
    def workers(self) -> dict[str, list[Noted]]:
        """What workers wrote down, by their names."""
        logs = {name: notes for name, notes in self.of.items() if name not in NO_WORKERS}
        return {name: notes for name, notes in logs.items() if name not in self.unplaced}

    @cached_property
    def dispatches(self) -> list[Observation]:
        """Each time that the frontend sent it to somebody anew."""
        return [seen for seen in self.frontend if seen.kind == "dispatch"]

    @property
    def are_dispatches_known(self) -> bool:
        """Whether that is each time that it was sent."""
        return "dispatch" in self.complete(FRONTEND)

    @property
    def resent(self) -> list[int | None]:
        """How many tokens the client had each time, where that is told."""
        return [whole(seen.values.get("delivered")) for seen in self.dispatches]

    @cached_property
    def sent_to(self) -> list[str]:
        """The workers that the frontend sent it to, one for each time."""
        sent = (seen for seen in self.frontend if seen.kind in SENDS)
        return [
            self.everybody.called(seen.values["worker"]) for seen in sent if "worker" in seen.values
        ]

    @cached_property
    def unplaced(self) -> frozenset[str]:
        """The workers that wrote of it, and of which nobody knows whether they are among those that
        it was sent to: the frontend calls these by names that nobody else has for a worker.
        """
        sent, known = set(self.sent_to), self.everybody.known
        logs = self.of.keys() - set(NO_WORKERS) - sent
        unknown = any(name not in known and name not in self.of for name in sent)
        return frozenset(logs) if unknown else NOBODY

    def complete(self, who: str) -> frozenset[str]:
        """The kinds of which every record of a witness is there.

        A log that is whole says nothing of a request that it may know under another name: whoever
        writes for all requests must speak of this one, or another of them.
        """
        cut = who in self.stopped and not self.is_open
        return NOBODY if cut else self.written_whole(who)

    def written_whole(self, who: str) -> frozenset[str]:
        """The same, up to where the log of a witness stops."""
        if not {who, EVERYBODY}.isdisjoint(self.spoilt | self.everybody.spoilt):
            return NOBODY
        kinds = self.whole.get(who, NOBODY)
        if who in self.of or (who not in (CLIENT, FRONTEND) and self._is_known):
            kinds |= self.everybody.complete.get(who, NOBODY)
        if who == CLIENT and not any(seen.kind == "usage" for seen in self.client):
            kinds -= {"usage"}  # which only those get that asked for it
        return kinds

    @property
    def is_open(self) -> bool:
        """Whether neither the client nor the frontend tells how the request ended."""
        return not any(map(self._is_through_with_it, _ENDS))

    @cached_property
    def stopped(self) -> dict[str, Place | None]:
        """Whose logs stop before the request is over, each by its last record: all of them where
        nobody tells how it ended, and otherwise those of a client or a frontend that do not.
        """
        found = [
            who
            for who in _ENDS
            if who in self.of
            and not self._is_through_with_it(who)
            and _ENDS[who] & self.written_whole(who)
        ]
        found += self.workers if self.is_open else ()
        return {who: self.of[who][-1].observation.place for who in found}

    def _is_through_with_it(self, who: str) -> bool:
        return any(noted.observation.kind in _ENDS[who] for noted in self.of.get(who, ()))

    def is_unnamed(self, who: str) -> bool:
        """Whether a client and a frontend wrote of requests, and one of them not of this one."""
        if who == FRONTEND:
            return who not in self.of and CLIENT in self.of and who in self.everybody.complete
        there = who in self.of or "asked" in self.facts
        return not there and FRONTEND in self.of and self.everybody.has_clients

    @property
    def _is_known(self) -> bool:
        return FRONTEND in self.of or bool(self.workers)

    @property
    def standing(self) -> str | None:
        """Where a request stands that is not over, in words."""
        if not self.is_open:
            return None
        last = next((seen for seen in reversed(self.client) if seen.kind == "token"), None)
        return ", ".join([_last_token(last, len(self.tokens)), *self._whereabouts()])

    def _whereabouts(self) -> Iterator[str]:
        """Its worker, and what was last done to that."""
        workers = list(self.involved)
        if not workers:
            return
        deeds = [noted.observation for noted in self.deeds(workers[-1:])]
        did = f": {deeds[-1].kind} at {deeds[-1].place}" if deeds else ""
        yield f"its worker {workers[-1]}{did}"

    # -- tokens -------------------------------------------------------------------------------

    @cached_property
    def tokens(self) -> list[Observation]:
        """The tokens that the client was given."""
        return [seen for seen in self.client if seen.kind == "token"]

    def is_foreign(self, seen: Observation) -> bool:
        """Whether a token without a position is none of the output: the position of each is known
        that a worker emits which had the request.
        """
        return "text" in seen.values and "position" not in seen.values and self._are_positions_known

    @cached_property
    def _are_positions_known(self) -> bool:
        if not self.are_dispatches_known:
            return False
        whole = self.everybody.complete
        return bool(self.workers) and all(
            worker in self.workers or "emitted" in whole.get(worker, NOBODY)
            for worker in self.involved
        )

    @cached_property
    def max_tokens(self) -> int:
        """How many the client allowed; where that is not known, what the output came to."""
        allowed = whole(self.fact("asked", "max-tokens"))
        if allowed is None and self._is_finished:
            allowed = self._length
        elif allowed is None:
            allowed = self.most + (not self._is_through)
        return max(1, allowed)

    @cached_property
    def length(self) -> int:
        """How many tokens the output has: all that are allowed, unless it stopped before; not
        before what a worker is known to have emitted.
        """
        if not self._is_finished or self.told("finish", "reason") in (None, "length"):
            return self.max_tokens
        return max(1, min(max(self._length, self._emitted), self.max_tokens))

    @property
    def _emitted(self) -> int:
        """How far workers say that they came, but for attempts that began behind the end."""
        most = 0
        for log in self.workers.values():
            start = 0
            for seen in (each.observation for each in log):
                start = int(seen.values.get("start", start))
                if seen.kind == "emitted" and start < self._length:
                    most = max(most, int(seen.values.get("position", -1)) + 1)
        return most

    @property
    def _is_finished(self) -> bool:
        return any(seen.kind == "finish" for seen in self.client)

    @property
    def _is_through(self) -> bool:
        """Whether a worker says that it gave out all there is."""
        notes = (each.observation for log in self.workers.values() for each in log)
        return any(seen.kind == "finished" for seen in notes)

    @property
    def _length(self) -> int:
        """What the output came to, up to the first finish reason."""
        before = takewhile(lambda seen: seen.kind != "finish", self.client)
        given = sum(seen.kind == "token" for seen in before)
        counted = self.told("usage", "completion")
        # What was given is what was counted, unless the text of some was held back.
        behind = counted is None or given < len(self.tokens) or int(counted) < given
        return given if behind else int(counted or given)

    @cached_property
    def most(self) -> int:
        """The most tokens that anybody speaks of."""
        values = (seen.observation.values for notes in self.of.values() for seen in notes)
        told = (
            int(found[name]) + (name == "position")
            for found in values
            for name in ("position", "delivered", "start")
            if name in found
        )
        return max(len(self.tokens), *told, 0)

    @property
    def prompt(self) -> int | None:
        """How many tokens the client's own prompt has, where that is told."""
        told = whole(self.fact("prompt", "tokens"))
        return whole(self.fact("asked", "prompt-tokens")) if told is None else told

    @property
    def is_billed(self) -> bool:
        """Whether the client was told of any usage."""
        return any(seen.kind == "usage" for seen in self.client)

    @property
    def more(self) -> Value | None:
        """Whether the usage counts more than the client's own prompt, where that can be told; in
        words, where it is neither that nor all that the last attempt was sent.

        Where the prompt is not known, that of another request with the same one is.
        """
        told, counted = self.told("usage", "more"), whole(self.told("usage", "prompt"))
        if told is not None or counted is None:
            return None if told is None else bool(told)
        prompt = self.prompt
        if prompt is not None or counted < 1:
            return self._is_more(counted, 1 if prompt is None else prompt)
        least, of = self.everybody.prompts.get(str(self.fact("asked", "prompt")), (0, self.about))
        return True if of != self.about and counted > least else None

    def _is_more(self, counted: int, prompt: int) -> Value:
        resent = self.resent[-1] if self.dispatches else None
        if counted < prompt or (counted > prompt and resent not in (None, counted - prompt)):
            kind = "fewer" if counted < prompt else "more"
            return f"{abs(counted - prompt)} {kind} than the prompt"
        return counted > prompt

    def told(self, kind: str, name: str) -> Value | None:
        """A value that the client wrote down, in the first record of a kind."""
        for seen in self.client:
            if seen.kind == kind:
                return {**seen.aside, **seen.values}.get(name)
        return None

    def fact(self, kind: str, name: str) -> Value | None:
        """What is known beside, if it is."""
        return self.facts.get(kind, {}).get(name)

    # -- workers ------------------------------------------------------------------------------

    @property
    def involved(self) -> Iterator[str]:
        """The workers that the request had to do with, in the order in which it did."""
        for seen in self.frontend:
            if "worker" in seen.values:
                yield self.everybody.called(seen.values["worker"])
        yield from self.workers

    @cached_property
    def failed(self) -> list[Mapping[str, Value]]:
        """The attempts that failed."""
        return [seen.values for seen in self.frontend if seen.kind == "failed"]

    @property
    def has_failed(self) -> bool:
        """Whether an attempt failed, or all of the request."""
        return bool(self.failed) or any(seen.kind == "error" for seen in self.client)

    @property
    def is_failed(self) -> bool:
        """Whether the request came to nothing, as far as is known."""
        given_up = any(seen.values.get("outcome") == "failed" for seen in self.frontend)
        return given_up or any(seen.kind == "error" for seen in self.client)

    def done_to(self, workers: Sequence[str] | Mapping[str, str], witness: str) -> list[Noted]:
        """What an operator did to some of the workers, or discovery said of them."""
        called = self.everybody.called
        own = self.of.get(witness, ())
        mine = [n for n in own if called(n.observation.values.get("worker", "")) in workers]
        told = (n for n in self.everybody.told_of(workers) if n.observation.witness == witness)
        return [*map(sound, told), *mine]

    def deeds(self, workers: Sequence[str] | Mapping[str, str]) -> list[Noted]:
        """What an operator did to some of the workers, as far as the model knows it."""
        return [n for n in self.done_to(workers, OPERATOR) if n.observation.kind in DEEDS.values()]


BAD_ENDS: Final = ("error", "cancelled", "abort")
"""Finish reasons that are errors."""


def _ended_badly(noted: Noted) -> Noted:
    """A finish whose reason is an error, as that."""
    seen = noted.observation
    if seen.kind != "finish" or seen.aside.get("reason") not in BAD_ENDS:
        return noted
    return evolve(noted, observation=evolve(seen, kind="error", aside={}))


def _last_token(last: Observation | None, count: int) -> str:
    if last is None:
        return "no token came"
    return f"last token {last.values.get('position', count - 1)} at {last.place}"


def sound(noted: Noted) -> Noted:
    """A note without numbers of tokens that are none."""
    seen = noted.observation
    if _is_sound(seen.values) and _is_sound(seen.aside):
        return noted
    values, aside = (
        {name: value for name, value in found.items() if name not in _unsound(found)}
        for found in (seen.values, seen.aside)
    )
    return evolve(noted, observation=evolve(seen, values=values, aside=aside))


def _is_sound(values: Mapping[str, Value]) -> bool:
    for name in values:  # noqa: SIM110  (of every token)
        if name in NUMBERS and type(values[name]) is not int:
            return False
    return True


def _unsound(values: Mapping[str, Value]) -> list[str]:
    return [name for name in values if name in NUMBERS and type(values[name]) is not int]


def whole(value: Value | None) -> int | None:
    """A number that a log should have; None where it has something else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
