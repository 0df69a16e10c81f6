"""How much may be explored again for one explanation."""

from __future__ import annotations

import time
from typing import Final

from attrs import define, field

SECONDS: Final = 20.0
STATES: Final = 200_000


class Cut(Exception):
    """A limit was reached before something could be told; its text says which."""


@define
class Bound:
    """A limit that begins when it is made: seconds in all, states at a time. whole: the seconds of
    what this is a part of, if it is one.
    """

    seconds: float = SECONDS
    states: int = STATES
    whole: float | None = None
    _began: float = field(init=False, factory=time.monotonic)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.seconds - (time.monotonic() - self._began)

    def check(self, states: int = 0) -> None:
        """Raise ``Cut`` where the time, or room for so many states, has run out."""
        if states > self.states:
            raise Cut(f"there are more than {self.states:,} states to look at")
        if self.left <= 0:
            raise Cut(self.reached)

    @property
    def reached(self) -> str:
        """That the time has run out, in words."""
        part = "" if self.whole is None else "its part of "
        return f"{part}the limit of {self.whole or self.seconds:g} s was reached"

    def until(self, share: float) -> Bound:
        """A bound that ends when this share of the whole has passed; a part keeps to its share."""
        left = max(0.0, self.left - (1 - share) * self.seconds)
        return Bound(left, self.states, self.whole or self.seconds)
