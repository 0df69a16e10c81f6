"""Requests of a serving stack: what was recorded of each, as a case with a small world of its own.

::

    everybody = Everybody()
    for noted in notes:
        everybody.learn(noted)
    worlds = Worlds(Bundled(stack="dynamo"))
    for about, own in by_request(notes):
        yield case(about, own, everybody, worlds)

``case`` looks at one request at a time, so that nobody has to hold more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from attrs import frozen

from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import ERRORS, FRONTEND
from rackproof.model.evidence.operators import DISCOVERY, OPERATOR
from rackproof.model.kernel import Observation
from rackproof.model.kernel.evidence import Case, Value
from rackproof.scenarios.recorded.collapse import Numbers, numbers
from rackproof.scenarios.recorded.everybody import PREFILL, Everybody
from rackproof.scenarios.recorded.faults import faults, spared
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.recorded.seats import names, seats
from rackproof.scenarios.recorded.shapes import Shape, Worlds
from rackproof.scenarios.recorded.story import NOBODY, NUMBERS, Story, whole

TOKENS: Final = ("token", "emitted")
WORKERS: Final = ("worker", "from")
"""Values that are a worker."""
NOWHERE: Final = "none of the output"
"""The position of a token that no worker can have emitted."""
BESIDE: Final = ("prompt",)
"""Values that stand for others: a prompt's tokens, for whether they are more than the client's."""
NEEDED: Final = {
    CLIENT: (
        frozenset({"token", "finish", "error", "end"}),
        "whole stream of the client",
        "what it was given is not known",
    ),
    FRONTEND: (
        frozenset({"dispatch", "failed"}),
        "whole log of the frontend",
        "where the request was sent, and why it was sent again, is not known",
    ),
}
"""The kinds without which nothing is accepted, by who writes them; what is missing then, and what
is not known for that.
"""
UNNAMED: Final = {
    CLIENT: "stream of a client under this request id{file}: what it was given is not known",
    FRONTEND: "request id in the answer, so that the frontend's log of it cannot be found",
}
"""What is missing where all that somebody wrote is there, and nothing of it is of this request."""
MOST_CANDIDATES: Final = 3
"""How many requests are named that one without an id may be."""
MOST_RETRIES: Final = 3
"""How many retries are looked for where nobody wrote down how many there were."""
MOST_OTHERS: Final = 6
"""How many workers are looked at where nobody wrote down which a request was sent to."""
_UNTOLD: Final = ("cannot-connect",)
"""Errors that a frontend cannot tell from others: a worker that is gone, one that refuses what it
is sent, and one that does not answer all look the same.
"""
_SAME: Final = {"worker-removed": "disconnected"}


def cases(noted: Iterable[Noted], worlds: Worlds) -> Iterator[Case]:
    """The cases of a record that is held whole: a small one."""
    everybody, own = Everybody(), dict[str, list[Noted]]()
    for each in noted:
        everybody.learn(each)
        if each.about is not None:
            own.setdefault(each.about, []).append(each)
    for about, notes in own.items():
        yield case(about, notes, everybody, worlds)


def case(
    about: str,
    noted: Iterable[Noted],
    everybody: Everybody,
    worlds: Worlds,
    *,
    collapsed: bool = True,
) -> Case:
    """The case of one request.

    noted: all that was noted of it, each log in its order. everybody: what is known of all.
    collapsed: whether tokens are taken out where nothing happens, which makes no difference but to
    the time it takes.
    """
    story = Story(about, everybody)
    for each in noted:
        story.take(each)
    retry_limit = _retry_limit(story, worlds)
    retries = min(retry_limit, _most_retries(story, retry_limit))
    others = _others(story, worlds, retry_limit)
    seated = seats(story, others)
    called = names(seated)
    kept = _numbers(story, called, worlds, collapsed)
    limit = min(retries, worlds.most_retries)
    sent = len(story.dispatches)
    rounds = worlds.rounds(sent, limit)
    shape = Shape(
        roles=tuple((role, len(workers)) for role, workers in seated.items()),
        tokens=kept.of(story.length),
        max_tokens=kept.of(story.max_tokens),
        retry_limit=limit,
        gateway_retries=rounds,
        faults=tuple(sorted(faults(story, called, PREFILL in seated).items())),
        counted=story.more is not None and story.more is not True,
        malformed=_is_malformed(story),
        blamed=_indices(called, lambda name: bool(others) and everybody.fails_others(name, about)),
        spared=() if _is_operated(story) else _indices(called, spared(story)),
        done_for=_indices(called, lambda name: _is_done_for(story, name)),
        used=_used(story, called, worlds, kept) if collapsed else (),
        billed=None if story.more is None and story.is_billed else story.is_billed,
    )
    too_often = retries > worlds.most_retries or (rounds > 0 and sent > (rounds + 1) * (limit + 1))
    return Case(
        name=about,
        system=worlds.of(shape),
        logs=_Writing(story, called, kept).logs(),
        complete=_complete(story, called),
        called={name: log for log, name in called.items()},
        missing=tuple(_missing(story, too_often, apart=PREFILL in seated)),
        ended=_is_ended(story),
        stopped={called.get(who, who): place for who, place in story.stopped.items()},
        still_open=story.standing,
        numbered=kept.originals,
        key=(worlds, shape),
    )


def _retry_limit(story: Story, worlds: Worlds) -> int:
    """How often the request may be sent again."""
    told = whole(story.fact("asked", "retry-limit"))
    if told is None:
        told = story.everybody.retry_limit
    return worlds.retry_limit if told is None else max(told, 0)


def _most_retries(story: Story, limit: int) -> int:
    """How many retries matter: no more than there were, where that is known."""
    return len(story.dispatches) if story.are_dispatches_known else min(limit, MOST_RETRIES)


def _others(story: Story, worlds: Worlds, limit: int) -> int:
    """How many workers matter that the request is not known to have had to do with: any of them
    where nobody wrote down which those are; one where it failed, and was not sent again as often
    as it may be, or may have been sent back to a worker that failed it.
    """
    if not story.are_dispatches_known:
        return MOST_OTHERS
    if not story.has_failed:
        return 0
    ended = any(seen.kind == "error" for seen in story.client) or not story.client
    return int(
        (ended and len(story.dispatches) <= limit) or not worlds.protocol.exclude_failed_workers
    )


def _is_operated(story: Story) -> bool:
    """Whether it was written down what was done to workers."""
    return "crash" in story.everybody.complete.get(OPERATOR, NOBODY)


def _indices(called: Mapping[str, str], test: Callable[[str], bool]) -> tuple[int, ...]:
    return tuple(index for index, name in enumerate(called) if test(name))


def _is_done_for(story: Story, worker: str) -> bool:
    """Whether a worker is known to have died for good, and to have got the request once at most."""
    deeds = [noted.observation.kind for noted in story.deeds([worker])]
    dead = "crash" in deeds and "restart" not in deeds
    return story.are_dispatches_known and dead and story.sent_to.count(worker) <= 1


def _is_malformed(story: Story) -> bool:
    """Whether the request was refused before anything was generated."""
    first = [values.get("error") for values in story.failed[:1]]
    return first == ["request-refused"] and not story.tokens


def _complete(story: Story, called: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    named = {CLIENT: CLIENT, FRONTEND: FRONTEND, OPERATOR: OPERATOR, **called}
    return frozenset(
        (name, kind) for who, name in named.items() for kind in story.written_whole(who)
    )


def _missing(story: Story, too_often: bool, apart: bool) -> Iterator[str]:
    """What there is not of a request, in words, so that nothing is accepted."""
    for who, (kinds, *_) in NEEDED.items():
        lacking = kinds - story.written_whole(who)
        if lacking and story.is_unnamed(who):
            yield UNNAMED[who].format(file=_file(story, who)) + _candidates(story, who)
        elif lacking:
            yield _lacking(story, who, lacking)
    if "operator" in story.everybody.spoilt:
        yield "whole log of the operator: some of what was done to workers could not be read"
    if too_often:
        yield "room in a world for a request that was sent as often as this one"
    if apart and [seen.kind for seen in story.frontend] == ["over"]:
        # In the model a request is prefilled before anybody looks for who decodes.
        yield "a word of why the request was turned away before it was sent to anybody"


def _lacking(story: Story, who: str, lacking: frozenset[str]) -> str:
    """What is missing of a witness, and what would mend it: a file, or a word of the mapping."""
    kinds, what, unknown = NEEDED[who]
    claimed = story.everybody.claims.get(who)
    names = ", ".join(sorted(lacking))
    if claimed is not None and who in story.of and not lacking <= claimed:
        names = ", ".join(sorted(lacking - claimed))
        how = f"complete: {{witness: {who}, kinds: [{', '.join(sorted(kinds | claimed))}]}}"
        return f"claim of the mapping that every {names} of the {who} is there ({how})"
    if who in story.of and story.complete(who):
        return f"word that every {names} of the {who} is there (complete): {unknown}"
    return f"{what}{_file(story, who)}: {unknown}"


def _file(story: Story, who: str) -> str:
    names = story.everybody.files.get(who)
    return f" ({names})" if names else ""


def _candidates(story: Story, who: str) -> str:
    """Which requests of the frontend's log one without an id may be."""
    there = list(story.everybody.unclaimed) if who == FRONTEND else []
    if not there:
        return ""
    more = " or another" if len(there) > MOST_CANDIDATES else ""
    return (
        f"; perhaps it is {' or '.join(there[:MOST_CANDIDATES])}{more}, of which there is no "
        "stream of a client"
    )


