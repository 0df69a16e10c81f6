import json
import os
import runpy
import threading
import time
from collections.abc import Sequence
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

import pytest
from attrs import evolve

from rackproof.checker.lockstep.check import WORLD, Options, conforms
from rackproof.checker.lockstep.machine import Found, repeat, search, size
from rackproof.checker.lockstep.run import Action, Limits, Subject
from rackproof.checker.lockstep.telling import report
from rackproof.model.kernel import Observation
from rackproof.scenarios.live.dynamo import VARIABLE
from rackproof.scenarios.loader import load, loads
from rackproof.scenarios.worlds import InputError
from rackproof.testing import lockstep
from rackproof.testing.adapters import Adapter, Ask, Ineffective, Setup, seen
from rackproof.testing.dynamo import Dynamo, DynamoAdapter, find_python
from rackproof.testing.fake import Bug, FakeAdapter
from rackproof.testing.http import HttpAdapter, Signals

pytestmark = pytest.mark.xdist_group("lockstep")  # the steps of a world are found out once

ROOT = Path(__file__).parents[2]
BREAKS = {
    Bug.REPLAYS: "no-duplicate-tokens",
    Bug.SKIPS: "no-lost-tokens",
    Bug.ZOMBIES: "no-duplicate-tokens",
    Bug.OVERRUNS: "max-tokens-kept",
    Bug.REFUSES: "complete-output-succeeds",
    Bug.RETRIES: "bounded-retries",
    Bug.RETURNS: "retries-go-elsewhere",
    Bug.SILENT: "progress",
    Bug.USAGE: "usage-exact",
    Bug.ENDS: "clear-failure",
}
FAULTS = "crash: 2, hang: 1, resume: 1, drain: 1, restart: 1, leave: 1, disconnect: 1"
CHANGES = {
    Bug.REPLAYS: "replay-delivered: false",
    Bug.ZOMBIES: "fence-attempts: false",
    Bug.OVERRUNS: "zero-budget: emit",
    Bug.REFUSES: "zero-budget: refuse",
    Bug.RETURNS: "exclude-failed-workers: false",
}
FROZEN = "hang: 1, resume: 1"
NEEDS = {Bug.ZOMBIES: FROZEN, Bug.SILENT: "hang: 1", Bug.RETRIES: "crash: 2"}


@cache
def subject(faults: str = FAULTS, workers: int = 2, tokens: int = 2) -> Subject:
    text = WORLD.format(stack="reference").replace(FAULTS, faults)
    text = text.replace("aggregated: 3", f"aggregated: {workers}")
    text = text.replace("tokens: 3", f"tokens: {tokens}")
    system = loads(text, Path("world.yaml")).case.setting.system
    return Subject.of(FakeAdapter, system, Limits())


def with_bug(bug: Bug) -> Subject:
    workers = 3 if bug is Bug.RETRIES else 2
    known = subject(NEEDS.get(bug, "disconnect: 1"), workers)
    return evolve(known, make=lambda: FakeAdapter([bug]))


def actions(text: str) -> list[Action]:
    return [Action.read(one) for one in text.split(";")]


def test_correct_stack_conforms_in_hundreds_of_steps() -> None:
    some = subject("crash: 1, drain: 1, restart: 1, leave: 1, disconnect: 1")
    tally, found = search(some, 12, 12, 1)
    assert found is None
    assert tally.runs >= 12
    assert sum(tally.actions.values()) > 100
    assert {"submit", "wait"} < tally.actions.keys()
    assert not tally.broken


@pytest.mark.parametrize("bug", Bug)
def test_each_bug_is_found_and_named(bug: Bug) -> None:
    _, found = search(with_bug(bug), 150, 12, 1)
    assert found is not None
    text, judgement = report(found, "stack:reference")
    assert judgement is not None
    assert BREAKS[bug] in {broken.prop for broken in judgement.broken}, text
    assert BREAKS[bug] in text
    assert CHANGES.get(bug, "") in text
    assert size(found.actions) <= size(found.first)
    assert size(found.actions)[0] <= 4


