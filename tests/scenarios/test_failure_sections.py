"""The keys failures, availability and checkpoints: what they come to, and what is refused."""

import math
from pathlib import Path
from typing import Any

import pytest

from rackproof.model.performance.failures.detection import (
    Canary,
    Detection,
    Heartbeat,
    Lease,
    StreamBreak,
    Symptom,
    Told,
    Transport,
    Watchdog,
)
from rackproof.model.performance.failures.planned import Moment, Planned
from rackproof.model.performance.failures.recovery import Policy
from rackproof.model.rack import Part
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.performance.loader import loads

HEAD = """\
rackproof: 1
name: A pair
deployment:
  model: llama-3-70b
  gpu: gb200
  prefill: {instances: 1, gpus: 4}
  decode: {instances: 2, gpus: 4}
  hand-off: {link: 100gbe}
workload:
  synthetic: {requests: 5, rate: 2 /s, prompt: 100 tokens, output: 10 tokens}
"""


def section(text: str) -> Any:
    plan = loads(HEAD + text, Path("x.yaml"))
    return plan.sections[text.split(":", 1)[0]]


def strike(text: str) -> Planned:
    return section(f"failures: [{{fails: decode-0, at: 1 s, {text}}}]").planned[0]


def wrong(text: str) -> str:
    with pytest.raises(ScenarioError) as error:
        loads(HEAD + text, Path("x.yaml"))
    return str(error.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{}", "failures[1].detection: is empty; it takes a mechanism: stream-break, lease,"),
        ("{lease: {}}", "failures[1].detection.lease: is empty; it takes ttl, renewed-at, or"),
        ("[{}]", "failures[1].detection[1]: is empty"),
    ],
)
def test_a_detection_that_says_nothing_is_told(value: str, message: str) -> None:
    assert message in wrong(f"failures: [{{fails: decode-0, at: 1 s, detection: {value}}}]")


@pytest.mark.parametrize(
    ("fails", "more", "message"),
    [
        ("decode-9", "", "nothing called 'decode-9' can fail; did you mean decode-1?"),
        ("worker-0", "", "nothing called 'worker-0' can fail"),
        ('"1"', "", "nothing called '1' can fail"),
        ("tray-9", "", "no instance is lost with tray-9: there is none on it"),
        ("decode-0", "falls-back: true", "falls-back is of a way that is lost (a NIC, NVLink swi"),
        ("decode-0", "over: 100gbe", "over is of a way that is lost"),
        ("tray-0", "over: 100gbe", "over is of a way that is lost (a NIC, NVLink switches), not"),
    ],
)
def test_what_cannot_fail_is_told_whatever_is_asked(fails: str, more: str, message: str) -> None:
    line = f"failures:\n- {{fails: {fails}, at: 1 s, detection: 1 s, {more}}}"
    assert f"x.yaml:12: failures[1]: {message}" in wrong(line)


def test_what_fails_is_there_in_one_variant_at_least() -> None:
    line = "failures: [{fails: decode-2, at: 1 s, detection: 1 s}]\n"
    wrong(line)
    variants = "variants: [{name: a}, {name: b, deployment: {decode: {instances: 3}}}]\n"
    assert section(line + variants).planned[0].fails == "decode-2"


def test_a_failure_in_full() -> None:
    plan = section(
        "failures:\n  rack: {preset: nvl72, trays: 4}\n  seed: 7\n  strikes:\n"
        "    - {fails: nvlink-0, at: 1500 ms, detection: [lease, 2 s], delay: drawn,\n"
        "       recovery: [{store: {link: 4x400g, look-up: 2 ms}}, {recompute: in-turn}],\n"
        "       restart: load, looks: hang, over: 100gbe, falls-back: true, resend: true}\n"
    )
    assert (len(plan.rack.parts(Part.TRAY)), plan.seed) == (4, 7)
    one = plan.planned[0]
    assert (one.fails, one.at_s, one.restart_s, one.moment) == ("nvlink-0", 1.5, 11, Moment.DRAWN)
    assert (one.looks, one.falls_back, one.resend) == (Symptom.HANG, True, True)
    assert one.detour is not None
    assert one.detour.name == "100gbe"
    store, recompute = one.recovery
    assert (store.policy, store.lookup_s, store.text) == (Policy.STORE, 0.002, "store 4x400g")
    assert (recompute.policy, recompute.first) == (Policy.RECOMPUTE, False)


