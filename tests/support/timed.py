"""Runs of the world with what each step takes, for tests of its timing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from rackproof.model.kernel import Charge, Duration, Firing, System
from rackproof.model.kernel.timing import Bound, Timing
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

Step = tuple[Any, ...]


def world(**parts: Any) -> System:
    """The bundled world with these parts of a ``Bundled``."""
    return bundled_setting(Bundled(**parts), Path()).system


def timing_of(system: System) -> Timing:
    assert system.timing is not None
    return system.timing


def firing_of(system: System, name: str, *arguments: int) -> Firing:
    transitions = {transition.name: transition for transition in system.transitions}
    return Firing(transitions[name], arguments)


def duration_of(system: System, firing: Firing) -> Duration:
    assert firing.transition.duration is not None
    return timing_of(system).durations[firing.transition.duration]


def bound(system: System, state: Any, firing: Firing, terms: Bound) -> float:
    quantities = timing_of(system).quantities
    times = (n * quantities[name].seconds(state, firing) for name, n in terms.times.items())
    return terms.seconds + sum(times)


def span(system: System, state: Any, firing: Firing) -> tuple[float, float]:
    """The least and the most of an instance that becomes possible in a state."""
    duration = duration_of(system, firing)
    least = bound(system, state, firing, duration.least)
    most = duration.most
    return least, float("inf") if most is None else bound(system, state, firing, most)


@frozen
class Moment:
    """A step of a run, the state before it and the state behind."""

    before: Any
    firing: Firing
    after: Any


def moments(system: System, steps: list[Step]) -> Iterator[Moment]:
    """A run; each step must be possible."""
    state = system.initial
    for name, *arguments in steps:
        firing = firing_of(system, name, *arguments)
        after = firing.apply(system, state)
        assert after is not None, f"{name} {arguments} is not possible"
        yield Moment(state, firing, after)
        state = after


def charged(system: System, steps: list[Step]) -> Charge:
    """What a run costs."""
    charge = timing_of(system).charge
    return sum((charge(m.before, m.firing, m.after) for m in moments(system, steps)), Charge())


def tagged(system: System, steps: list[Step]) -> list[str]:
    """What a run tells of its path, in order."""
    tags = timing_of(system).tags
    return [tag for m in moments(system, steps) for tag in tags(m.before, m.firing, m.after)]


def plain_pair(request: int, attempt: int, decode: int, start: int, end: int) -> list[Step]:
    """An attempt with a prefill worker 0: from its dispatch up to its last token and finish."""
    block = decode  # worker 0 has block 0, and each decode worker its own behind it
    return [
        ("dispatch", request, 0),
        ("prefill", request, attempt, 0, 0),
        ("dispatch_decode", request, attempt, decode),
        ("admit", request, attempt, decode, block),
        ("land", request, attempt, 0, block),
        ("load_ends", request, attempt, block),
        *tokens(request, attempt, decode, end - start),
        ("finish", request, attempt, decode),
        ("receive_finish", request, attempt),
    ]


def tokens(request: int, attempt: int, worker: int, count: int) -> list[Step]:
    """So many tokens, each emitted and received."""
    each: list[Step] = [("emit", request, attempt, worker), ("receive", request, attempt)]
    return each * count
