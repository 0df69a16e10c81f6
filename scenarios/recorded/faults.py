"""Which faults the world of a request has: those that were recorded, or those that could matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import FRONTEND
from rackproof.model.evidence.operators import DISCOVERY, OPERATOR
from rackproof.model.scope import MOST_FAULTS
from rackproof.scenarios.recorded.story import NOBODY, Story, whole

GONE: Final = "disconnected"
LEADS_TO: Final[Mapping[str, Collection[str]]] = {
    "cannot-connect": ("crash", "hang"),
    GONE: ("crash", "hang", "disconnect"),
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
_LEAVES: Final = ("crash", "hang", "drain")
"""What makes a worker leave discovery."""
_OF_PAIRS: Final = ("prefill-error", "transfer-failure")


def faults(story: Story, workers: Collection[str], paired: bool) -> dict[str, int]:
    """How often each fault may happen. paired: whether workers serve by halves."""
    found = Counter(each.observation.kind for each in story.deeds(list(workers)))
    if "crash" not in story.everybody.complete.get(OPERATOR, NOBODY):
        found |= _suspected(story, len(workers))
    found["lost-renewal"] = sum(_unaccounted(story, worker) for worker in workers)
    if not paired:
        for fault in _OF_PAIRS:
            del found[fault]
    if _may_leave(story):
        found["leave"] = 1
    return {fault: min(count, MOST_FAULTS) for fault, count in found.items() if count}


def _unaccounted(story: Story, worker: str) -> int:
    """How often a worker left discovery though nothing is known to have been done to it."""
    told = Counter(noted.observation.kind for noted in story.done_to([worker], DISCOVERY))
    done = Counter(noted.observation.kind for noted in story.deeds([worker]))
    return max(0, told["removed"] - sum(done[deed] for deed in _LEAVES))


def _suspected(story: Story, workers: int) -> Counter[str]:
    """What may be behind each failure; anything, where failures may not have been told of."""
    found: Counter[str] = Counter()
    for error, came in _failures(story):
        # A stream that has begun is not given up because its worker left discovery.
        found.update(
            set(LEADS_TO.get(error, _ANY)) - ({"hang"} if came and error == GONE else set())
        )
    if "failed" not in story.complete(FRONTEND) or (story.is_failed and not found):
        return found | Counter(dict.fromkeys(_ANY, workers))
    # Whoever it was not sent to must be gone too, where it was given up.
    return found | Counter(crash=workers) if story.is_failed else found


def _failures(story: Story) -> Iterator[tuple[str, bool]]:
    """The errors of attempts, and whether tokens had come from each."""
    start, errors = 0, list[str]()
    for seen in story.frontend:
        told = whole(seen.values.get("delivered"))
        if seen.kind == "dispatch" and told is not None:
            yield from ((error, told > start) for error in errors)
            start, errors = told, []
        elif seen.kind == "failed":
            errors.append(str(seen.values.get("error")))
    yield from ((error, len(story.tokens) > start) for error in errors)


def _may_leave(story: Story) -> bool:
    left = any(seen.kind == "left" for seen in story.client)
    cancelled = any(seen.values.get("outcome") == "cancelled" for seen in story.frontend)
    return left or cancelled or "left" not in story.written_whole(CLIENT)


def spared(story: Story) -> Callable[[str], bool]:
    """Which workers need no fault that nobody wrote down: where every failure was, those that did
    not fail the request, unless the request ended for want of a worker, or discovery lost one.
    """
    whole_log = {"dispatch", "failed"} <= story.complete(FRONTEND)
    if not whole_log or story.is_failed or story.everybody.is_disaggregated:
        return lambda _name: False
    called = story.everybody.called
    failed = {called(values.get("worker", "")) for values in story.failed}

    def never_fails(name: str) -> bool:
        return name not in failed and not story.done_to([name], DISCOVERY)

    return never_fails
