"""Each mechanism of the reference put the other way, and the property that says what that breaks.

The data of ``tests/invariants/test_mutants.py``, which explores every row, and of
``docs/mutants.md``, which ``make docs`` writes.
"""

from __future__ import annotations

ONE, TWO, THREE = {"aggregated": 1}, {"aggregated": 2}, {"aggregated": 3}
PAIR, TWO_PREFILL = {"prefill": 1, "decode": 1}, {"prefill": 2, "decode": 1}

Case = tuple[dict[str, object], dict[str, int], dict[str, object], dict[str, int], str]

MUTANTS: tuple[Case, ...] = (
    ({"replay-delivered": False}, TWO, {}, {"crash": 1}, "no-duplicate-tokens"),
    (
        {"migrate-guided-requests": True},
        TWO,
        {"guided": True},
        {"crash": 1},
        "no-duplicate-tokens",
    ),
    ({"carry-withheld-text": False}, TWO, {"withholds": True}, {"crash": 1}, "no-lost-tokens"),
    ({"send-last-tokens": False}, ONE, {}, {}, "no-lost-tokens"),
    ({"finish-latch": False}, TWO, {"max-tokens": 3}, {"crash": 1}, "nothing-after-finish"),
    ({"zero-budget": "refuse"}, TWO, {}, {"crash": 1}, "complete-output-succeeds"),
    ({"zero-budget": "emit"}, TWO, {}, {"crash": 1}, "max-tokens-kept"),
    ({"fence-attempts": False}, TWO, {}, {"hang": 1, "resume": 1}, "no-duplicate-tokens"),
    ({"fence-steps": False}, ONE, {}, {"preemption": 1}, "no-duplicate-tokens"),
    ({"usage-from-request": False}, TWO, {}, {"crash": 1}, "usage-exact"),
    ({"migrate-on-disconnect": False}, TWO, {}, {"crash": 1}, "no-needless-failure"),
    ({"migrate-on-timeout": False}, TWO, {}, {"hang": 1}, "no-needless-failure"),
    ({"migrate-on-shutdown": False}, TWO, {}, {"drain": 1}, "no-needless-failure"),
    ({"stream-timeout": False}, TWO, {}, {"hang": 1}, "progress"),
    ({"cancel-on-removal": False}, TWO, {}, {"crash": 1}, "progress"),
    ({"raw-removal-events": False}, TWO, {}, {"crash": 1, "churn": 1}, "progress"),
    ({"select-from-discovery": False}, TWO, {}, {"crash": 1}, "no-dispatch-to-removed"),
    ({"exclude-failed-workers": False}, TWO, {}, {"crash": 1}, "retries-go-elsewhere"),
    ({"release-booking-first": False}, TWO, {}, {"crash": 1}, "no-duplicate-request"),
    ({"count-failed-connects": False}, THREE, {"tokens": 1}, {"crash": 2}, "bounded-retries"),
    ({"restore-inhibited": False}, ONE, {}, {"disconnect": 1}, "live-endpoint-selectable"),
    ({"clear-overload": False}, TWO, {}, {"overload": 1}, "live-endpoint-selectable"),
    ({"expire-bookings": False}, ONE, {}, {"lost-release": 1}, "bookings-exact"),
    ({"release": "on-finish"}, PAIR, {}, {}, "no-failure-without-fault"),
    ({"release": "on-ack"}, PAIR, {}, {"crash": 1}, "no-kv-leak"),
    ({"release": "lease"}, PAIR, {"requests": 2}, {"slow-read": 1}, "no-overwrite-in-flight"),
    (
        {"release": "heartbeat"},
        PAIR,
        {"requests": 2},
        {"hang": 1},
        "no-overwrite-in-flight",
    ),
    ({"defer-free-on-abort": False}, TWO_PREFILL, {"requests": 2}, {"leave": 1}, "kv-consistent"),
    (
        {"wait-for-all-handles": False},
        TWO_PREFILL,
        {"requests": 2, "handles": 2, "retry-limit": 0},
        {"transfer-failure": 1},
        "kv-consistent",
    ),
    ({"load-failure": "unreported"}, PAIR, {}, {"transfer-failure": 1}, "kv-consistent"),
    ({"spare-transfers": False}, PAIR, {}, {"leave": 1}, "no-kv-leak"),
    ({"latch-completions": False}, PAIR, {}, {"leave": 1}, "no-double-free"),
)
"""The mechanism, the instances, the scope, the faults, and the property that is violated."""

PAIRED: tuple[Case, ...] = (
    ({"notify-when-skipped": False, "release": "on-ack"}, PAIR, {"short": True}, {}, "no-kv-leak"),
    ({"notify-when-aborted": False, "release": "on-ack"}, PAIR, {}, {"leave": 1}, "no-kv-leak"),
    ({"collect-after-cancel": False, "release": "on-ack"}, PAIR, {}, {"leave": 1}, "no-kv-leak"),
    ({"notice-peer-loss": False, "transfer": "push"}, PAIR, {}, {"crash": 1}, "no-kv-leak"),
    (
        {"validate-after-read": False, "release": "on-finish"},
        PAIR,
        {"requests": 2},
        {},
        "kv-consistent",
    ),
)
"""Mechanisms that another one covers for: they show once that one is put the other way too."""

UNBROKEN = {
    "dead-endpoint-removed": "In any choice of mechanisms the lease of a dead worker expires, "
    "and the router's copy of discovery catches up, before anything is at rest.",
}
"""Properties that no choice of mechanisms breaks, and why."""

CHOICES = {
    "transfer": ("push", "It is the other of two ways that are both safe."),
    "load-failure": ("recompute", "Computing the prompt again is as right as failing the attempt."),
}
"""Alternatives that are as good as the reference's, and why."""

UNSEEN = {
    "inhibit-on-error": "Inhibition spares other requests a dispatch to a worker that just failed "
    "one. That is a matter of how often, and every property here is a matter of whether: there is "
    "no clock, an inhibition may end at once, so all that can happen without it can happen with "
    "it. The request that failed is kept away from its worker by the exclusion of failed workers.",
}
"""Mechanisms that no property misses, and why."""

REDUNDANT: tuple[tuple[dict[str, int], dict[str, object], dict[str, int]], ...] = (
    (ONE, {}, {"disconnect": 1}),
    (TWO, {}, {"crash": 1}),
    (TWO, {}, {"hang": 1, "resume": 1}),
    (TWO, {"requests": 2, "tokens": 1}, {"crash": 1}),
    (THREE, {"tokens": 1, "retry-limit": 2}, {"crash": 1, "disconnect": 1}),
    ({"prefill": 2, "decode": 2}, {"tokens": 1}, {"crash": 1, "transfer-failure": 1}),
)
"""Instances, scope and faults in which what is unseen changes no verdict."""
