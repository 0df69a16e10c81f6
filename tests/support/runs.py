"""Runs of bundled bugs, move by move: those that violate their property."""

from typing import Any

from pictured import world_of

from rackproof.checker.trace import Step
from rackproof.model.kernel import Firing, System

RUNS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "vllm-21570-read-after-timeout": (
        ("dispatch", 0, 0),
        ("prefill", 0, 0, 0, 0),
        ("dispatch_decode", 0, 0, 1),
        ("slow_read", 0, 0),
        ("admit", 0, 0, 1, 1),
        ("dispatch", 1, 0),
        ("prefill", 1, 0, 0, 0),
        ("land", 0, 0, 0, 1),
        ("load_ends", 0, 0, 1),
    ),
    "dynamo-frozen-worker-chosen-again": (
        ("dispatch", 0, 0),
        ("start_stream", 0, 0, 0),
        ("hang", 0),
        ("stream_timeout", 0, 0, 0),
        ("restore", 0),
    ),
    "dynamo-7863-replay-without-end": (
        ("store", 0, 0),
        ("store", 0, 1),
        ("apply_stored", 0, 0),
        ("reregistration", 0),
        ("answer", 0),
        ("take_answer", 0),
    ),
    "llm-d-router-1738-queued-event-after-removal": (
        ("store", 0, 0),
        ("crash", 0),
        ("lease_expires", 0),
        ("detach", 0),
        ("apply_stored", 0, 0),
    ),
    "sglang-24527-abort-under-a-writer": (
        ("dispatch", 0, 0),
        ("dispatch_decode", 0, 0, 2),
        ("admit", 0, 0, 2, 2),
        ("prefill", 0, 0, 0, 0),
        ("leave", 0),
        ("abort", 0, 0, 2),
        ("dispatch", 1, 1),
        ("dispatch_decode", 1, 0, 2),
        ("admit", 1, 0, 2, 2),
        ("prefill", 1, 0, 1, 1),
        ("post", 1, 0, 1, 2),
        ("land", 1, 0, 1, 2),
        ("load_ends", 1, 0, 2),
        ("post", 0, 0, 0, 2),
        ("land", 0, 0, 0, 2),
    ),
    "mooncake-2832-mapping-of-the-old-process": (
        ("dispatch", 0, 0),
        ("prefill", 0, 0, 0, 0),
        ("crash", 0),
        ("restart", 0),
        ("dispatch_decode", 0, 0, 1),
        ("admit", 0, 0, 1, 1),
        ("land", 0, 0, 0, 1),
        ("load_ends", 0, 0, 1),
    ),
    "dynamo-9881-answer-undoes-newer-events": (
        ("router_restart",),
        ("attach", 0),
        ("answer", 0),
        ("store", 0, 0),
        ("apply_stored", 0, 0),
        ("take_answer", 0),
        ("serve",),
    ),
    "dynamo-11169-split-restores-removed-worker": (
        ("store", 0, 0),
        ("clear_cache", 0),
        ("store", 1, 0),
        ("apply_stored", 0, 0),
        ("read_for_split", 1, 0),
        ("apply_cleared", 0),
        ("write_split", 1, 0),
    ),
    "trt-12640-each-waits-for-the-other": (
        ("dispatch", 0, 0),
        ("dispatch_decode", 0, 0, 1),
        ("prefill", 0, 0, 0, 0),
        ("dispatch", 1, 0),
        ("dispatch_decode", 1, 0, 1),
        ("admit", 1, 0, 1, 1),
    ),
    "dynamo-7930-guided-request-migrated": (
        ("dispatch", 0, 0),
        ("start_stream", 0, 0, 0),
        ("emit", 0, 0, 0),
        ("crash", 0),
        ("receive", 0, 0),
        ("notice", 0, 0, 0),
        ("dispatch", 0, 1),
        ("start_stream", 0, 1, 1),
        ("emit", 0, 1, 1),
        ("receive", 0, 1),
    ),
    "dynamo-3531-last-tokens-with-finish": (
        ("dispatch", 0, 0),
        ("start_stream", 0, 0, 0),
        ("emit", 0, 0, 0),
        ("finish_with_last_token", 0, 0, 0),
        ("receive", 0, 0),
        ("receive_finish", 0, 0),
    ),
}
"""By the bug; each move is the name of a transition and the identifiers that it takes."""


def steps_of(bug: str) -> tuple[System, list[Step]]:
    """The world of a bug and the steps of its run."""
    system = world_of(bug)
    named = {transition.name: transition for transition in system.transitions}
    state, steps = system.initial, []
    for name, *ids in RUNS[bug]:
        firing = Firing(named[name], tuple(ids))
        after = firing.apply(system, state)
        assert after is not None, firing.words(system)
        steps.append(Step(system, firing, state, after))
        state = after
    return system, steps
