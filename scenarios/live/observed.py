"""Which properties a live run broke, by what anybody could see of it from outside.

That is less than ``conform`` finds from the logs, and needs no model: a token that came twice came
twice, whatever the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from rackproof.scenarios.live.client import FIRST
from rackproof.scenarios.live.plan import Plan
from rackproof.scenarios.live.trial import Had, Seen

NOT_THEIRS: Final = "cannot_connect"
"""The error that a frontend holds against a worker that it takes for unreachable."""


@frozen
class Fact:
    """A property of the catalogue, and what is so instead."""

    prop: str
    sentence: str


def broken(plan: Plan, seen: Seen) -> list[Fact]:
    """The properties that were seen to be broken."""
    told = [
        (prop, f"{had.name}: {sentence}" if len(seen.requests) > 1 else sentence)
        for had in seen.requests
        for prop, sentence in _of(plan, seen, had)
    ]
    return [Fact(prop, sentence) for prop, sentence in (*told, *_aftermath(seen))]


Told = Iterator[tuple[str, str]]


def _of(plan: Plan, seen: Seen, had: Had) -> Told:
    """What went wrong with a request."""
    yield from _tokens(had)
    yield from _order(had, seen.exact)
    yield from _ending(had, plan.settings.length or plan.tokens, seen.patience)
    yield from _usage(had, seen.prompt)
    yield from _attempts(had, plan.settings.migration_limit)


def _tokens(had: Had) -> Told:
    stream = had.stream
    count, most = len(stream.tokens), stream.most
    if count > most:
        yield "max-tokens-kept", f"the client got {count} tokens for a limit of {most}"
    if stream.late:
        yield "nothing-after-finish", f"{len(stream.late)} tokens came after the finish reason"


def _order(had: Had, exact: bool) -> Told:
    """What is wrong with the positions of the tokens, where these can be read off them."""
    positions = [token - FIRST for token in had.stream.tokens] if exact else []
    twice = sorted(place for place, times in Counter(positions).items() if times > 1)
    lacking = sorted(set(range(max(positions, default=-1) + 1)) - set(positions))
    if twice:
        first = f"the first at position {twice[0]}"
        yield "no-duplicate-tokens", f"{len(twice)} tokens came twice, {first}"
    if lacking:
        first = f"the first at position {lacking[0]}"
        yield "no-lost-tokens", f"{len(lacking)} tokens are missing, {first}"


def _ending(had: Had, whole: int, patience: float) -> Told:
    stream = had.stream
    count = len(stream.tokens)
    if stream.recanted or stream.late:
        came = f"{len(stream.late)} tokens" if stream.late else f"an error ({stream.error})"
        tries = f"there were {len(had.routes)} attempts"
        yield "terminal-latch", f"behind the finish reason came {came}: {tries}"
    if not had.ended:
        yield "progress", f"the client still waits after {patience:g} s, with {count} tokens"
    elif stream.end == "left" or stream.succeeded:
        return
    elif count >= whole:
        how = f"an error ({stream.error})" if stream.error else "an end without a finish reason"
        yield "complete-output-succeeds", f"the client has all {whole} tokens, and then {how}"
    elif stream.error is None:
        yield "clear-failure", f"the stream ended after {count} tokens, with no finish and no error"


def _usage(had: Had, prompt: int | None) -> Told:
    usage, count = had.stream.usage, len(had.stream.tokens)
    if usage is None:
        return
    asked, given = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if prompt is not None and asked != prompt:
        yield "usage-exact", f"the usage says {asked} prompt tokens for a prompt of {prompt}"
    elif given != count:
        yield "usage-exact", f"the usage says {given} tokens where the client got {count}"


def _attempts(had: Had, limit: int) -> Told:
    failed = list[str]()
    for route in had.routes:
        if route.worker.name in failed:
            again = f"{route.worker.name} got the request again after it had failed it"
            yield "retries-go-elsewhere", again
            break
        failed += [route.worker.name] if route.error else []
    for letter in sorted({route.worker.name[0] for route in had.routes}):
        tries = sum(route.worker.name[0] == letter for route in had.routes)
        if tries > limit + 1:
            many = f"there were {tries} attempts for a limit of {limit} retries"
            yield "bounded-retries", many


def _aftermath(seen: Seen) -> Told:
    blamed = [
        route.worker.name
        for route in seen.routes
        if route.worker.name in seen.untouched and route.error == NOT_THEIRS
    ]
    if blamed and not seen.probes[0].succeeded:
        yield "no-blame-for-clients", _blamed(seen, blamed)
    sent = next((probe for probe in seen.probes if probe.stopped), None)
    if sent is not None:
        when = f"{sent.seconds:g} s after the end of the request"
        yield "no-untested-restore", f"{sent.stopped}, still stopped, was sent another one {when}"


def _blamed(seen: Seen, blamed: list[str]) -> str:
    """How the next client fared though workers were well."""
    first = seen.probes[0]
    well = next((probe.seconds for probe in seen.probes if probe.succeeded), None)
    last = seen.probes[-1].seconds if well is None else well
    until = "and nobody was served" if well is None else "and nobody was served before"
    return (
        f"{' and '.join(blamed)}, to which nothing was done, refused the request and counted as "
        f"{NOT_THEIRS}; the next client got HTTP {first.status} while /health said "
        f"{first.health}, {until} {last:g} s later"
    )
