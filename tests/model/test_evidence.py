"""What is recorded of the serving world: exact records of drills, and sums that come out."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import recorded
from bundled import run

from rackproof.model import endpoint, kv, request, retry, stream, transfer
from rackproof.model.evidence.operators import OPERATOR
from rackproof.model.kernel import Firing, Observation, Record, System, evidence_of
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.stream import Finish
from rackproof.model.world import World
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SERVING = ("zombie-unfenced", "zombie-resumes", "prefill-crash", "retries-run-out", "tray-loss")
CRASH = (
    (retry.dispatch, 0, 0),
    (retry.start_stream, 0, 0, 0),
    (stream.emit, 0, 0, 0),
    (stream.receive, 0, 0),
    (endpoint.crash, 0),
    (retry.notice, 0, 0, 0),
)
AGAIN = (
    (retry.dispatch, 0, 1),
    (retry.start_stream, 0, 1, 1),
    (stream.emit, 0, 1, 1),
    (stream.receive, 0, 1),
    (stream.finish, 0, 1, 1),
    (stream.receive_finish, 0, 1),
    (stream.receive_end, 0, 1),
)


def world(**changes: Any) -> System:
    """Dynamo with two workers, two tokens and what may happen to them."""
    told = {"stack": "dynamo", "rack": {"aggregated": 2}, "scope": {"tokens": 2}, **changes}
    return bundled_setting(Bundled(**told), Path()).system


def written(system: System, *moves: tuple[Any, ...]) -> list[str]:
    """What is recorded of a run, a line each."""
    state, lines = system.initial, []
    for transition, *arguments in moves:
        after = run(state, (transition, *arguments))
        firing = Firing(transition, tuple(arguments))
        lines += [told(each) for each in evidence_of(system).records(state, firing, after)]
        state = after
    return lines


def told(record: Record) -> str:
    values = " ".join(f"{name}={value}" for name, value in record.values.items())
    beside = " ".join(f"{name}={value}" for name, value in record.aside.items())
    text = f"{record.witness}: {record.kind} {values}".strip()
    return f"{text} ({beside})" if beside else text


def test_a_migration_is_told_by_everybody_who_has_to_do_with_it() -> None:
    system = world(faults={"crash": 1})
    assert written(system, *CRASH, *AGAIN) == [
        "frontend: dispatch attempt=0 worker=worker-0 delivered=0",
        "worker-0: started start=0",
        "worker-0: emitted position=0",
        "client: token position=0 (worker=worker-0)",
        "operator: crash worker=worker-0",
        "frontend: failed attempt=0 worker=worker-0 error=disconnected",
        "frontend: dispatch attempt=1 worker=worker-1 delivered=1 (from=worker-0)",
        "worker-1: started start=1",
        "worker-1: emitted position=1",
        "client: token position=1 (worker=worker-1)",
        "worker-1: finished",
        "client: finish (reason=length worker=worker-1)",
        "frontend: done attempt=1 worker=worker-1 (tokens=1)",
        "frontend: over outcome=done (worker=worker-1 tokens=2)",
        "client: usage more=True completion=2",
        "client: end",
    ]


def test_with_a_latch_the_end_is_told_with_the_finish() -> None:
    system = world(mechanisms={"finish-latch": True, "usage-from-request": True})
    one = [(retry.dispatch, 0, 1), (retry.start_stream, 0, 0, 1), (stream.emit, 0, 0, 1)]
    rest = [(stream.receive, 0, 0), (stream.finish_with_last_token, 0, 0, 1)]
    last = [(stream.receive, 0, 0), (stream.receive_finish, 0, 0)]
    assert written(system, *one, *rest, *last)[-8:] == [
        "worker-1: emitted position=1",
        "worker-1: finished",
        "client: token position=1 (worker=worker-1)",
        "frontend: done attempt=0 worker=worker-1 (tokens=2)",
        "frontend: over outcome=done (worker=worker-1 tokens=2)",
        "client: finish (reason=length worker=worker-1)",
        "client: usage more=False completion=2",
        "client: end",
    ]


def test_a_failure_and_a_client_that_leaves() -> None:
    without_retries = world(faults={"crash": 1}, scope={"tokens": 2, "retry-limit": 0})
    assert written(without_retries, *CRASH)[-4:] == [
        "frontend: failed attempt=0 worker=worker-0 error=disconnected",
        "frontend: over outcome=failed (worker=worker-0 tokens=1)",
        "client: error",
        "client: end",
    ]
    leaves = world(faults={"leave": 1})
    assert written(leaves, (retry.dispatch, 0, 0), (request.leave, 0))[1:] == [
        "frontend: over outcome=cancelled (worker=worker-0 tokens=0)",
        "client: left",
    ]


def test_a_worker_that_is_gone_is_sent_a_request_and_fails_it() -> None:
    system = world(faults={"crash": 1})
    assert written(system, (endpoint.crash, 1), (retry.dispatch, 0, 1)) == [
        "operator: crash worker=worker-1",
        "frontend: dispatch attempt=0 worker=worker-1 delivered=0",
        "frontend: failed attempt=0 worker=worker-1 error=cannot-connect",
    ]


def test_halves_of_a_request_are_dispatched_one_by_one() -> None:
    system = world(rack={"prefill": 1, "decode": 1})
    moves = [
        (retry.dispatch, 0, 0),
        (kv.prefill, 0, 0, 0, 0),
        (retry.dispatch_decode, 0, 0, 1),
        (kv.admit, 0, 0, 1, 1),
        (transfer.land, 0, 0, 0, 1),
        (transfer.load_ends, 0, 0, 1),
        (stream.emit, 0, 0, 1),
    ]
    assert written(system, *moves) == [
        "frontend: dispatch attempt=0 worker=prefill-0 delivered=0",
        "frontend: decode attempt=0 worker=decode-0 delivered=0",
        "decode-0: started start=0",
        "decode-0: emitted position=0",
    ]


def test_text_that_is_held_back_is_told_with_what_follows() -> None:
    system = world(scope={"tokens": 2, "withholds": True})
    moves: list[tuple[Any, ...]] = [(retry.dispatch, 0, 0), (retry.start_stream, 0, 0, 0)]
    moves += [
        (stream.emit, 0, 0, 0),
        (stream.receive, 0, 0),
        (stream.emit, 0, 0, 0),
        (stream.receive, 0, 0),
    ]
    client = [line for line in written(system, *moves) if line.startswith("client")]
    assert client == [
        "client: token position=0 (worker=worker-0)",
        "client: token position=1 (worker=worker-0)",
    ]
    early = [line for line in written(system, *moves[:4]) if line.startswith("client")]
    assert early == []


def test_of_several_requests_each_record_says_which() -> None:
    system = world(scope={"tokens": 2, "requests": 2})
    assert written(system, (retry.dispatch, 1, 0)) == [
        "frontend: dispatch attempt=0 worker=worker-0 delivered=0 request=1"
    ]


# -- sums -------------------------------------------------------------------------------------


@cache
def worlds() -> dict[str, System]:
    """Bundled drills of requests, and small worlds in which much may happen."""
    found = {
        name: load(SCENARIOS / "drills" / f"{name}.yaml").case.setting.system for name in SERVING
    }
    often = dict.fromkeys(("crash", "hang", "resume", "drain", "leave", "disconnect"), 1)
    found["timeouts"] = world(mechanisms={"stream-timeout": True}, faults=often)
    often |= dict.fromkeys(("overload", "restart", "lost-renewal", "preemption"), 1)
    found["unfenced"] = world(mechanisms={"fence-steps": False}, faults=often)
    pairs = {"rack": {"prefill": 1, "decode": 2}}
    found["pairs"] = world(faults={**often, "prefill-error": 1}, **pairs)
    return found


@pytest.mark.parametrize("name", [*SERVING, "timeouts", "unfenced", "pairs"])
def test_what_is_recorded_of_a_run_adds_up_to_where_it_leads(name: str) -> None:
    for seed in range(6):
        trace = recorded.random_run(worlds()[name], 45, seed)
        final = trace.final
        written_down = recorded.records(trace)
        for index in range(len(final.requests)):
            mine = [each for each in written_down if each.values.get("request", 0) == index]
            adds_up(final, index, Counter((each.witness, each.kind) for each in mine), mine)
        deeds = Counter(each.kind for each in written_down if each.witness == OPERATOR)
        for deed in ("crash", "hang", "resume", "drain", "restart"):
            spent = getattr(final.given, deed) - getattr(final.budget, deed)
            assert deeds[deed] == spent


def adds_up(world: World, index: int, count: Counter[tuple[str, str]], mine: list[Record]) -> None:
    """The state of a request, and what was told of it on the way there."""
    here, flow, back = world.requests[index], world.streams[index], world.retries[index]
    asked_again = back.client
    over = here.phase in TERMINAL
    assert count["frontend", "over"] == asked_again + over
    assert count["client", "end"] == asked_again + (here.phase in (Phase.DONE, Phase.FAILED))
    assert count["client", "left"] == here.gone
    assert count["client", "finish"] >= flow.finished
    assert min(count["frontend", "dispatch"], world.most_dispatches + 1) == back.dispatches
    received = sum(each.received - each.start for each in flow.attempts)
    late = count["client", "token"] - received
    assert late == (-1 if flow.withheld else 0) or not world.protocol.fence_steps
    workers = {each.witness for each in mine} - {"client", "frontend"}
    told = {kind: sum(count[name, kind] for name in workers) for kind in ("emitted", "finished")}
    sent = sum(each.sent - each.start for each in flow.attempts)
    assert told["emitted"] >= sent if world.given.preemption else told["emitted"] == sent
    assert told["finished"] == sum(each.finish is not Finish.NONE for each in flow.attempts)
    if not asked_again and not world.gateway_retries:
        failed = {str(each.values["worker"]) for each in mine if each.kind == "failed"}
        assert len(failed) == len(back.failed)


# -- what nothing allows ----------------------------------------------------------------------


def forced(system: System, state: World, *seen: Observation) -> World:
    force = evidence_of(system).forced
    assert force is not None
    for each in seen:
        after = force(state, each)
        assert after is not None
        system.schema.flatten(after)
        state = after
    return state


def token(position: int, number: int | None = None) -> Observation:
    aside = {} if number is None else {"number": number}
    return Observation("client", "token", {"position": position}, aside)


def test_tokens_that_nothing_allows_are_given_to_the_client_all_the_same() -> None:
    system = world(faults={"crash": 1})
    state = run(system.initial, *CRASH, (retry.dispatch, 0, 1))
    again = forced(system, state, token(0))
    assert again.streams[0].duplicated
    assert not again.streams[0].lost
    assert not again.streams[0].over_budget
    skipped = forced(system, system.initial, token(1))
    assert skipped.streams[0].lost
    assert skipped.streams[0].delivered == 2
    assert forced(system, state, token(7)).streams[0].over_budget
    assert forced(system, again, token(1, number=2)).streams[0].over_budget
    assert not forced(system, state, Observation("client", "token")).streams[0].duplicated


def test_an_end_without_a_finish_leaves_a_request_that_never_ends() -> None:
    system = world()
    state = run(system.initial, *CRASH[:4])
    ended = forced(system, state, Observation("client", "end"))
    assert ended.requests[0].phase is Phase.DECODING
    assert all(retry_or_stream(item, ended) is None for item in (stream.emit, stream.finish))
    finish, usage = Observation("client", "finish"), Observation("client", "usage", {"more": True})
    whole = forced(system, state, finish, usage, Observation("client", "end"))
    assert whole.requests[0].phase is Phase.DONE
    assert whole.streams[0].lost
    assert whole.streams[0].inflated
    failed = forced(system, state, Observation("client", "error"), Observation("client", "end"))
    assert failed.requests[0].phase is Phase.FAILED


def retry_or_stream(item: Any, state: World) -> World | None:
    after: World | None = item(state, 0, 0, 0)
    return after


def test_a_dispatch_that_nothing_allows_is_judged() -> None:
    system = world(faults={"crash": 1})
    removed = Observation("discovery", "removed", {"worker": "worker-1"})
    sent = Observation("frontend", "dispatch", {"worker": "worker-1"})
    judged = forced(system, system.initial, removed, sent).retries[0]
    assert judged.to_removed
    many = forced(system, system.initial, *[sent] * 4)
    assert many.retries[0].dispatches > many.most_dispatches
    crashed = forced(world(), world().initial, Observation("operator", "crash", sent.values))
    assert crashed.endpoints[1].process is endpoint.Process.DOWN


def test_of_what_the_world_does_not_know_nothing_follows() -> None:
    system = world()
    force = evidence_of(system).forced
    assert force is not None
    for witness, kind, values in (
        ("client", "sneeze", {}),
        ("worker-0", "emitted", {"position": 0}),
        ("frontend", "dispatch", {"worker": "worker-9"}),
        ("frontend", "over", {"outcome": "who knows"}),
        ("operator", "crash", {}),
    ):
        assert force(system.initial, Observation(witness, kind, values)) is None