def _is_ended(story: Story) -> bool:
    """Whether the client was told that nothing more comes, or went."""
    return any(seen.kind in ("end", "left") for seen in story.client)


# -- numbers ----------------------------------------------------------------------------------


def _numbers(story: Story, called: Mapping[str, str], worlds: Worlds, collapsed: bool) -> Numbers:
    """Which positions are kept: all of them, where tokens have none and may come twice."""
    tokens = [seen for seen in story.tokens if not story.is_foreign(seen)]
    labelled = all("position" in seen.values for seen in tokens)
    near: Iterable[int] = range(min(story.most, sum(map(len, story.of.values()))) + 1)
    if collapsed and (labelled or worlds.is_plain):
        around = tokens[story.max_tokens - 1 : story.max_tokens + 1]
        near = [int(seen.values["position"]) for seen in around if labelled]
        near += _turns(story)
    logs = (merged(story, called), *story.workers.values())
    counts = [story.length, story.max_tokens, *_counts(story)]
    return numbers([list(_positions(story, log)) for log in logs], counts, near)


def _used(
    story: Story, called: Mapping[str, str], worlds: Worlds, kept: Numbers
) -> tuple[int, ...]:
    """Of each attempt but the last, how far the client was when the request was sent again; nothing
    where workers wrote down what else they emitted.
    """
    known = story.are_dispatches_known and worlds.resumes
    if not known or story.workers or any(map(story.complete, called)):
        return ()
    counts = story.resent[1:]
    if None in counts:
        return ()
    return tuple(kept.of(count) for count in counts if count is not None)