def test_failure_can_be_read() -> None:
    done = actions("submit request-0; wait 3; freeze worker-1; wait 5; resume worker-1; wait 3")
    found = repeat(with_bug(Bug.ZOMBIES), done)
    assert found is not None
    text, _ = report(found, "stack:reference")
    assert text.startswith("lock step with stack:reference: the implementation did what no run of")
    assert "client token: position 1   <-- this" in text
    assert "the model allowed instead:\n  frontend done: attempt 1, worker worker-0" in text
    assert "it lacks:\n  The frontend gets a token of request-0 (attempt-1)" in text
    assert "no-duplicate-tokens: The client of request-0" in text
    assert 'actions="submit request-0; wait 3; freeze worker-1' in text


def test_same_seed_makes_the_same_runs() -> None:
    first, second = (search(with_bug(Bug.USAGE), 40, 12, 5)[1] for _ in range(2))
    assert first is not None
    assert second is not None
    assert (first.runs, first.first, first.actions) == (second.runs, second.first, second.actions)


class Silent(Adapter):
    """Workers that answer nothing, and a frontend that ends each request with an error."""

    complete = frozenset({("client", "token"), ("client", "error"), ("client", "end")})

    def launch(self, setup: Setup) -> None:
        self.setup, self.told = setup, list[Observation]()

    def stop(self) -> None:
        pass

    def submit(self, ask: Ask) -> None:
        self.told += [seen.error(ask.request), seen.end(ask.request)]

    def advance(self) -> bool:
        return False

    def observe(self) -> Sequence[Observation]:
        told, self.told = self.told, []
        return told


def test_faults_that_an_adapter_has_not_are_never_chosen() -> None:
    class Killing(Silent):
        def kill(self, worker: str) -> None:
            raise Ineffective(f"{worker} cannot be killed")

        def submit(self, ask: Ask) -> None:
            self.asked = ask

        def cancel(self, request: str) -> None:
            pass

    assert Killing().supported == {"submit", "kill", "cancel"}
    tally, _ = search(evolve(subject(), make=Killing), 20, 8, 0)
    assert tally.actions.keys() <= {"submit", "kill", "cancel", "wait"}


def test_error_without_a_fault_is_no_behaviour_of_the_reference() -> None:
    found = repeat(evolve(subject(), make=Silent), actions("submit request-0"))
    assert found is not None
    assert "no-failure-without-fault" in report(found, "w")[0]


def failing(adapter: type[Adapter], limits: Limits) -> str:
    found = repeat(evolve(subject(), make=adapter, limits=limits), actions("submit request-0"))
    assert isinstance(found, Found)
    return report(found, "w")[0]


def test_adapter_that_raises_is_told_as_such() -> None:
    class Raising(Silent):
        def submit(self, ask: Ask) -> None:
            raise ConnectionError(f"no route to {ask.request}")

    text = failing(Raising, Limits())
    assert "the adapter failed" in text
    assert "submit request-0: raised ConnectionError: no route to request-0" in text


def test_adapter_that_hangs_is_interrupted() -> None:
    class Hanging(Silent):
        def observe(self) -> Sequence[Observation]:
            time.sleep(60)
            return []

    assert "observe: did not return within 0.05 s" in failing(Hanging, Limits(0.05))


def test_adapter_that_is_never_quiet_is_given_up() -> None:
    class Restless(Silent):
        def submit(self, ask: Ask) -> None:
            self.asked = ask

        def advance(self) -> bool:
            return True

    assert "after 50 steps it goes on" in failing(Restless, Limits(steps=50))


def test_what_is_no_observation_is_told() -> None:
    class Wrong(Silent):
        def observe(self) -> Sequence[Observation]:
            return ["token"]  # type: ignore[list-item]

    assert "observe: returned 'token', which is no Observation" in failing(Wrong, Limits())


def test_asynchronous_stack_may_have_answered_before_it_was_killed() -> None:
    class Late(Outside):
        """All that clients get arrives late; but in order."""

        asynchronous = True

    late = evolve(subject("crash: 1"), make=Late)
    done = actions("submit request-0; wait 3; kill worker-1; wait 9")
    assert repeat(late, done) is None
    found = repeat(evolve(late, make=lambda: Late([Bug.REPLAYS])), done)
    assert found is not None
    assert "no-duplicate-tokens" in report(found, "w")[0]


