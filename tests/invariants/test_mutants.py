"""Each mechanism of the reference, put the other way: a named property says what that breaks."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from mutants import (
    CACHED,
    CHOICES,
    COPIES,
    CROWDED,
    LINK,
    MUTANTS,
    ONE,
    PAIR,
    PAIRED,
    RANKS,
    REDUNDANT,
    RESTART,
    TWO_PREFILL,
    UNSEEN,
    Case,
)
from tables import MUTANTS_PAGE, mutant_cells, words

from rackproof.checker.engines import Options, explore
from rackproof.checker.verdicts import Findings
from rackproof.invariants import CATALOGUE
from rackproof.model.protocol import Protocol, mechanisms, with_mechanisms
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

BUGS = sorted((Path(__file__).parents[2] / "scenarios" / "bugs").glob("*.yaml"))
CHOSEN = [(name, value) for name, value, _ in CHOICES]


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
    return findings


def named(case: Case) -> str:
    return words(case[0])


@pytest.mark.parametrize("case", [*MUTANTS, *PAIRED], ids=named)
def test_a_mechanism_put_the_other_way_is_caught(case: Case) -> None:
    changed, rack, scope, faults, prop = case
    trace = explored(changed, rack, scope, faults).violated[prop]
    row = f"| {' | '.join([*mutant_cells(case), str(trace.faults), str(len(trace.steps))])} |"
    assert row in MUTANTS_PAGE.read_text(encoding="utf-8").splitlines(), "make docs"


@pytest.mark.parametrize("case", [*MUTANTS, *PAIRED], ids=named)
def test_the_property_holds_with_the_mechanism(case: Case) -> None:
    _, rack, scope, faults, prop = case
    findings = explored({}, rack, scope, faults)
    assert prop not in findings.violated


def test_what_a_mechanism_is_without_is_one_of_its_mutants() -> None:
    told = {(name, str(value)) for case in (*MUTANTS, *PAIRED) for name, value in case[0].items()}
    told |= {(name, str(value)) for name, value in CHOSEN}
    off = {(one.name, str(getattr(one.off, "value", one.off))) for one in mechanisms()}
    assert {name for name, _ in off - told} <= UNSEEN.keys()


@pytest.mark.parametrize("case", PAIRED, ids=named)
def test_one_mechanism_covers_for_another(case: Case) -> None:
    changed, rack, scope, faults, prop = case
    alone = dict([next(iter(changed.items()))])
    assert prop not in explored(alone, rack, scope, faults).violated


def test_where_nobody_is_left_to_serve_only_the_clear_failure_is_missing() -> None:
    changed = {
        "notice-peer-loss": False,
        "transfer": "push",
        "load-timeout": False,
        "local-prefill": False,
    }
    nobody = explored(changed, PAIR, {"retry-limit": 0}, {"crash": 1}).violated
    assert "clear-failure" in nobody
    assert "progress" not in nobody
    another = explored(changed, TWO_PREFILL, {"retry-limit": 0}, {"crash": 1}).violated
    assert {"clear-failure", "progress"} <= another.keys()


@pytest.mark.parametrize(("name", "value"), CHOSEN)
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


FAULTS = (
    ({"get-failure": 1}, CROWDED),
    ({"short-get": 1, "put-failure": 1}, CROWDED),
    ({"slow-get": 1, "slow-put": 1}, CROWDED),
    ({"client-crash": 1, "removal": 1}, CROWDED),
    ({"pressure": 1, "client-crash": 1}, RANKS),
    ({"removal": 1, "get-failure": 1}, RANKS),
    ({"removal": 1, "client-crash": 1}, {**COPIES, "clients": 2}),
    ({"disk-eviction": 1, "client-crash": 1}, {**CROWDED, "disk": True}),
    ({"segment-silence": 1, "metadata-loss": 1}, {**CROWDED, "segments": 2}),
    (RESTART, {**CROWDED, "segments": 2}),
    ({"put-failure": 2, "segment-loss": 1}, {**CROWDED, "segments": 2}),
    ({"master-crash": 1, "master-hang": 1, "client-crash": 1}, CROWDED),
)
"""Faults of the store, and a scope to have them in."""


@pytest.mark.parametrize("protection", ["pin", "lease"])
@pytest.mark.parametrize(("faults", "scope"), FAULTS)
def test_a_store_with_every_mechanism_keeps_every_promise(
    protection: str, faults: dict[str, int], scope: dict[str, object]
) -> None:
    assert not explored({"store-protection": protection}, ONE, scope, faults).violated


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
    shown = {next(iter(case[0])) for case in (*MUTANTS, *PAIRED)}
    shown |= UNSEEN.keys() | {name for name, _ in CHOSEN}
    assert shown == {mechanism.name for mechanism in mechanisms()}


def test_every_alternative_is_put_to_the_test() -> None:
    shown = {item for case in (*MUTANTS, *PAIRED) for item in case[0].items()} | {*CHOSEN}
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
