"""How long things take: what turns a world without a clock into one whose runs can be timed.

The semantics are those of time Petri nets (Merlin 1974; Berthomieu and Diaz, IEEE TSE 17(3), 1991).
An instance of a transition (with its identifiers chosen) has a clock that starts when it becomes
possible, and again when it has fired and still is. It fires only once it was possible for the least
of its duration without a break, and time never passes beyond the most: by then it has fired, or
something else has made it impossible. What has no bound above is owed to nobody: faults, clients.
An instance whose bounds change in value while it is possible begins anew.

A lease that runs since long before anything could come of it has a clock of its own for the least
(``since``); the most always counts from when the transition became possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from rackproof.model.kernel.errors import ModelError
from rackproof.model.kernel.system import Firing


@frozen
class Quantity:
    """A time that durations are made of, such as the TTL of a lease or the transfer of a KV cache.

    value: in seconds; where it depends on the state, a function of the state in which an instance
    became possible and of that instance. chosen: an operator sets it (a time-out, an interval), so
    that a timing condition speaks of it by name.
    """

    name: str
    text: str
    value: float | Callable[[Any, Firing], float]
    source: str = ""
    chosen: bool = False

    def seconds(self, state: Any, firing: Firing) -> float:
        """The value for an instance that becomes possible in a state; never negative."""
        value = self.value(state, firing) if callable(self.value) else self.value
        if not value >= 0.0:
            raise ModelError(f"{self.name} is {value} s, and nothing takes less than no time")
        return value


@frozen
class Bound:
    """A linear expression: seconds, and so many times each quantity."""

    seconds: float = 0.0
    times: Mapping[str, float] = field(factory=dict)


@frozen
class Duration:
    """The least and the most that it takes from when a transition is possible until it fires.

    most: None where nothing makes it happen. since: what must have been so for the least of it
    without a break, of the state and the instance, where that is not that the transition was
    possible; it is so in every state in which the transition is.
    """

    name: str
    text: str
    least: Bound = Bound()
    most: Bound | None = None
    since: Callable[[Any, Firing], bool] | None = None


@frozen
class Charge:
    """What a firing costs, beside time."""

    bytes_moved: float = 0.0
    tokens_recomputed: float = 0.0
    joules: float = 0.0

    def __add__(self, other: Charge) -> Charge:
        """Both."""
        return Charge(
            self.bytes_moved + other.bytes_moved,
            self.tokens_recomputed + other.tokens_recomputed,
            self.joules + other.joules,
        )


def _nothing(before: Any, firing: Firing, after: Any) -> Charge:
    del before, firing, after
    return Charge()


def _untold(before: Any, firing: Firing, after: Any) -> tuple[str, ...]:
    del before, firing, after
    return ()


@frozen(eq=False)
class Timing:
    """What a world needs so that its runs can be timed and priced.

    durations: by the name that transitions give (``duration=``); a transition that gives none, or
    a name that is not there, takes any time if it is a fault, the client's or the environment's,
    and none at all otherwise. seen: of each client, what it has got so far, as a value that changes
    when it gets something. waiting: of each client, whether it still waits for something. charge:
    what a step costs. tags: what a step tells of the path that it is on (``crash mid-decode``,
    ``recovered by transfer``), so that paths can be put into classes. notes: what who reads the
    times has to know of them, such as what an abstraction leaves out; each a sentence.
    """

    quantities: Mapping[str, Quantity]
    durations: Mapping[str, Duration]
    seen: Callable[[Any], tuple[object, ...]]
    waiting: Callable[[Any], tuple[bool, ...]]
    clients: tuple[str, ...] = ()
    charge: Callable[[Any, Firing, Any], Charge] = _nothing
    tags: Callable[[Any, Firing, Any], tuple[str, ...]] = _untold
    notes: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        """Refuse bounds over quantities that do not exist."""
        for duration in self.durations.values():
            for bound in filter(None, (duration.least, duration.most)):
                for name in bound.times:
                    if name not in self.quantities:
                        raise ModelError(f"{duration.name} is made of {name!r}, which is unknown")
