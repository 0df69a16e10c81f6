"""Which faults the world of a request has: those that were recorded, or those that could matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import FRONTEND
from rackproof.model.evidence.operators import OPERATOR
from rackproof.model.scope import MOST_FAULTS
from rackproof.scenarios.recorded.story import NOBODY, Story

LEADS_TO: Final[Mapping[str, Collection[str]]] = {
    "cannot-connect": ("crash", "hang"),
    "disconnected": ("crash", "hang", "disconnect"),
    "worker-removed": ("crash", "hang"),
    "response-timeout": ("hang",),
    "engine-shutdown": ("drain",),
    "worker-full": ("overload",),
    "prefill-failed": ("prefill-error",),
    "kv-load-failed": ("transfer-failure",),
    "request-refused": (),
}
"""The faults that may lead to an error, where nobody wrote down which one did."""
_ANY: Final = sorted({fault for faults in LEADS_TO.values() for fault in faults})
_OF_PAIRS: Final = ("prefill-error", "transfer-failure")


def faults(story: Story, workers: Collection[str], paired: bool) -> dict[str, int]:
    """How often each fault may happen. paired: whether workers serve by halves."""
    found = Counter(each.observation.kind for each in story.deeds(list(workers)))
    if "crash" not in story.everybody.complete.get(OPERATOR, NOBODY):
        found |= _suspected(story, len(workers))
    if not paired:
        for fault in _OF_PAIRS:
            del found[fault]
    if _may_leave(story):
        found["leave"] = 1
    return {fault: min(count, MOST_FAULTS) for fault, count in found.items() if count}


def _suspected(story: Story, workers: int) -> Counter[str]:
    """What may be behind each failure; anything, where failures may not have been told of."""
    found: Counter[str] = Counter()
    for values in story.failed:
        found.update(LEADS_TO.get(str(values.get("error")), _ANY))
    told = story.complete.get(FRONTEND, NOBODY)
    if "failed" not in told or (story.has_failed and not story.failed):
        found |= Counter(dict.fromkeys(_ANY, workers))
    elif story.has_failed:
        found |= Counter(crash=workers)  # of those that it was not sent to
    return found


def _may_leave(story: Story) -> bool:
    left = any(seen.kind == "left" for seen in story.client)
    cancelled = any(seen.values.get("outcome") == "cancelled" for seen in story.frontend)
    return left or cancelled or "left" not in story.complete.get(CLIENT, NOBODY)