def test_failure_is_saved_as_a_scenario_that_replays(tmp_path: Path) -> None:
    options = Options(
        actions="submit request-0; wait 3; partition request-0; wait 9", save=tmp_path
    )
    with pytest.raises(AssertionError, match="no-duplicate-tokens"):
        conforms("stack:reference", lambda: FakeAdapter([Bug.REPLAYS]), options)
    saved = load(tmp_path / "lockstep-no-duplicate-tokens.yaml")
    assert saved.steps
    assert saved.steps[-1].firing.transition.name in ("disconnect", "notice")


def test_one_line_is_a_test() -> None:
    test = lockstep("stack:reference", FakeAdapter, actions="submit request-0; kill worker-0")
    test()
    misspelt = lockstep("stack:reference", Misspelt)
    with pytest.raises(InputError, match=r"Misspelt\.complete: .*did you mean finish"):
        misspelt()
    wrong = lockstep("stack:reference", FakeAdapter, actions="submit")
    with pytest.raises(InputError, match="is no action"):
        wrong()


class Misspelt(FakeAdapter):
    complete = frozenset({*FakeAdapter.complete, ("client", "finnish")})


class Outside(FakeAdapter):
    """Only what clients get is seen."""

    complete = Adapter.complete

    def observe(self) -> Sequence[Observation]:
        return [item for item in super().observe() if item.witness == "client"]


def test_two_requests_are_told_apart() -> None:
    text = WORLD.format(stack="reference").replace("tokens: 3", "tokens: 2\n  requests: 2")
    text = text.replace(FAULTS, "disconnect: 1").replace("aggregated: 3", "aggregated: 2")
    two = Subject.of(FakeAdapter, loads(text, Path("w")).case.setting.system, Limits())
    both = actions("submit request-1; wait 3; submit request-0; wait 5")
    assert repeat(evolve(two, make=Outside), both) is None
    done = actions("submit request-1; wait 3; partition request-1; wait 5")
    assert repeat(two, done) is None
    found = repeat(evolve(two, make=lambda: FakeAdapter([Bug.REPLAYS])), done)
    assert found is not None
    told = report(found, "w")[0]
    assert "No run of the model explains frontend dispatch: request request-1, attempt 1" in told
    assert "it lacks" not in told, "it is another value of what the model allowed"
    assert "no-duplicate-tokens: The client of request-1 was sent a token twice." in told


def test_documented_adapter_passes() -> None:
    example = runpy.run_path(str(ROOT / "docs/examples/adapters/test_stack.py"))
    adapter = example["MyAdapter"]
    assert adapter().supported == {"submit", "kill"}
    tally = conforms("stack:reference", adapter, Options(examples=4))
    assert tally.actions["kill"]
    assert not tally.broken


def serve(numbers: Sequence[int]) -> HTTPServer:
    """A server of OpenAI's protocol, of which every answer has these tokens."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            pieces = [{"delta": {"content": f"t{number} "}} for number in numbers]
            for choice in (*pieces, {"delta": {}, "finish_reason": "length"}):
                self.wfile.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.mark.parametrize(("numbers", "prop"), [([0, 1], ""), ([0, 0, 1], "no-duplicate-tokens")])
def test_any_server_of_the_openai_protocol_is_driven(numbers: list[int], prop: str) -> None:
    with serve(numbers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        class Served(Signals, HttpAdapter):
            def launch(self, _setup: Setup) -> None:
                self.url, self.silence = f"http://127.0.0.1:{server.server_port}", 1.0

        assert Served().supported == {"submit", "cancel", "kill", "freeze", "resume"}
        served = evolve(subject("disconnect: 1"), make=Served)
        found = repeat(served, actions("submit request-0; wait 2"))
        server.shutdown()
    assert (found is None) == (not prop)
    assert found is None or prop in report(found, "w")[0]


@pytest.mark.dynamo
@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} is not set: no Dynamo here")
def test_dynamo_does_what_its_model_does() -> None:
    known = ("usage-exact", "complete-output-succeeds")
    options = Options(
        known=known, actions="submit request-0; wait 6; kill worker-1; freeze worker-2; wait 9"
    )
    tally = conforms("stack:dynamo", lambda: DynamoAdapter(Dynamo(find_python(None))), options)
    assert tally.seen