def _turns(story: Story) -> Iterator[int]:
    """The positions from which on something else is said beside the tokens."""
    for index, (before, seen) in enumerate(pairwise(story.tokens), 1):
        if before.aside != seen.aside:
            yield int(seen.values.get("position", index))


def _positions(story: Story, log: Iterable[Noted]) -> Iterator[int | None]:
    """The position of each token of a log, by their order where they have none; None for others."""
    following = 0
    for noted in log:
        seen = noted.observation
        if seen.kind == "started":
            following = int(seen.values.get("start", following))
        if seen.kind not in TOKENS or story.is_foreign(seen):
            yield None
            continue
        position = int(seen.values.get("position", following))
        following = position + 1
        yield position


def _counts(story: Story) -> Iterator[int]:
    """The numbers of tokens that anybody tells."""
    for notes in story.of.values():
        for noted in notes:
            seen = noted.observation
            if seen.kind not in TOKENS:
                for values in (seen.values, seen.aside):
                    yield from (int(values[name]) for name in NUMBERS if name in values)


# -- logs -------------------------------------------------------------------------------------


def merged(story: Story, called: Mapping[str, str]) -> list[Noted]:
    """What the client wrote, with what was done to workers in between, if they had one clock."""
    return _between(story.of.get(CLIENT, []), story.deeds(called))


