"""How a world moves: plain functions from a world and a few identifiers to the next world, or None.

::

    @transition(fault, worker=Workers)
    def crash(world: World, worker: int) -> World | None:
        '''{worker} dies: its memory is gone, and nobody is told.'''
        ...

The first sentence of the docstring is what a trace says when the transition fires.
"""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Generic, ParamSpec, TypeVar

from attrs import field, frozen

from rackproof.model.kernel.domains import Identifiers
from rackproof.model.kernel.errors import ModelError

P = ParamSpec("P")
S = TypeVar("S")


class Kind(Enum):
    """Who makes a transition happen."""

    STEP = "step"
    """The protocol itself: it happens sooner or later where it stays possible."""
    TIMER = "timer"
    """A time-out or a periodic sweep of the protocol: it happens sooner or later too."""
    FAULT = "fault"
    """Something breaks, or is slower than the protocol counts on; never owed to anyone."""
    CLIENT = "client"
    """The client's choice: to leave, to send."""
    ENVIRONMENT = "environment"
    """The world outside: load that changes, a network that loses what it may lose."""


step: Final = Kind.STEP
timer: Final = Kind.TIMER
fault: Final = Kind.FAULT
client: Final = Kind.CLIENT
environment: Final = Kind.ENVIRONMENT


class Fairness(Enum):
    """What a transition that stays possible is owed."""

    NONE = "none"
    WEAK = "weak"
    STRONG = "strong"


@frozen(eq=False)
class Transition(Generic[P, S]):
    """A named transition; calling it calls the plain function.

    ``duration`` names the cost that the performance model charges for it.
    """

    function: Callable[P, S]
    kind: Kind
    parameters: tuple[tuple[str, Identifiers], ...]
    fairness: Fairness
    duration: str | None = field(default=None)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def text(self) -> str:
        """The docstring, whole; its first paragraph is the words of a trace."""
        return inspect.cleandoc(self.function.__doc__ or self.name.replace("_", " "))

    @property
    def sentence(self) -> str:
        """The first paragraph of the docstring, on one line, with ``{parameter}`` placeholders."""
        return " ".join(self.text.split("\n\n", 1)[0].split())

    @property
    def where(self) -> str:
        """File and line of the function; of the one that it wraps, if any."""
        code = inspect.unwrap(self.function).__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> S:
        """Run the plain function."""
        return self.function(*args, **kwargs)


def transition(
    kind: Kind,
    *,
    fairness: Fairness | None = None,
    duration: str | None = None,
    **parameters: Identifiers,
) -> Callable[[Callable[P, S]], Transition[P, S]]:
    """Declare a transition: its kind, and the sort of each identifier it takes.

    Steps and timers are weakly fair unless told otherwise; faults, clients and the environment owe
    nothing.
    """
    if not isinstance(kind, Kind):
        raise ModelError(f"@transition needs a kind (step, timer, fault, ...), not {kind!r}")
    owed = fairness or (Fairness.WEAK if kind in (step, timer) else Fairness.NONE)

    def declare(function: Callable[P, S]) -> Transition[P, S]:
        check_parameters(function, parameters)
        return Transition(function, kind, tuple(parameters.items()), owed, duration)

    return declare


def check_parameters(function: Callable[..., Any], parameters: dict[str, Identifiers]) -> None:
    """Raise ``ModelError`` unless the function takes a world and just these identifiers."""
    code = function.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}: {function.__name__}"
    for name, sort in parameters.items():
        if not isinstance(sort, Identifiers):
            raise ModelError(f"{where}: {name}={sort!r} is not a sort of identifiers")
    taken = list(inspect.signature(function).parameters)[1:]
    if taken != list(parameters):
        raise ModelError(
            f"{where} takes {', '.join(taken) or 'nothing'} after the world, but is declared with "
            f"{', '.join(parameters) or 'nothing'}"
        )
    for placeholder in _placeholders(function.__doc__ or "", where):
        if placeholder not in parameters:
            raise ModelError(
                f"{where}: its docstring says {{{placeholder}}}, which it does not take"
            )


def _placeholders(text: str, where: str) -> list[str]:
    try:
        return [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise ModelError(f"{where}: a brace of its docstring is no placeholder: {error}") from None
