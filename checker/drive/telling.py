"""An outcome in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rackproof.checker.drive.outcome import Outcome
from rackproof.checker.drive.prediction import Prediction
from rackproof.checker.verdicts import counted
from rackproof.scenarios.live.plan import Plan
from rackproof.scenarios.live.trial import Had, Probe

NOTICED = ("notice", "stream_timeout", "cancel_pending", "refuse")
"""Steps by which a frontend gives an attempt up."""


def plan_in_words(prediction: Prediction, plan: Plan) -> Iterator[str]:
    """What is predicted, and what is going to be done."""
    yield f"{prediction.scenario.path}: {prediction.scenario.name}"
    if prediction.prop is None:
        yield "  predicted: no property is violated"
    for sentence in prediction.broken or ([prediction.prop] if prediction.prop else []):
        yield f"  predicted: {prediction.prop}: {sentence}"
    kinds = ", ".join(
        f"{name} {engine}" for name, engine in zip(plan.settings.names, plan.engines, strict=True)
    )
    yield f"  deployment: a frontend and {counted(len(plan.engines), 'worker')} ({kinds})"
    for line in plan.mapping:
        yield f"    {line}"
    yield "  done to it:"
    yield from (f"    {action}" for action in plan.actions)
    if not plan.actions:
        yield "    nothing: the run has no fault"


def outcome_in_words(outcome: Outcome) -> Iterator[str]:
    """What was seen, and the verdict."""
    seen = outcome.seen
    if seen.shared is not None:
        yield (
            f"  note: no network of its own ({seen.shared}); the event sockets of the workers "
            "listen on every address of this machine"
        )
    yield "  the run, step by step, and what was seen of it:"
    yield from (f"    {line}" for line in beside(outcome))
    if seen.missed is not None:
        yield f"    not done: the deployment did not come to {seen.missed}"
    yield "  seen in the end:"
    for had in seen.requests:
        yield from (f"    {line}" for line in _had(had))
    yield from (f"    {line}" for line in _probes(seen.probes))
    for fact in outcome.facts:
        yield f"    {fact.prop} is broken: {fact.sentence}"
    counts = ", ".join(f"{count} {answer}" for answer, count in outcome.held.answers.items())
    yield f"  held against the model: {counts or 'nothing'}; all of it is told by"
    yield f"    {outcome.held.again}"
    if outcome.held.broken and not outcome.held.rejected:
        yield "    which says FAILED: a defect that was predicted is a defect"
    for prop, sentence in outcome.held.broken.items():
        yield f"    {prop} is broken: {sentence}"
    yield from (f"    {line}" for line in (*outcome.held.rejected, *outcome.held.doubts))
    yield from (f"    {line}" for line in outcome.held.migrations)
    yield f"  recorded in {seen.folder} ({seen.seconds:.1f} s)"
    tried = outcome.prediction.prop
    yield f"{f'{tried}: ' if tried else ''}{outcome.verdict.value}"
    yield from (f"{name}: {told}" for name, told in outcome.confirmed.items() if name != tried)


def _had(had: Had) -> Iterator[str]:
    """What a request came to."""
    stream = had.stream
    told = f"HTTP {stream.status}" if stream.status is not None else "no answer"
    told += f", {len(stream.tokens)} of {stream.most} tokens"
    end = f"finish {stream.finish}" if stream.finish else "no finish reason"
    error = f", error {stream.error}" if stream.error else ""
    yield f"the client of {had.name}: {told}, {end}{error}; longest wait {stream.gap:.2f} s"
    for route in had.routes:
        does = {"p": "prefill at ", "d": "decode at "}.get(route.worker.name[0], "sent to ")
        yield f"  {does}{route.worker.name}: {route.error or 'no error'}"


def beside(outcome: Outcome) -> Iterator[str]:
    """Each step of the run, with what was seen of it behind an arrow; most are not seen from
    outside.
    """
    trace, seen = outcome.prediction.trace, outcome.seen
    effects = {a.step: e for a, e in zip(outcome.plan.actions, seen.effects, strict=False)}
    planned = {action.step for action in outcome.plan.actions}
    sights = _Sights(seen.requests)
    for number, step in enumerate(trace.steps, 1):
        name, given = step.firing.transition.name, step.firing.named(trace.system)
        if number in planned:
            told = str(effects[number]) if number in effects else "not done"
        else:
            told = sights.of(name, given.get("request", ""))
        words = " ".join(filter(None, (name.replace("_", "-"), *given.values())))
        yield f"{number:3}. {words}{f'  ->  {told}' if told else ''}"


class _Sights:
    """What was seen of each request, told one after the other as the run comes to it."""

    def __init__(self, requests: Sequence[Had]) -> None:
        self._had = {had.name: had for had in requests}
        self._sent, self._failed = Counter[str](), Counter[str]()

    def of(self, name: str, request: str) -> str:
        """What is known of a step of this name of a request; nothing, where it cannot be seen."""
        had = self._had.get(request)
        if had is None:
            return ""
        if name.startswith("dispatch"):
            place, self._sent[request] = self._sent[request], self._sent[request] + 1
            there = len(had.routes) > place
            return f"to {had.routes[place].worker.name}" if there else "not seen"
        if name in NOTICED:
            errors = [route for route in had.routes if route.error]
            place, self._failed[request] = self._failed[request], self._failed[request] + 1
            there = len(errors) > place
            return f"{errors[place].worker.name}: {errors[place].error}" if there else "not seen"
        if name == "receive_finish":
            finish = had.stream.finish
            return f"finish {finish}" if finish else "not seen"
        return ""


def _probes(probes: tuple[Probe, ...]) -> Iterator[str]:
    """The requests afterwards, those with the same outcome together."""
    start = 0
    for number, probe in enumerate(probes):
        following = probes[number + 1] if number + 1 < len(probes) else None
        if following is None or _kind(following) != _kind(probe):
            first = probes[start]
            when = f"{first.seconds:g} s"
            when += f" to {probe.seconds:g} s" if number > start else ""
            stopped = f"; sent to {probe.stopped}, which was stopped" if probe.stopped else ""
            yield (
                f"{when} later: HTTP {probe.status}; /health says {probe.health}, "
                f"{counted(probe.listed, 'worker')} listed, {probe.alive} at work{stopped}"
            )
            start = number + 1


def _kind(probe: Probe) -> tuple[object, ...]:
    return probe.status, probe.succeeded, probe.health, probe.listed, probe.alive, probe.stopped
