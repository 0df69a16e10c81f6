"""Each mechanism of the reference, put the other way: a named property says what that breaks."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rackproof.checker.engines import Options, explore
from rackproof.checker.verdicts import Findings
from rackproof.invariants import CATALOGUE
from rackproof.model.protocol import Protocol, mechanisms, with_mechanisms
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

BUGS = sorted((Path(__file__).parents[2] / "scenarios" / "bugs").glob("*.yaml"))

ONE, TWO, THREE = {"aggregated": 1}, {"aggregated": 2}, {"aggregated": 3}
PAIR, TWO_PREFILL = {"prefill": 1, "decode": 1}, {"prefill": 2, "decode": 1}
GATEWAY = {"gateway-retries": 1, "retry-limit": 0}
BOTH_AT_ONCE = {"dispatch": "concurrent", "transfer": "push"}
LINK, ROOM = {"requests": 0, "links": 1}, {"requests": 0, "rooms": 1}

CACHED = {"requests": 0, "prefixes": 1}
CACHED_LONG = {"requests": 0, "prefixes": 2, "cache-changes": 4}

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
    ({"outlive-discovery": False}, TWO, {}, {"discovery-outage": 1}, "discovery-outage-survived"),
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
    ({"compare-layout": False}, PAIR, {**LINK, "mixed-layouts": True}, {}, "kv-compatible"),
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
)
"""The mechanism, the instances, the scope, the faults, and the property that is violated."""

PAIRED: tuple[Case, ...] = (
    ({"notify-when-skipped": False, "release": "on-ack"}, PAIR, {"short": True}, {}, "no-kv-leak"),
    ({"notify-when-aborted": False, "release": "on-ack"}, PAIR, {}, {"leave": 1}, "no-kv-leak"),
    ({"collect-after-cancel": False, "release": "on-ack"}, PAIR, {}, {"leave": 1}, "no-kv-leak"),
    ({"notice-peer-loss": False, "transfer": "push"}, PAIR, {}, {"crash": 1}, "no-kv-leak"),
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
    ({"load-timeout": False, **BOTH_AT_ONCE}, PAIR, {}, {"hang": 1}, "progress"),
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
        {"sender-stops": "silent", "load-timeout": False, "transfer": "push", "release": "lease"},
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
        {"post-errors-reported": False, "load-timeout": False},
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
)
"""Mechanisms that another one covers for: they show once that one is put the other way too."""

CHOICES = {
    ("transfer", "push"),
    ("dispatch", "concurrent"),
    ("load-failure", "recompute"),
    ("local-prefill", False),
    ("read-validation", "generation"),
    ("read-validation", "checksum"),
    ("gateway-replay", "never"),
    ("cache-on-weight-update", "salt"),
    ("half-open", True),
    ("persistent-publisher", True),
}
"""Alternatives that are as good as the reference's."""

UNSEEN = {"inhibit-on-error"}
"""Mechanisms that no property misses.

Inhibition spares other requests a dispatch to a worker that just failed one. That is a matter of
how often, and every property here is a matter of whether: there is no clock, an inhibition may end
at once, so all that can happen without it can happen with it. The request that failed is kept away
from its worker by the exclusion of failed workers.
"""

REDUNDANT: tuple[tuple[dict[str, int], dict[str, object], dict[str, int]], ...] = (
    (ONE, {}, {"disconnect": 1}),
    (TWO, {}, {"crash": 1}),
    (TWO, {}, {"hang": 1, "resume": 1}),
    (TWO, {"requests": 2, "tokens": 1}, {"crash": 1}),
    (THREE, {"tokens": 1, "retry-limit": 2}, {"crash": 1, "disconnect": 1}),
    ({"prefill": 2, "decode": 2}, {"tokens": 1}, {"crash": 1, "transfer-failure": 1}),
)
"""Instances, scope and faults in which what is unseen changes no verdict."""


def explored(
    changed: Mapping[str, object],
    rack: Mapping[str, object],
    scope: Mapping[str, object],
    faults: Mapping[str, int],
) -> Findings:
    return _explored(*(tuple(part.items()) for part in (changed, rack, scope, faults)))


@cache
def _explored(*parts: tuple[tuple[str, Any], ...]) -> Findings:
    bundled = Bundled("reference", *(dict(part) for part in parts))
    findings = explore(bundled_setting(bundled, Path()).system, None, Options())
    assert findings.reason is None
    assert findings.endless is None
    return findings


