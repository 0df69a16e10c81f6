"""An outcome in words."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.checker.drive.outcome import Outcome
from rackproof.checker.drive.prediction import Prediction
from rackproof.checker.verdicts import counted
from rackproof.scenarios.live.plan import Plan
from rackproof.scenarios.live.trial import Probe


def plan_in_words(prediction: Prediction, plan: Plan) -> Iterator[str]:
    """What is predicted, and what is going to be done."""
    yield f"{prediction.scenario.path}: {prediction.scenario.name}"
    if prediction.prop is None:
        yield "  predicted: no property is violated"
    for sentence in prediction.broken or ([prediction.prop] if prediction.prop else []):
        yield f"  predicted: {prediction.prop}: {sentence}"
    yield f"  deployment: a frontend and {len(plan.engines)} workers ({', '.join(plan.engines)})"
    for line in plan.mapping:
        yield f"    {line}"
    yield "  done to it:"
    yield from (f"    {action}" for action in plan.actions)
    if not plan.actions:
        yield "    nothing: the run has no fault"


def outcome_in_words(outcome: Outcome) -> Iterator[str]:
    """What was seen, and the verdict."""
    seen, stream = outcome.seen, outcome.seen.stream
    if seen.shared is not None:
        yield (
            f"  note: no network of its own ({seen.shared}); the event sockets of the workers "
            "listen on every address of this machine"
        )
    yield "  took effect:"
    yield from (f"    {effect}" for effect in seen.effects)
    if seen.missed is not None:
        yield f"    not done: the deployment did not come to {seen.missed}"
    elif not seen.effects:
        yield "    nothing was done"
    yield "  seen:"
    told = f"HTTP {stream.status}, {len(stream.tokens)} of {stream.most} tokens"
    end = f"finish {stream.finish}" if stream.finish else "no finish reason"
    error = f", error {stream.error}" if stream.error else ""
    yield f"    the client: {told}, {end}{error}; longest wait {stream.gap:.2f} s"
    for number, route in enumerate(seen.routes):
        yield f"    attempt {number} at {route.worker.name}: {route.error or 'no error'}"
    yield from (f"    {line}" for line in _probes(seen.probes))
    for fact in outcome.facts:
        yield f"    {fact.prop} is broken: {fact.sentence}"
    counts = ", ".join(f"{count} {answer}" for answer, count in outcome.held.answers.items())
    yield f"  held against the model: {counts or 'nothing'} (rackproof conform tells more)"
    for prop, sentence in outcome.held.broken.items():
        yield f"    {prop} is broken: {sentence}"
    yield from (f"    {line}" for line in (*outcome.held.rejected, *outcome.held.doubts))
    yield f"  recorded in {seen.folder} ({seen.seconds:.1f} s)"
    prop = f"{outcome.prediction.prop}: " if outcome.prediction.prop else ""
    yield f"{prop}{outcome.verdict.value}"


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
