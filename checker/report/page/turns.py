"""Where beliefs and the truth part and meet: what changes of them from one state to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import frozen

from rackproof.model.kernel import Belief

Key = tuple[str, str, str, int]
"""Who believes what of whom; the last tells apart those that are alike in all of that."""


def keyed(beliefs: Sequence[Belief]) -> dict[Key, Belief]:
    """Beliefs by what is believed, whatever the truth; all of them."""
    seen = Counter[tuple[str, str, str]]()
    found = dict[Key, Belief]()
    for belief in beliefs:
        what = (belief.who, belief.subject, belief.believed)
        found[(*what, seen[what])] = belief
        seen[what] += 1
    return found


@frozen
class Turn:
    """A belief of which something changes. label: what that is: it is now mistaken, still mistaken
    as the truth has changed, no longer mistaken, or no longer held.
    """

    label: str
    belief: Belief
    words: str

    @property
    def is_new(self) -> bool:
        """Whether somebody is mistaken who was not before."""
        return self.label == NOW


NOW = "Now mistaken"


def turns(before: Sequence[Belief], after: Sequence[Belief]) -> tuple[Turn, ...]:
    """What changes of what is, or was, mistaken; what is mistaken now comes first."""
    found = sorted(_turns(keyed(before), keyed(after)), key=lambda turn: turn.label != NOW)
    return tuple(found)


def _turns(before: dict[Key, Belief], after: dict[Key, Belief]) -> Iterator[Turn]:
    for key, belief in after.items():
        old = before.get(key)
        was_mistaken = old is not None and not old.agrees
        if belief.agrees:
            if was_mistaken:
                yield Turn("No longer mistaken", belief, f"{_held(belief)}, and so it is.")
        elif not was_mistaken:
            yield Turn(NOW, belief, f"{_held(belief)}; in truth it {belief.truth}.")
        elif old is not None and old.truth != belief.truth:
            words = f"{_held(belief)}; the truth is now that it {belief.truth}."
            yield Turn("Still mistaken", belief, words)
    for key, belief in before.items():
        if key not in after and not belief.agrees:
            words = f"{belief.who} believed that {belief.subject} {belief.believed}."
            yield Turn("No longer held", belief, words)


def _held(belief: Belief) -> str:
    return f"{belief.who} believes that {belief.subject} {belief.believed}"