def named(case: Case) -> str:
    return " ".join(f"{name}={value}".lower() for name, value in case[0].items())


@pytest.mark.parametrize("case", [*MUTANTS, *PAIRED], ids=named)
def test_a_mechanism_put_the_other_way_is_caught(case: Case) -> None:
    changed, rack, scope, faults, prop = case
    assert prop in explored(changed, rack, scope, faults).violated


@pytest.mark.parametrize("case", [*MUTANTS, *PAIRED], ids=named)
def test_the_property_holds_with_the_mechanism(case: Case) -> None:
    _, rack, scope, faults, prop = case
    findings = explored({}, rack, scope, faults)
    assert prop not in findings.violated


@pytest.mark.parametrize("case", PAIRED, ids=named)
def test_one_mechanism_covers_for_another(case: Case) -> None:
    changed, rack, scope, faults, prop = case
    alone = dict([next(iter(changed.items()))])
    assert prop not in explored(alone, rack, scope, faults).violated


def test_where_nobody_is_left_to_serve_only_the_clear_failure_is_missing() -> None:
    changed = {"notice-peer-loss": False, "transfer": "push"}
    nobody = explored(changed, PAIR, {"retry-limit": 0}, {"crash": 1}).violated
    assert "clear-failure" in nobody
    assert "progress" not in nobody
    another = explored(changed, TWO_PREFILL, {"retry-limit": 0}, {"crash": 1}).violated
    assert {"clear-failure", "progress"} <= another.keys()


@pytest.mark.parametrize(("name", "value"), sorted(CHOICES, key=str))
def test_alternatives_that_are_as_good(name: str, value: object) -> None:
    for scope, faults in (
        ({"handles": 2}, {"transfer-failure": 1, "leave": 1}),
        ({"gateway-retries": 1, "retry-limit": 0}, {"crash": 1, "leave": 1}),
        ({}, {"crash": 1, "disconnect": 1}),
        ({"requests": 2, "tokens": 1}, {"slow-read": 1, "post-failure": 1}),
        (LINK, {"peer-crash": 1, "weight-update": 2}),
        (CACHED, {"engine-restart": 1, "lost-event": 1}),
        (CACHED, {"crash": 1, "rejoin": 1, "router-restart": 1}),
    ):
        assert not explored({name: value}, PAIR, scope, faults).violated


@pytest.mark.parametrize(("rack", "scope", "faults"), REDUNDANT)
@pytest.mark.parametrize("name", UNSEEN)
def test_what_stays_unseen_changes_no_verdict(
    name: str, rack: dict[str, int], scope: dict[str, object], faults: dict[str, int]
) -> None:
    mutant = explored({name: False}, rack, scope, faults)
    reference = explored({}, rack, scope, faults)
    assert mutant.violated == reference.violated == {}
    assert mutant.reached == reference.reached - {"a-worker-was-marked"}


@pytest.mark.parametrize("case", [*MUTANTS, *PAIRED], ids=named)
def test_a_mutant_differs_from_the_reference(case: Case) -> None:
    reference = Protocol()
    assert with_mechanisms(reference, dict([next(iter(case[0].items()))])) != reference


def test_every_mechanism_is_put_to_the_test() -> None:
    shown = (
        {next(iter(case[0])) for case in (*MUTANTS, *PAIRED)}
        | {name for name, _ in CHOICES}
        | UNSEEN
    )
    assert shown == {mechanism.name for mechanism in mechanisms()}


def test_every_alternative_is_put_to_the_test() -> None:
    shown = {item for case in (*MUTANTS, *PAIRED) for item in case[0].items()} | CHOICES
    reference = Protocol()
    for mechanism in mechanisms():
        others = {alternative.value for alternative in mechanism.alternatives or ()}
        others -= {getattr(getattr(reference, mechanism.field), "value", None)}
        assert {(mechanism.name, value) for value in others} <= shown


def test_every_property_is_broken_by_a_mutant_or_a_reported_bug() -> None:
    broken = {case[-1] for case in (*MUTANTS, *PAIRED)}
    for path in BUGS:
        expect = load(path).case.expect
        broken |= {name for name, expected in expect.items() if expected.verdict == "violated"}
    assert broken == CATALOGUE.keys()
