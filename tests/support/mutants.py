"""Each mechanism of the reference put the other way, and the property that says what that breaks.

The data of ``tests/invariants/test_mutants.py``, which explores every row, and of
``docs/mutants.md``, which ``make docs`` writes.
"""

from __future__ import annotations

ONE, TWO, THREE = {"aggregated": 1}, {"aggregated": 2}, {"aggregated": 3}
PAIR, TWO_PREFILL = {"prefill": 1, "decode": 1}, {"prefill": 2, "decode": 1}
GATEWAY = {"gateway-retries": 1, "retry-limit": 0}
BOTH_AT_ONCE = {"dispatch": "concurrent", "transfer": "push"}
LINK, ROOM = {"requests": 0, "links": 1}, {"requests": 0, "rooms": 1}

CACHED = {"requests": 0, "prefixes": 1}
CACHED_LONG = {"requests": 0, "prefixes": 2, "cache-changes": 4}

ALONE: dict[str, object] = {"requests": 0, "clients": 1}
STORED, PUTS = {**ALONE, "stored": 1}, {**ALONE, "clients": 2}
CROWDED = {**STORED, "clients": 2, "keys": 2}
CHAINED = {**PUTS, "keys": 2, "spaces": 2, "gets": 2}
RANKS, COPIES = {**STORED, "clients": 2, "ranks": True}, {**STORED, "gets": 2, "hot-copies": True}
RESTART = {"segment-loss": 1, "segment-return": 1}


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
    ({"exclude-failed-workers": False}, TWO, {}, {"disconnect": 1}, "retries-go-elsewhere"),
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
    ({"move-block-scales": False}, PAIR, {"quantised": True}, {}, "kv-consistent"),
    ({"move-tensor-scale": False}, PAIR, {"quantised": True}, {}, "kv-consistent"),
    ({"load-failure": "unreported"}, PAIR, {}, {"transfer-failure": 1}, "kv-consistent"),
    ({"spare-transfers": False}, PAIR, {}, {"leave": 1}, "no-kv-leak"),
    ({"latch-completions": False}, PAIR, {}, {"leave": 1}, "no-double-free"),
    ({"gateway-replay": "unanswered"}, TWO, GATEWAY, {"hang": 1}, "replays-only-unsent"),
    ({"gateway-replay": "any"}, TWO, GATEWAY, {"crash": 1}, "no-duplicate-tokens"),
    ({"retry-when-full": False}, TWO, {}, {"overload": 1}, "no-needless-failure"),
    ({"release-prefill-booking": False}, PAIR, {}, {}, "prefill-bookings-released"),
    ({"rebind-sessions": False}, TWO, {"sessions": True}, {"crash": 1}, "no-needless-failure"),
    (
        {"watch-outlives-requests": False},
        TWO,
        {},
        {"crash": 1, "frontend-drain": 1},
        "no-needless-failure",
    ),
    ({"outlive-discovery": False}, TWO, {}, {"discovery-outage": 1}, "healthy-worker-stays"),
    ({"leases": False}, TWO, {}, {"crash": 1}, "dead-endpoint-removed"),
    ({"renew-in-time": False}, TWO, {}, {"lost-renewal": 1}, "healthy-worker-stays"),
    ({"keep-early-cancels": False}, ONE, {}, {"leave": 1}, "no-work-after-cancel"),
    ({"epoch-on-restart": False}, TWO, {}, {"crash": 1, "restart": 1}, "progress"),
    ({"probe-before-restore": False}, TWO, {}, {"hang": 1}, "no-untested-restore"),
    ({"blame-only-faults": False}, ONE, {}, {"leave": 1}, "no-blame-for-clients"),
    ({"own-health": False}, PAIR, {}, {"crash": 1}, "no-cascade"),
    ({"route-on-stale-metrics": False}, ONE, {}, {"lost-report": 1}, "live-endpoint-selectable"),
    ({"free-after-late-abort": False}, PAIR, {}, {"leave": 1}, "no-kv-leak"),
    (
        {"sweep-each-loop": False},
        {"prefill": 1, "decode": 2},
        {"requests": 2, "tokens": 1},
        {"crash": 1},
        "progress",
    ),
    ({"deadline-from-transfer": False}, PAIR, {}, {"long-queue": 1}, "no-spurious-timeout"),
    ({"cancel-before-output": False}, ONE, {}, {"leave": 1}, "no-work-after-cancel"),
    (
        {"lease-margin": False},
        PAIR,
        {"requests": 2, "tokens": 1},
        {"hang": 1, "resume": 1, "clock-skew": 1},
        "no-overwrite-in-flight",
    ),
    ({"generation-in-handles": False}, PAIR, LINK, {"peer-crash": 1}, "no-stale-access"),
    ({"clear-signals-on-connect": False}, PAIR, LINK, {"peer-crash": 1}, "no-stale-access"),
    ({"clear-signals-on-connect": False}, PAIR, LINK, {"scale-up": 1}, "no-stale-access"),
    ({"quiesce-before-teardown": False}, PAIR, LINK, {"peer-crash": 1}, "no-crash-by-peer"),
    ({"unmap-on-peer-loss": False}, PAIR, LINK, {"peer-crash": 1}, "memory-reclaimed"),
    ({"replace-stale-endpoint": False}, PAIR, LINK, {"peer-crash": 1}, "links-recover"),
    ({"fall-back-to-scale-out": False}, PAIR, LINK, {"domain-fault": 1}, "no-crash-by-peer"),
    ({"fail-path-of-handshake": "wait"}, PAIR, LINK, {"handshake-failure": 1}, "reads-end"),
    ({"fail-path-of-handshake": "wait"}, PAIR, LINK, {"link-post-failure": 1}, "reads-end"),
    ({"fail-path-of-handshake": "crash"}, PAIR, LINK, {"peer-crash": 1}, "no-crash-by-peer"),
    ({"compare-model": False}, PAIR, {**LINK, "mixed-model": True}, {}, "kv-compatible"),
    ({"compare-dtype": False}, PAIR, {**LINK, "mixed-dtype": True}, {}, "kv-compatible"),
    ({"compare-layout": False}, PAIR, {**LINK, "mixed-layout": True}, {}, "kv-compatible"),
    ({"compare-page-size": False}, PAIR, {**LINK, "mixed-page-size": True}, {}, "kv-compatible"),
    ({"compare-scales": False}, PAIR, {**LINK, "mixed-scales": True}, {}, "kv-compatible"),
    ({"compare-weights-version": "handshake"}, PAIR, LINK, {"weight-update": 1}, "kv-compatible"),
    ({"compare-weights-version": "never"}, PAIR, LINK, {"weight-update": 1}, "kv-compatible"),
    ({"cache-on-weight-update": "keep"}, PAIR, LINK, {"weight-update": 1}, "cache-is-current"),
    ({"clear-status-on-reuse": False}, PAIR, ROOM, {}, "rooms-empty"),
    ({"reject-duplicate-rooms": False}, PAIR, ROOM, {"duplicate-room": 1}, "no-crash-by-room"),
    ({"latch-failed-status": False}, PAIR, ROOM, {"room-failure": 1}, "failed-rooms-stay-failed"),
    ({"after-gap": "ignore"}, ONE, CACHED, {"lost-event": 1}, "index-sound"),
    ({"after-gap": "replay"}, ONE, CACHED, {"publish-failure": 1}, "index-complete"),
    ({"heartbeat-numbers": False}, ONE, CACHED, {"lost-event": 1}, "index-sound"),
    ({"restart-signal": "none"}, ONE, CACHED, {"engine-restart": 1}, "index-sound"),
    ({"restart-signal": "cleared"}, ONE, CACHED, {"engine-restart": 1}, "index-sound"),
    (
        {"restart-signal": "rollback"},
        ONE,
        CACHED_LONG,
        {"engine-restart": 1, "lost-event": 2},
        "index-sound",
    ),
    ({"obey-cleared": False}, ONE, CACHED, {}, "index-sound"),
    ({"clear-on-removal": False}, ONE, CACHED, {"crash": 1}, "dead-worker-not-indexed"),
    ({"fence-removed": False}, ONE, CACHED, {"crash": 1}, "dead-worker-not-indexed"),
    ({"follow-publisher": False}, ONE, CACHED, {"publisher-move": 1}, "index-complete"),
    (
        {"recover-before-serving": False},
        ONE,
        CACHED,
        {"router-restart": 1},
        "recovered-before-serving",
    ),
    (
        {"cancel-recovery-on-removal": False},
        ONE,
        CACHED,
        {"router-restart": 1, "crash": 1},
        "recovery-ends",
    ),
    ({"revalidate-split": False}, TWO, CACHED, {}, "index-sound"),
    ({"revalidate-delete": False}, TWO, CACHED, {}, "index-complete"),
    ({"store-protection": "none"}, ONE, CROWDED, {}, "no-get-failure-without-fault"),
    ({"evict-unpinned-only": False}, ONE, CROWDED, {}, "no-get-failure-without-fault"),
    ({"pin-once": False}, ONE, STORED, {}, "no-pin-leak"),
    ({"unpin-once": False}, ONE, STORED, {}, "no-double-unpin"),
    ({"unpin-on-error": False}, ONE, STORED, {"get-failure": 1}, "no-pin-leak"),
    ({"sweep-dead-pins": False}, ONE, STORED, {"client-crash": 1}, "no-pin-leak"),
    ({"publish-after-commit": False}, ONE, PUTS, {}, "store-read-consistent"),
    ({"discard-abandoned-puts": False}, ONE, ALONE, {"client-crash": 1}, "store-reclaims"),
    ({"free-after-readers": False}, ONE, PUTS, {"slow-put": 1}, "no-ghost-object"),
    ({"free-space-once": False}, ONE, PUTS, {"put-failure": 1}, "no-double-free-of-space"),
    (
        {"put-elsewhere": False},
        ONE,
        {**ALONE, "segments": 2},
        {"put-failure": 1},
        "no-needless-put-failure",
    ),
    ({"check-length": False}, ONE, STORED, {"short-get": 1}, "store-read-consistent"),
    ({"store-failure": "serve"}, ONE, STORED, {"get-failure": 1}, "store-read-consistent"),
    ({"store-failure": "wait"}, ONE, STORED, {"get-failure": 1}, "store-progress"),
    ({"invalidate-hot-copies": False}, ONE, COPIES, {"removal": 1}, "store-read-consistent"),
    ({"agree-across-ranks": False}, ONE, RANKS, {"pressure": 1}, "ranks-agree"),
    ({"fail-over-on-silence": False}, ONE, STORED, {"master-hang": 1}, "store-progress"),
    ({"replicate-metadata": False}, ONE, STORED, {"master-crash": 1}, "no-object-forgotten"),
    ({"republish-segments": False}, ONE, STORED, {"metadata-loss": 1}, "live-segment-serves"),
    ({"epoch-of-segment": False}, ONE, STORED, RESTART, "store-read-consistent"),
    ({"epoch-of-segment": False}, ONE, STORED, {"segment-silence": 1}, "live-segment-serves"),
    (
        {"tell-master-of-eviction": False},
        ONE,
        {**STORED, "disk": True},
        {"disk-eviction": 1},
        "no-ghost-object",
    ),
    ({"one-lock-order": False}, ONE, ALONE, {"segment-loss": 1}, "store-progress"),
)
"""The mechanism, the instances, the scope, the faults, and the property that is violated."""