@pytest.mark.parametrize(
    ("text", "detector"),
    [
        ("0 s", Told("given", 0)),
        ("50 ms", Told("given", 0.05)),
        ("{lease: {ttl: 60 s, renewed-at: 0.25}}", ("ttl_s", 60, "renewed_at", 0.25)),
        ("{heartbeat: {period: 2 s, misses: 3, timeout: 500 ms}}", ("period_s", 2, "misses", 3)),
        ("{watchdog: {multiple: 20}}", ("multiple", 20)),
        ("{canary: {idle: 1 s, timeout: 2 s}}", ("idle_s", 1, "timeout_s", 2)),
        ("{transport: {timeout: 2 s, retries: 0}}", ("timeout_s", 2, "retries", 0)),
        ("{stream-break: {round-trip: 3 ms}}", ("round_trip_ms", 3)),
    ],
)
def test_a_mechanism_with_its_values(text: str, detector: Any) -> None:
    (found,) = strike(f"detection: {text}").detection.detectors
    if isinstance(detector, Told):
        assert found == detector
    else:
        names, values = detector[::2], detector[1::2]
        assert tuple(getattr(found, name) for name in names) == pytest.approx(values)


def test_mechanisms_by_name_and_several() -> None:
    kinds = [StreamBreak, Lease, Heartbeat, Watchdog, Canary, Transport]
    names = "[stream-break, lease-60, heartbeat-kubernetes, watchdog, canary, transport]"
    assert [type(d) for d in strike(f"detection: {names}").detection.detectors] == kinds
    both = strike("detection: {lease: {ttl: 4 s}, canary: {idle: 1 s}}").detection.detectors
    assert [type(d) for d in both] == [Lease, Canary]
    assert strike("detection: never").detection == Detection(())


def test_checkpoints_of_an_interval() -> None:
    (one,) = strike("detection: lease, recovery: {checkpoint: {link: c2c, every: 2 s}}").recovery
    assert (one.policy, one.every_s, one.text) == (Policy.CHECKPOINT, 2, "checkpoint c2c each 2 s")


def test_the_cheapest_of_some() -> None:
    some = "[{transfer: 100gbe}, recompute]"
    listed, named = (
        strike(f"detection: lease, recovery: {text}").recovery
        for text in (some, f"{{cheapest: {some}}}")
    )
    assert listed == named
    assert [one.text for one in named] == ["transfer 100gbe", "recompute"]


