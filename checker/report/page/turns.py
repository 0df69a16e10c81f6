"""Where beliefs and the truth part and meet: what changes of them from one state to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

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
    as the truth has changed, now or no longer behind, no longer mistaken, or no longer held.
    """

    label: str
    belief: Belief
    words: str

    @property
    def is_new(self) -> bool:
        """Whether somebody is mistaken who was not before."""
        return self.label == NOW


NOW: Final = "Now mistaken"


def standing(belief: Belief | None) -> str:
    """Whether it is true, behind or mistaken; nothing, where nobody holds it."""
    if belief is None:
        return ""
    return "true" if belief.agrees else "behind" if belief.behind else "mistaken"


def turns(before: Sequence[Belief], after: Sequence[Belief]) -> tuple[Turn, ...]:
    """What changes of what is, or was, mistaken or behind; what is mistaken now comes first."""
    old, new = keyed(before), keyed(after)
    found = [
        Turn(label, belief, words)
        for key in (*new, *(key for key in old if key not in new))
        for label, belief, words in _turn(old.get(key), new.get(key))
    ]
    return tuple(sorted(found, key=lambda turn: not turn.is_new))


def _turn(old: Belief | None, new: Belief | None) -> Iterator[tuple[str, Belief, str]]:
    was, now = standing(old), standing(new)
    if new is None:
        if old is not None and was == "mistaken":
            yield "No longer held", old, f"{_held(old, 'believed')}."
        return
    held, truth = _held(new, "believes"), new.truth
    if now == "mistaken" and was != now:
        yield NOW, new, f"{held}; in truth it {truth}."
    elif now == "mistaken" and old is not None and old.truth != truth:
        yield "Still mistaken", new, f"{held}; the truth is now that it {truth}."
    elif now == "behind" and was != now:
        yield "Now behind", new, f"{held}; it {truth} by now, and that is on its way."
    elif now == "true" and was in ("mistaken", "behind"):
        yield f"No longer {was}", new, f"{held}, and so it is."


def _held(belief: Belief, verb: str) -> str:
    return f"{belief.who} {verb} that {belief.subject} {belief.believed}"
