"""Dynamo in lock step with the model; with the stand-in, and with itself where it is."""

import os
import sys
from pathlib import Path

import pytest
from standing_in import StandIn

from rackproof.checker.adapters.dynamo import DynamoAdapter
from rackproof.checker.adapters.lockstep import Action, Diverged, Limits, Lockstep, Subject
from rackproof.scenarios.live.deployment import Software
from rackproof.scenarios.live.dynamo import VARIABLE, Dynamo
from rackproof.scenarios.loader import loads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc of Linux")
WORLD = """
rackproof: 1
name: two workers
protocol: {stack: dynamo, stream-timeout: true}
rack: {preset: nvl72, aggregated: 2}
scope: {tokens: 3, retry-limit: 1, faults: {crash: 1, hang: 1, resume: 1, leave: 1}}
"""


def run(software: Software, script: str) -> Lockstep:
    """Do what a script says, a word ``served`` for the worker that has the request."""
    system = loads(WORLD, Path("a.yaml")).case.setting.system
    found = Lockstep(Subject.of(lambda: DynamoAdapter(software), system, Limits()))
    try:
        found.start()
        for text in script.split(", "):
            adapter = found.implementation
            assert isinstance(adapter, DynamoAdapter)
            found.do(Action.read(text.replace("served", adapter.served())))
        found.finish()
    finally:
        found.stop()
    return found


def kinds(found: Lockstep) -> list[str]:
    return [seen.kind for entry in found.entries for seen in entry.seen]


def test_a_worker_is_killed_between_two_tokens() -> None:
    found = run(StandIn(), "submit request-0, wait 5, kill served, kill served")
    assert kinds(found) == ["token", "token", "token", "finish", "end"]
    assert found.entries[-2].note == "had no effect: its process is in state X"


def test_a_frontend_that_replays_is_found_out() -> None:
    with pytest.raises(Diverged) as found:
        run(StandIn(bug="replays"), "submit request-0, wait 7, kill served")
    assert found.value.unexplained is not None
    assert found.value.unexplained.at.values["position"] == 0


@pytest.mark.dynamo
@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} is not set: no Dynamo here")
@pytest.mark.parametrize(
    "script",
    [
        "submit request-0",
        "submit request-0, wait 5, kill served",
        "submit request-0, wait 5, freeze served",
        "submit request-0, wait 5, freeze served, wait 20, resume served",
        "submit request-0, wait 5, cancel request-0",
    ],
)
def test_dynamo_itself(script: str) -> None:
    found = kinds(run(Dynamo(Path(os.environ[VARIABLE])), script))
    if "cancel" not in script:
        assert found == ["token", "token", "token", "finish", "end"]