def test_what_is_left_out() -> None:
    one = strike("detection: lease")
    assert [recovery.text for recovery in one.recovery] == ["recompute"]
    assert one.restart_s == math.inf
    assert section("failures: [{fails: decode-0, at: never, detection: 0 s}]").planned[0].at_s == (
        math.inf
    )
    assert strike("detection: lease, restart: never").restart_s == math.inf
    assert strike("detection: lease, restart: restart").restart_s == 64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("failures: []", "failures: has 0 entries; from 1 to 1,000"),
        ("failures: soon", "expected a list of failures, or a map with strikes"),
        ("failures: {rack: nvl72}", "failures: has no strikes"),
        ("failures: {strikes: [3]}", "expected a map with fails, at and detection, not 3"),
        ("failures: [{fails: decode-0, at: 1 s}]", "failures[1].detection: is missing"),
        ("failures: [{fails: decode-0, detection: 1 s}]", "failures[1].at: is missing"),
        ("failures: [{fail: decode-0, at: 1 s, detection: 1 s}]", "did you mean fails?"),
        ("failures: [{fails: 3, at: 1 s, detection: 1 s}]", "failures[1].fails: expected a text"),
        ("failures: [{fails: x, at: -1 s, detection: 1 s}]", "a time from 0 and up to 1e+09"),
        ("failures: [{fails: x, at: 8, detection: 1 s}]", "a time such as 50 ms, not 8"),
        ("failures: [{fails: x, at: nan s, detection: 1 s}]", "expected a time"),
        (
            "failures: [{fails: x, at: 1 s, detection: leese}]",
            "'leese'; did you mean lease?",
        ),
        ("failures: [{fails: x, at: 1 s, detection: lease-6}]", "did you mean lease-60?"),
        ("failures: [{fails: x, at: 1 s, detection: []}]", "detection: is empty"),
        ("failures: [{fails: x, at: 1 s, detection: {lease: {tl: 1 s}}}]", "did you mean ttl?"),
        ("failures: [{fails: x, at: 1 s, detection: {lease: {ttl: 0 s}}}]", "a time above 0"),
        ("failures: [{fails: x, at: 1 s, detection: {lease: 3}}]", "a map with ttl, renewed-at"),
        ("failures: [{fails: x, at: 1 s, detection: {leases: {}}}]", "did you mean lease?"),
        (
            "failures: [{fails: x, at: 1 s, detection: {heartbeat: {misses: 0}}}]",
            "of 1 or more, not 0",
        ),
        ("failures: [{fails: x, at: 1 s, detection: 1 s, recovery: retry}]", "no recovery 'retry'"),
        ("failures: [{fails: x, at: 1 s, detection: 1 s, recovery: transfer}]", "over which link"),
        (
            "failures: [{fails: x, at: 1 s, detection: 1 s, recovery: {cheapest: recompute}}]",
            "a list of recoveries to choose from",
        ),
        ("failures: [{fails: x, at: 1 s, detection: 1 s, recovery: []}]", "recovery: is empty"),
        (
            "failures: [{fails: x, at: 1 s, detection: 1 s, recovery: {transfer: 4x400}}]",
            "did you mean 4x400g?",
        ),
        (
            "failures: [{fails: x, at: 1 s, detection: 1 s, "
            "recovery: {transfer: 100gbe, recompute: first}}]",
            "expected one recovery",
        ),
        (
            "failures: [{fails: x, at: 1 s, detection: 1 s, recovery: {recompute: last}}]",
            "no turn 'last'",
        ),
        (
            "failures: [{fails: x, at: 1 s, detection: 1 s, recovery: {checkpoint: c2c}}]",
            "checkpoints come each so many seconds",
        ),
        ("failures: [{fails: x, at: 1 s, detection: 1 s, restart: reboot}]", "no restart 'reboot'"),
        ("failures: [{fails: x, at: 1 s, detection: 1 s, looks: bad}]", "look of a failure 'bad'"),
        ("failures: [{fails: x, at: 1 s, detection: 1 s, delay: now}]", "among delays 'now'"),
        ("failures: [{fails: x, at: 1 s, detection: 1 s, resend: 1}]", "expected true or false"),
        ("failures: {strikes: [], rack: nvl7}", "did you mean nvl72?"),
        (
            "failures: {rack: {preset: nvl72, trays: 0}, "
            "strikes: [{fails: x, at: 1 s, detection: 1 s}]}",
            "trays is a whole number from 1",
        ),
        ("availability: {gpu: gpu-best}", "no failure rate"),
        ("availability: {gpu: 0 h}", "expected a time above 0"),
        ("availability: {restart: never}", "what never comes back has no availability"),
        ("availability: [1]", "expected a map with gpu"),
        ("checkpoints: {pause: 1 ms}", "say over which link KV is saved"),
        ("checkpoints: {over: 100gbe, intervals: [0 s]}", "expected a time above 0"),
        ("checkpoints: {over: 100gbe, intervals: []}", "from 1 to 20 times are compared"),
        ("checkpoints: {over: 100gbe, pause: 0 s}", "has a pause; without, it costs nothing"),
        (
            "checkpoints: {over: 100gbe, pause: 1 s, intervals: 1 ms}",
            "longer than the pause (1 s) and has an end; it is 0.001 s",
        ),
        ("checkpoints: {over: 100gb}", "did you mean 100gbe?"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, message: str) -> None:
    found = wrong(text)
    assert message in found
    assert found.startswith("x.yaml:11: ")


def test_every_mistake_is_told_at_once() -> None:
    found = wrong("failures: [{fails: 1, at: 8, detection: lese}, {fails: x}]").splitlines()
    assert len(found) == 5


def test_availability_and_checkpoints() -> None:
    found = section(
        "availability: {gpu: 1000 h, restart: 30 s, detection: heartbeat, recovery: abort,"
        " nvlink-domain: 10 d, nvlink-restart: replace}"
    )
    assert (found.gpu_mtbf_h, found.restart_s) == (1000, 30)
    assert (found.domain_mtbf_h, found.domain_restart_s) == (240, 600)
    assert section("availability: {gpu: gpu-worst}").gpu_mtbf_h == pytest.approx(8089.6)
    saving = section("checkpoints: {over: 4x-nvlink5, pause: 2 ms, hidden: false, intervals: 1 s}")
    assert (saving.link.name, saving.pause_s, saving.hidden) == ("4x-nvlink5", 0.002, False)
    assert saving.intervals_s == (1,)
    assert section("checkpoints: {over: 100gbe, gpu: [gpu, 5 h]}").gpu_mtbf_h[1] == 5
