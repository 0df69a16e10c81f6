"""What became of a request, told as of an incident: what its client got, and each attempt.

This is read off the records alone; whether the model has such a run is another question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve, frozen

from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import FRONTEND, SENDS
from rackproof.model.kernel import Observation
from rackproof.scenarios.recorded.everybody import FACTS, Everybody
from rackproof.scenarios.recorded.migrations import FAULTS, NOTHING, Migration
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.recorded.story import whole

MOST_ATTEMPTS: Final = 6
"""Attempts that are told one by one."""


@frozen
class Attempt:
    """One attempt: where it was sent, the error by which it ended, and what was done there.

    done: whether the frontend wrote that it was done.
    """

    number: int
    worker: str
    error: str | None
    fault: str | None
    delivered: int | None
    done: bool = False

    def __str__(self) -> str:
        """As in ``attempt 0 at w0: disconnected (crash of w0)``."""
        told = f"attempt {self.number} at {self.worker}"
        if self.error is None and self.done:
            return f"{told}: done"
        fault = f"{self.fault} of {self.worker}" if self.fault in FAULTS else None
        if self.error is None:
            return f"{told}: {fault}" if fault else told
        after = "" if self.delivered is None else f" after {_tokens(self.delivered)}"
        why = f" ({fault})" if fault else ""
        return f"{told}: {self.error}{after}{why}"


@frozen
class Course:
    """What became of a request.

    had: how many tokens its client got; most: how many it allowed. end: how that ended, in words.
    well: whether it did so with a finish reason, or by its client's will. attempts: those that are
    known. unsent: why it was not sent again after the last one failed; None where it was, or
    needed not be.
    """

    had: int
    most: int | None
    end: str
    well: bool
    attempts: tuple[Attempt, ...]
    unsent: str | None

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to tell."""
        within = self.most is None or self.had <= self.most
        return self.well and within and not any(one.error for one in self.attempts)

    def __str__(self) -> str:
        """In a line."""
        shown = self.attempts[:MOST_ATTEMPTS]
        left = len(self.attempts) - len(shown)
        more = [f"{left} more attempts"] if left else []
        unsent = [self.unsent] if self.unsent else []
        return "; ".join([self.end, *map(str, shown), *more, *unsent])


def course(
    own: Sequence[Noted],
    everybody: Everybody,
    failures: Sequence[Migration],
    retry_limit: int | None,
    faults: Mapping[str, Sequence[Noted]] = NOTHING,
) -> Course | None:
    """What became of a request; None where no client wrote of it.

    own: what was noted of it. failures: its attempts that ended in an error. retry_limit: where
    that is known. faults: what was done to each worker, by its name.
    """
    client = _by(own, CLIENT)
    asked = [one.observation.values for one in own if _is_asked(one)]
    if not client and not asked:
        return None
    most = next((whole(values.get("max-tokens")) for values in asked), None)
    had = sum(seen.kind == "token" for seen in client)
    end, well = _end(client, had, most)
    attempts = tuple(_attempts(_by(own, FRONTEND), everybody, failures))
    if attempts and not well:
        attempts = (*attempts[:-1], _left(attempts[-1], faults))
    unsent = None if well else _unsent(attempts, failures, retry_limit)
    return Course(had, most, end, well, attempts, unsent)


def _by(own: Sequence[Noted], witness: str) -> list[Observation]:
    return [one.observation for one in own if one.observation.witness == witness]


def _is_asked(one: Noted) -> bool:
    return one.observation.witness == FACTS and one.observation.kind == "asked"


def _end(client: Sequence[Observation], had: int, most: int | None) -> tuple[str, bool]:
    """How the client's stream ended, and whether that is well."""
    there = {seen.kind: seen for seen in client}
    after = f"after {_tokens(had) if most is None else f'{had} of {_tokens(most)}'}"
    if "error" in there:
        code = there["error"].aside.get("code")
        behind = ", behind a finish reason" if "finish" in there else ""
        return f"error{'' if code is None else f' {code}'} {after}{behind}", False
    if "finish" in there:
        reason = there["finish"].aside.get("reason")
        return f"finished{'' if reason is None else f' ({reason})'} {after}", True
    if "left" in there:
        return f"the client left {after}", True
    if "end" in there:
        return f"ended {after}, with neither a finish reason nor an error", False
    return f"no end of it is recorded, {after}", False


def _attempts(
    frontend: Sequence[Observation], everybody: Everybody, failures: Sequence[Migration]
) -> Iterator[Attempt]:
    """Each attempt by each worker it was sent to, in the order in which it was."""
    failed = {(one.attempt, one.worker): one for one in failures}
    done = {_sent(seen, everybody) for seen in frontend if seen.kind == "done"}
    for seen in frontend:
        if seen.kind in SENDS:
            sent = _sent(seen, everybody)
            why = failed.pop(sent, None)
            yield Attempt(*sent, None, None, None, sent in done) if why is None else _failed(why)
    yield from map(_failed, failed.values())


def _left(last: Attempt, faults: Mapping[str, Sequence[Noted]]) -> Attempt:
    """The last attempt, with what was done to its worker where nobody wrote how it ended."""
    there = [one.observation.kind for one in faults.get(last.worker, ())]
    if last.done or last.error is not None or not there:
        return last
    return evolve(last, fault=there[-1])


def _sent(seen: Observation, everybody: Everybody) -> tuple[int, str]:
    """Which attempt is meant, and at which worker."""
    number = whole(seen.values.get("attempt")) or 0
    return number, everybody.called(seen.values.get("worker", "a worker that is not named"))


def _failed(why: Migration) -> Attempt:
    return Attempt(why.attempt, why.worker, why.error, why.fault, why.delivered)


def _unsent(
    attempts: Sequence[Attempt], failures: Sequence[Migration], retry_limit: int | None
) -> str | None:
    """Why a request was not sent again, as far as anybody tells."""
    if not attempts or attempts[-1].error is None:
        return None
    if retry_limit is not None and len(failures) > retry_limit:
        return f"not sent again: the retry limit is {retry_limit}"
    if attempts[-1].error == "request-refused":
        return "not sent again: it was refused"
    return "not sent again, and no log says why"


def _tokens(number: int) -> str:
    return f"{number} token{'' if number == 1 else 's'}"
