"""The driver, with a stand-in for Dynamo of the same command lines (tests/support/standin)."""

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve
from standing_in import StandIn

from rackproof.checker.replay import replay
from rackproof.scenarios.live.client import FIRST, Stream
from rackproof.scenarios.live.deployment import Deployment, Failed, Settings, deployed
from rackproof.scenarios.live.network import LOOPBACK, own_network, refuses
from rackproof.scenarios.live.observed import broken
from rackproof.scenarios.live.plan import Action, Asked, Plan, Point, planned
from rackproof.scenarios.live.processes import until
from rackproof.scenarios.live.recorder import Tail
from rackproof.scenarios.live.trial import Seen, carry_out
from rackproof.scenarios.loader import load

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc of Linux")
SETTINGS = Settings(workers=2, migration_limit=2, pause=0.004)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("live") / "run"
    with deployed(StandIn(), SETTINGS, folder) as found:
        yield found


def positions(stream: Stream) -> list[int]:
    return [token - FIRST for token in stream.tokens]


def ended(live: Deployment, tag: str, tokens: int = 6) -> Stream:
    stream = live.send(tag, tokens)
    assert live.finish(stream, 10)
    return stream


def test_a_request_that_nothing_happens_to(live: Deployment) -> None:
    stream = ended(live, "plain")
    assert positions(stream) == [0, 1, 2, 3, 4, 5]
    assert (stream.status, stream.finish, stream.end) == (200, "length", "done")
    assert stream.usage == {"prompt_tokens": 4, "completion_tokens": 6}
    lines = [json.loads(line) for line in (live.folder / "sse_plain.jsonl").open()]
    assert lines[0]["request"]["max_tokens"] == 6
    assert lines[1]["status"] == 200
    assert lines[-1]["end"] is True


@pytest.mark.parametrize(
    ("hook", "found", "finish", "error"),
    [
        ({"do": "shutdown", "at": 3}, [0, 1, 2, 3, 4, 5], "length", None),
        ({"do": "end", "at": 3}, [0, 1, 2], None, None),
        ({"do": "rewind", "at": 3, "to": 1}, [0, 1, 2, 1, 4, 5], "length", None),
    ],
)
def test_hooks_of_the_oracle(
    live: Deployment, hook: dict[str, object], found: list[int], finish: str | None, error: object
) -> None:
    live.hook("one", **hook)
    stream = ended(live, f"hook-{hook['do']}")
    assert positions(stream) == found
    assert (stream.finish, stream.error) == (finish, error)
    told = [
        line for w in live.workers.values() for line in w.emitted.read() if line["ev"] == "fault"
    ]
    assert told[-1]["at"] == 3


def test_a_worker_holds_at_a_place_until_it_is_let_go(live: Deployment) -> None:
    file = live.hook("hold", do="hold", at=4)
    stream = live.send("held", 6)
    assert until(file.with_suffix(".taken").exists, 10)
    assert stream.wait(4, 10)
    assert not stream.wait(5, 0.05)
    file.with_suffix(".taken").unlink()
    assert live.finish(stream, 10)
    assert positions(stream) == [0, 1, 2, 3, 4, 5]


def test_a_client_that_leaves_is_recorded_as_such(live: Deployment) -> None:
    file = live.hook("stay", do="stall", at=2)
    stream = live.send("left", 6)
    assert until(file.with_suffix(".taken").exists, 10)
    stream.leave()
    assert stream.end == "left"
    assert json.loads((live.folder / "sse_left.jsonl").read_text().splitlines()[-1])["left"]