PAIRED: tuple[Case, ...] = (
    ({"notify-when-skipped": False, "release": "on-ack"}, PAIR, {"short": True}, {}, "no-kv-leak"),
    ({"notify-when-aborted": False, "release": "on-ack"}, PAIR, {}, {"leave": 1}, "no-kv-leak"),
    ({"collect-after-cancel": False, "release": "on-ack"}, PAIR, {}, {"leave": 1}, "no-kv-leak"),
    (
        {"notice-peer-loss": False, "transfer": "push", "load-timeout": False},
        PAIR,
        {},
        {"crash": 1},
        "no-kv-leak",
    ),
    (
        {"read-validation": "none", "release": "on-finish"},
        PAIR,
        {"requests": 2},
        {},
        "kv-consistent",
    ),
    (
        {"trials-expire": False, "half-open": True},
        TWO,
        {"requests": 2, "tokens": 1},
        {"disconnect": 1, "leave": 1},
        "live-endpoint-selectable",
    ),
    (
        {"resync-mirror": False, "select-from-discovery": False, "raw-removal-events": False},
        TWO,
        {},
        {"crash": 1, "churn": 1},
        "dead-endpoint-removed",
    ),
    (
        {"abort-sibling": False, "load-timeout": False, **BOTH_AT_ONCE},
        PAIR,
        {},
        {"prefill-error": 1},
        "no-kv-leak",
    ),
    (
        {"load-timeout": False, "stream-timeout": False, **BOTH_AT_ONCE},
        PAIR,
        {},
        {"hang": 1},
        "progress",
    ),
    (
        {"target-before-prefill": False, **BOTH_AT_ONCE},
        PAIR,
        {"requests": 2, "tokens": 1},
        {},
        "progress",
    ),
    (
        {"sender-stops": "taken-for-whole", "read-validation": "none", **BOTH_AT_ONCE},
        PAIR,
        {"handles": 2},
        {"leave": 1},
        "kv-consistent",
    ),
    (
        {
            "sender-stops": "silent",
            "load-timeout": False,
            "stream-timeout": False,
            "transfer": "push",
            "release": "lease",
        },
        PAIR,
        {},
        {"slow-read": 1},
        "progress",
    ),
    (
        {"revoke-on-give-up": False, **BOTH_AT_ONCE},
        PAIR,
        {"requests": 2, "tokens": 1, "retry-limit": 0},
        {"hang": 1, "resume": 1},
        "kv-consistent",
    ),
    (
        {"post-errors-reported": False, "load-timeout": False, "stream-timeout": False},
        PAIR,
        {},
        {"post-failure": 1},
        "progress",
    ),
    (
        {
            "check-hold-before-post": False,
            "read-validation": "none",
            "transfer": "push",
            "release": "lease",
        },
        PAIR,
        {"requests": 2, "tokens": 1},
        {"slow-read": 1},
        "kv-consistent",
    ),
    (
        {"reset-number-on-removal": False, "after-gap": "replay"},
        ONE,
        CACHED,
        {"reregistration": 1},
        "index-complete",
    ),
    (
        {"ask-on-join": False, "heartbeat-numbers": False},
        ONE,
        CACHED,
        {"router-restart": 1},
        "index-complete",
    ),
    (
        {"hold-while-asking": False, "heartbeat-numbers": False},
        ONE,
        CACHED_LONG,
        {"router-restart": 1},
        "index-sound",
    ),
    (
        {"recovery-timeout": False, "cancel-recovery-on-removal": False},
        ONE,
        CACHED,
        {"router-restart": 1, "crash": 1},
        "router-recovers",
    ),
    ({"store-access": "send", "store-protection": "none"}, ONE, CROWDED, {}, "store-progress"),
    (
        {"validate-after-store-read": False, "store-protection": "lease"},
        ONE,
        CROWDED,
        {"slow-get": 1},
        "store-read-consistent",
    ),
    (
        {"refuse-existing-keys": False, "free-after-readers": False},
        ONE,
        CHAINED,
        {},
        "no-get-failure-without-fault",
    ),
    ({"evict-when-full": False, "give-up-when-full": False}, ONE, CROWDED, {}, "store-progress"),
    ({"give-up-when-full": False, "evict-when-full": False}, ONE, CROWDED, {}, "store-progress"),
)
"""Mechanisms that another one covers for: they show once that one is put the other way too."""

CHOICES: tuple[tuple[str, object, str], ...] = (
    ("transfer", "push", "It is the other of two ways that are both safe."),
    ("dispatch", "concurrent", "Safe as long as the prefill worker waits for the decode side."),
    ("load-failure", "recompute", "Computing the prompt again is as right as failing the attempt."),
    (
        "local-prefill",
        False,
        "Without a prefill worker the request fails, which is a clear answer.",
    ),
    ("read-validation", "generation", "It finds every read of a block that was reassigned."),
    ("read-validation", "checksum", "It finds whatever is not the request's own KV."),
    ("gateway-replay", "never", "The client hears of every error, and may ask again."),
    ("answer-on-connection", True, "It finds out sooner, and in fewer ways."),
    ("ask-for-parents", False, "Whatever is missing shows by its number first."),
    ("half-open", True, "One request on trial says as much as a probe."),
    ("cache-on-weight-update", "salt", "Old KV stays, and only old requests find it."),
    ("persistent-publisher", True, "The router learns of a restart by its epoch all the same."),
)
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
