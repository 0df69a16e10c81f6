"""Which workers the world of a request has, and what they are called in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from rackproof.model.rack import CALLED
from rackproof.scenarios.recorded.everybody import AGGREGATED, DECODE, PREFILL
from rackproof.scenarios.recorded.story import Story


def seats(story: Story, others_too: int) -> dict[str, list[str]]:
    """By role, the workers that a request had to do with, by their names in the logs, some others,
    of which those come first to which nothing was done, and one of each role that nothing goes
    without.
    """
    everybody, found = story.everybody, dict[str, list[str]]()
    involved = dict.fromkeys(story.involved)

    def others() -> Iterator[str]:
        return (name for name in everybody.workers if name not in involved)

    unharmed = (name for name in others() if not story.deeds([name]))
    spare = list(islice(unharmed, others_too))
    harmed = (name for name in others() if name not in spare)
    for name in (*involved, *spare, *islice(harmed, others_too - len(spare))):
        found.setdefault(everybody.role(name), []).append(name)
    for role in _needed(found):
        if role not in found:  # there are many workers, and this is asked of every request
            alike = (name for name in others() if everybody.role(name) == role)
            found[role] = [next(alike, f"a {role} worker")]
    return {role: found[role] for role in CALLED if role in found}


def _needed(found: dict[str, list[str]]) -> Sequence[str]:
    if PREFILL in found or DECODE in found:
        return PREFILL, DECODE
    return (AGGREGATED,)


def names(seated: dict[str, list[str]]) -> dict[str, str]:
    """What each worker is called in the world, by its name in the logs, in the world's order."""
    return {
        name: f"{CALLED[role]}-{index}"
        for role, workers in seated.items()
        for index, name in enumerate(workers)
    }