def test_everything_ends_whatever_happens(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def interrupted() -> None:
        with deployed(StandIn(), evolve(SETTINGS, workers=1), folder) as live:
            live.hang(live.workers["w0"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    events = [json.loads(line) for line in (folder / "events.jsonl").open()]
    pids = [event["pid"] for event in events if event["kind"] == "spawn"]
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.killpg(pid, 0)
    assert not (folder / "scratch").exists()
    assert [event["kind"] for event in events if event["kind"] in ("chaos", "effect")] == [
        "chaos",
        "effect",
    ]


def test_a_worker_that_does_not_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    class Broken(StandIn):
        def worker(self, *_: object) -> list[str]:  # type: ignore[override]
            return [sys.executable, "-c", "raise SystemExit('no model here')"]

    with (
        pytest.raises(Failed, match=r"w0 ended with status 1; .*no model here"),
        deployed(Broken(), SETTINGS, tmp_path / "run"),
    ):
        pass


def test_a_fault_without_effect_is_no_fault(
    live: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rackproof.scenarios.live.deployment.EFFECT", 0.05)
    worker = live.workers["w0"]
    monkeypatch.setattr(worker.child, "signal", lambda _number: None)
    with pytest.raises(Failed, match="SIGSTOP of w0 had no effect"):
        live.hang(worker)


def test_what_is_there_of_a_log_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    tail = Tail(path)
    assert tail.read() == []
    path.write_bytes(b'{"a": 1}\nno json\n[1]\n{"b"')
    assert tail.read() == [{"a": 1}]
    with path.open("ab") as file:
        file.write(b": 2}\n")
    assert tail.read() == [{"a": 1}, {"b": 2}]


def test_a_network_of_its_own_has_loopback_alone() -> None:
    with socket.create_server((LOOPBACK, 0)) as outside:
        port = outside.getsockname()[1]
        with own_network() as shared:
            if shared is not None:
                pytest.skip(f"no network of its own: {shared}")
            assert refuses(LOOPBACK, port)
            with socket.create_server((LOOPBACK, port)):  # nobody has it here
                assert not refuses(LOOPBACK, port)
        assert not refuses(LOOPBACK, port)


# -- plans ------------------------------------------------------------------------------------


def faults(*actions: tuple[str, str | None, int | str], **settings: object) -> Plan:
    """Two workers, 8 tokens, and these faults, all of attempt 0."""
    done = tuple(
        Action(step, Point(0, place), does, worker)
        for step, (does, worker, place) in enumerate(actions, 1)
    )
    changed = evolve(SETTINGS, **settings)  # type: ignore[arg-type]
    before = sum(place == "before" for _, _, place in actions)
    asked = (Asked(0, "request-0", before, {0: "a", 1: "b"}),)
    return Plan(changed, ("oracle",) * 2, ("a", "b"), asked, 8, done, ())


def tried(plan: Plan, folder: Path, bug: str = "") -> tuple[Seen, dict[str, str]]:
    seen = carry_out(plan, StandIn(bug=bug), folder / "run", every=0.1)
    return seen, {fact.prop: fact.sentence for fact in broken(plan, seen)}


def test_a_crash_in_the_middle_goes_on_elsewhere(tmp_path: Path) -> None:
    seen, told = tried(faults(("crash", "a", 5)), tmp_path)
    assert told == {}
    assert positions(seen.stream) == list(range(8))
    assert seen.bound == {"a": "w0"}
    assert [route.worker.name for route in seen.routes] == ["w0", "w1"]


def test_a_prefill_worker_dies_and_another_one_is_asked(tmp_path: Path) -> None:
    scenario = load(Path("scenarios/drills/prefill-worker-dies.yaml"))
    plan = planned(scenario.case.setting, replay(scenario).trace.steps, scale=4)
    assert [action.point for action in plan.actions] == [Point(0, "prefill")]
    seen, told = tried(evolve(plan, settings=evolve(plan.settings, pause=0.004)), tmp_path)
    assert told == {}
    assert positions(seen.stream) == [0, 1, 2, 3]
    (effect,) = seen.effects
    assert seen.bound == {"prefill-0": effect.worker}
    other = {"p0": "p1", "p1": "p0"}[effect.worker]
    assert [(route.worker.name, route.error) for route in seen.routes] == [
        (effect.worker, "disconnected"),
        (other, None),
        ("d0", None),
    ]


def test_two_requests_of_which_one_loses_its_worker_which_starts_again(tmp_path: Path) -> None:
    done = (Action(3, Point(0, 2, 1), "crash", "b"), Action(4, Point(0, 2, 1), "restart", "b"))
    asked = (Asked(0, "request-0", 1, {0: "a"}), Asked(1, "request-1", 2, {0: "b", 1: "a"}))
    plan = Plan(SETTINGS, ("oracle",) * 2, ("a", "b"), asked, 6, done, ())
    seen, told = tried(plan, tmp_path)
    assert told == {}
    assert [positions(had.stream) for had in seen.requests] == [list(range(6))] * 2
    assert [len(had.routes) for had in seen.requests] == [1, 2]
    assert [effect.did for effect in seen.effects] == ["SIGKILL", "restart"]
    lines = [json.loads(line) for line in (seen.folder / "events.jsonl").open()]
    of = [line["instance"] for line in lines if line["kind"] == "worker_ready"]
    assert len(of) == len(set(of)) == 3  # the new one has a number of its own


def test_each_attempt_is_broken_where_its_worker_waits(tmp_path: Path) -> None:
    plan = faults(("crash", "a", 3), migration_limit=1)
    second = Action(2, Point(1, 3), "crash", "b")
    seen, told = tried(evolve(plan, actions=(*plan.actions, second)), tmp_path)
    assert [effect.worker for effect in seen.effects] == ["w0", "w1"]
    assert [route.error for route in seen.routes] == ["disconnected", "disconnected"]
    assert positions(seen.stream) == [0, 1, 2]
    assert seen.stream.error == "503"
    assert told == {}


def test_a_frontend_that_replays_is_seen_to(tmp_path: Path) -> None:
    _, told = tried(faults(("crash", "a", 5)), tmp_path, "replays")
    assert told["no-duplicate-tokens"] == "5 tokens came twice, the first at position 0"
    assert told["max-tokens-kept"] == "the client got 13 tokens for a limit of 8"


def test_a_frozen_worker_and_a_point_that_is_not_reached(tmp_path: Path) -> None:
    plan = faults(("hang", "a", 2), ("crash", "b", 1), stream_timeout=0.3)
    seen, told = tried(plan, tmp_path)
    assert [effect.did for effect in seen.effects] == ["SIGSTOP"]
    assert seen.effects[0].seen.endswith("says T (stopped)")
    assert seen.missed is not None  # attempt 1 begins at position 2
    assert "attempt 0, before the token at position 1: the stream was over" in seen.missed
    assert positions(seen.stream) == list(range(8))
    assert seen.stream.gap > 0.25
    assert set(told) <= {"no-untested-restore"}


def test_a_drained_worker_leaves_discovery_and_an_end_without_a_word(tmp_path: Path) -> None:
    plan = faults(("drain", "b", "before"), ("crash", "a", 3), migration_limit=0)
    seen, told = tried(plan, tmp_path, "silent")
    assert [effect.did for effect in seen.effects] == ["SIGTERM", "SIGKILL"]
    assert told == {"clear-failure": "the stream ended after 3 tokens, with no finish and no error"}


def test_nothing_is_left_of_a_driver_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, os, signal; from pathlib import Path; sys.path.insert(0, sys.argv[1]); "
        "from standing_in import StandIn; "
        "from rackproof.scenarios.live.deployment import Settings, deployed\n"
        "with deployed(StandIn(), Settings(workers=1), Path(sys.argv[2])):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    here = str(Path("tests/support").absolute())
    status = os.spawnv(
        os.P_WAIT, sys.executable, [sys.executable, "-c", code, here, str(tmp_path / "run")]
    )
    assert status == -signal.SIGKILL
    events = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").open()]
    for event in events:
        if event["kind"] == "spawn":
            assert until(lambda pid=event["pid"]: not Path(f"/proc/{pid}").exists(), 5)  # type: ignore[misc]
