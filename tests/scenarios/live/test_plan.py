from pathlib import Path

import pytest

from rackproof.checker.replay import replay
from rackproof.scenarios.live.plan import Plan, Point, planned
from rackproof.scenarios.loader import load, loads
from rackproof.scenarios.worlds import InputError

DRILL = Path("scenarios/drills/zero-budget-migration.yaml")
ONE = "request: request-0, attempt: attempt-0"
SERVED = f"""
- dispatch: {{request: request-0, worker: worker-0}}
- start-stream: {{{ONE}, worker: worker-0}}
- emit: {{{ONE}, worker: worker-0}}
- receive: {{{ONE}}}
"""


def plan(
    steps: str, scope: str = "crash: 1", rest: str = "", scale: int = 10, requests: int = 1
) -> Plan:
    text = f"""
rackproof: 1
name: a run
protocol: {{stack: dynamo{rest}}}
rack: {{preset: nvl72, aggregated: 2}}
scope: {{requests: {requests}, tokens: 2, retry-limit: 1, faults: {{{scope}}}}}
steps: {steps}
"""
    scenario = loads(text, Path("a.yaml"))
    run = replay(scenario)
    assert not run.complaints
    return planned(scenario.case.setting, run.trace.steps, scale=scale)


def points(found: Plan) -> list[tuple[str, str | None, Point]]:
    return [(action.does, action.worker, action.point) for action in found.actions]


def test_death_before_the_finish_reason_is_a_crash_where_all_tokens_are_sent() -> None:
    scenario = load(DRILL)
    found = planned(scenario.case.setting, replay(scenario).trace.steps)
    assert points(found) == [("crash", "worker-0", Point(0, "finish"))]
    assert found.tokens == 10
    assert found.settings.migration_limit == 3
    assert found.settings.stream_timeout is None
    (asked,) = found.requests
    assert asked.serves == {0: "worker-0", 1: "worker-1", 2: "worker-2"}
    assert found.engines == ("oracle", "mocker", "mocker")  # how it refuses is not of our making


def test_a_crash_in_the_middle_is_at_the_position_that_comes_next() -> None:
    found = plan(SERVED + "- crash: {worker: worker-0}", scale=7)
    assert points(found) == [("crash", "worker-0", Point(0, 7))]
    assert found.tokens == 14
    assert found.engines == ("oracle", "oracle")


def test_before_the_request_and_after_it() -> None:
    steps = f"""
- crash: {{worker: worker-1}}
{SERVED.strip()}
- finish-with-last-token: {{{ONE}, worker: worker-0}}
- receive: {{{ONE}}}
- hang: {{worker: worker-0}}
- receive-finish: {{{ONE}}}
- receive-end: {{{ONE}}}
- resume: {{worker: worker-0}}
"""
    found = plan(steps, "crash: 1, hang: 1, resume: 1")
    assert [point.place for _, _, point in points(found)] == ["before", "end", "after"]


def test_what_happens_between_two_attempts_is_done_where_the_first_came_to() -> None:
    steps = f"""
{SERVED.strip()}
- crash: {{worker: worker-0}}
- notice: {{{ONE}, worker: worker-0}}
- crash: {{worker: worker-1}}
"""
    assert [point for _, _, point in points(plan(steps, "crash: 2"))] == [
        Point(0, 10),
        Point(0, 10),
    ]
    ((point, actions),) = plan(steps, "crash: 2").groups
    assert [action.step for action in actions] == [5, 7]
    assert str(point) == "attempt 0, before the token at position 10"


def test_a_client_leaves() -> None:
    found = plan(SERVED + "- leave: {request: request-0}", "leave: 1")
    assert points(found) == [("leave", None, Point(0, 10))]


def test_the_stream_timeout_is_set_where_the_stack_has_one_and_is_short() -> None:
    found = plan(SERVED + "- hang: {worker: worker-0}", "hang: 1", ", stream-timeout: true")
    assert found.settings.stream_timeout == 3.0
    assert any("DYN_HTTP_BACKEND_STREAM_TIMEOUT_SECS=3" in line for line in found.mapping)


def test_prefill_and_decode_apart() -> None:
    scenario = load(Path("scenarios/drills/decode-worker-dies.yaml"))
    found = planned(scenario.case.setting, replay(scenario).trace.steps)
    assert points(found) == [("crash", "decode-0", Point(0, 10))]
    assert found.settings.names == ("p0", "p1", "d0", "d1")
    (asked,) = found.requests
    assert asked.prefills == {0: "prefill-0", 1: "prefill-1"}
    assert asked.serves == {0: "decode-0", 1: "decode-1"}
    assert asked.worker(Point(1, "prefill")) == "prefill-1"
    assert asked.worker(Point(1, 10)) == "decode-1"
    assert any("no KV is moved" in line for line in found.mapping)
    assert found.engines == ("oracle",) * 4
    # The oracle says nothing of a usage: that a wrong one is seen is up to Dynamo's own engine.
    usage = planned(scenario.case.setting, replay(scenario).trace.steps, "usage-exact")
    assert usage.engines == ("oracle", "oracle", "mocker", "mocker")


def test_each_fault_is_at_a_point_of_the_request_that_its_worker_has() -> None:
    second = "request: request-1, attempt: attempt-0"
    steps = f"""
{SERVED.strip()}
- dispatch: {{request: request-1, worker: worker-1}}
- start-stream: {{{second}, worker: worker-1}}
- crash: {{worker: worker-0}}
- crash: {{worker: worker-1}}
- restart: {{worker: worker-1}}
"""
    found = plan(steps, "crash: 2, restart: 1", requests=2)
    assert points(found) == [
        ("crash", "worker-0", Point(0, 10)),
        ("crash", "worker-1", Point(0, 0, 1)),
        ("restart", "worker-1", Point(0, 0, 1)),
    ]
    assert [(asked.name, asked.step) for asked in found.requests] == [
        ("request-0", 1),
        ("request-1", 5),
    ]
    assert any("a new instance id" in line for line in found.mapping)


@pytest.mark.parametrize(
    ("steps", "scope", "rest", "told"),
    [
        (SERVED + f"- disconnect: {{{ONE}}}", "disconnect: 1", "", "step 5 is disconnect"),
        (SERVED, "crash: 1", ", finish-latch: true", "sets finish-latch otherwise"),
        (SERVED, "crash: 1", ", zero-budget: finish", "zero-budget: finish"),
    ],
)
def test_what_cannot_be_done_is_refused(steps: str, scope: str, rest: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        plan(steps, scope, rest)


@pytest.mark.parametrize(
    ("rack", "stack", "requests", "told"),
    [
        ("{preset: nvl72, prefill: 1, decode: 1, aggregated: 1}", "dynamo", "1", "mixes workers"),
        ("{preset: nvl72, aggregated: 2}", "reference", "1", "is of stack reference"),
        ("{preset: nvl72, aggregated: 2}", "dynamo", "0", "has no request"),
        ("{preset: nvl72, aggregated: 2}", "dynamo", "1, guided: true", "request that is guided"),
        ("{preset: nvl72, aggregated: 2}", "dynamo", "1, client-retries: 1", "that asks again"),
    ],
)
def test_worlds_that_cannot_be_deployed(rack: str, stack: str, requests: str, told: str) -> None:
    text = f"""
rackproof: 1
name: a world
protocol: {{stack: {stack}}}
rack: {rack}
scope: {{requests: {requests}, tokens: 1}}
"""
    with pytest.raises(InputError, match=told):
        planned(loads(text, Path("a.yaml")).case.setting, ())