def _between(own: list[Noted], others: Iterable[Noted]) -> list[Noted]:
    """A log, with what others wrote in between by the same clock."""
    there = [noted for noted in others if _one_clock(own, noted)]
    if not there or not _in_order(own) or not _in_order(there):
        return own
    return sorted((*own, *there), key=lambda noted: noted.observation.time or 0.0)


def _one_clock(own: Sequence[Noted], noted: Noted) -> bool:
    return bool(own) and noted.clock == own[0].clock


def _in_order(notes: Sequence[Noted]) -> bool:
    times = [noted.observation.time for noted in notes]
    return None not in times and times == sorted(time for time in times if time is not None)


@frozen(eq=False)
class _Writing:
    """The logs of a request, under the names of its world."""

    story: Story
    called: Mapping[str, str]
    kept: Numbers

    def logs(self) -> tuple[tuple[Observation, ...], ...]:
        """Each log that says anything, in its order, without the tokens that are taken out."""
        story = self.story
        client = merged(story, self.called)
        deeds, listed = story.deeds(self.called), story.done_to(self.called, DISCOVERY)
        frontend = _between(story.of.get(FRONTEND, []), listed)
        there = {id(noted.observation) for log in (client, frontend) for noted in log}
        apart = (
            [noted for noted in notes if id(noted.observation) not in there]
            for notes in (deeds, listed)
        )
        found = (client, frontend, *story.workers.values(), *apart)
        return tuple(log for notes in found if (log := self._log(notes)))

    def _log(self, notes: Sequence[Noted]) -> tuple[Observation, ...]:
        written, given = list[Observation](), 0
        for noted, position in zip(notes, _positions(self.story, notes), strict=True):
            seen = noted.observation
            if position is None or position in self.kept:
                aside = {name: v for name, v in seen.aside.items() if self._is_known(name, v)}
                if seen.kind == "token":
                    aside["number"] = given
                written.append(self._observation(seen, aside))
            given += seen.kind == "token"
        return tuple(written)

    def _is_known(self, name: str, value: Value) -> bool:
        """Whether a worker that is told of beside can be held against where the request was."""
        if name not in WORKERS:
            return True
        everybody, sent = self.story.everybody, self.story.sent_to
        known = str(value) in everybody.known or everybody.called(value) in sent
        return known and bool(sent)

    def _observation(self, seen: Observation, aside: Mapping[str, Value]) -> Observation:
        values = self._values(seen.values)
        if seen.kind == "failed":
            _unsure(values)
        if seen.kind == "usage" and self.story.more is not None:
            values["more"] = self.story.more
        if seen.kind == "token" and self.story.is_foreign(seen):
            values["position"] = NOWHERE
        elif seen.kind == "token":
            values.pop("text", None)
        if aside.get("reason") != "length":  # of all others the model knows no more than that
            aside = {name: value for name, value in aside.items() if name != "reason"}
        witness = self.called.get(self.story.everybody.called(seen.witness), seen.witness)
        return Observation(witness, seen.kind, values, self._values(aside), seen.place, seen.time)

    def _values(self, values: Mapping[str, Value]) -> dict[str, Value]:
        return {name: self._value(name, v) for name, v in values.items() if name not in BESIDE}

    def _value(self, name: str, value: Value) -> Value:
        if name in WORKERS:
            log = self.story.everybody.called(value)
            return self.called.get(log, log)
        return self.kept.of(int(value)) if name in NUMBERS else value


def _unsure(values: dict[str, Value]) -> None:
    """Leave out an error that says less than it seems to, or that the model has no name for."""
    error = str(values.pop("error", ""))
    error = _SAME.get(error, error)
    if error not in _UNTOLD and error in ERRORS.values():
        values["error"] = error
