import runpy
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from rackproof.checker.lockstep.check import WORLD, Options, conforms
from rackproof.checker.lockstep.machine import Found, repeat, search, size
from rackproof.checker.lockstep.run import Action, Limits, Subject
from rackproof.checker.lockstep.telling import report
from rackproof.model.kernel import Observation
from rackproof.scenarios.loader import load, loads
from rackproof.scenarios.worlds import InputError
from rackproof.testing import lockstep
from rackproof.testing.adapters import Adapter, Ask, Ineffective, Setup, seen
from rackproof.testing.fake import Bug, FakeAdapter

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
NEEDS = {Bug.ZOMBIES: "hang: 1, resume: 1", Bug.SILENT: "hang: 1, resume: 1"}


@cache
def subject(faults: str = FAULTS, stack: str = "reference") -> Subject:
    text = WORLD.format(stack=stack).replace(FAULTS, faults)
    system = loads(text, Path("world.yaml")).case.setting.system
    return Subject.of(FakeAdapter, system, Limits())


def with_bug(bug: Bug) -> Subject:
    return evolve(
        subject(NEEDS.get(bug, "crash: 2, disconnect: 1")), make=lambda: FakeAdapter([bug])
    )


def actions(text: str) -> list[Action]:
    return [Action.read(one) for one in text.split(";")]


def test_correct_stack_conforms_in_hundreds_of_steps() -> None:
    tally, found = search(subject(), 12, 12, 1)
    assert found is None
    assert tally.runs >= 12
    assert sum(tally.actions.values()) > 150
    assert {"submit", "kill", "wait"} <= tally.actions.keys()
    assert not tally.broken


@pytest.mark.parametrize("bug", Bug)
def test_each_bug_is_found_and_named(bug: Bug) -> None:
    _, found = search(with_bug(bug), 150, 12, 1)
    assert found is not None
    text, judgement = report(found, "stack:reference")
    assert judgement is not None
    assert BREAKS[bug] in {broken.prop for broken in judgement.broken}, text
    assert BREAKS[bug] in text
    assert size(found.actions) <= size(found.first)
    assert size(found.actions)[0] <= 4


def test_failure_can_be_read() -> None:
    done = actions("submit request-0; wait 3; freeze worker-1; wait 5; resume worker-1; wait 3")
    found = repeat(with_bug(Bug.ZOMBIES), done)
    assert found is not None
    text, _ = report(found, "stack:reference")
    assert text.startswith("lock step with stack:reference: the implementation did what no run of")
    assert "client token: position 1   <-- this" in text
    assert "the model allowed instead:\n  client token: position 2" in text
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
    class Late(FakeAdapter):
        """All that clients get arrives late; but in order."""

        complete = Adapter.complete | {("client", "usage")}
        asynchronous = True

        def observe(self) -> Sequence[Observation]:
            return [item for item in super().observe() if item.witness == "client"]

    late = evolve(subject("crash: 2, disconnect: 1"), make=Late)
    done = actions("submit request-0; wait 4; kill worker-1; wait 9")
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
    wrong = lockstep("stack:reference", FakeAdapter, actions="submit")
    with pytest.raises(InputError, match="is no action"):
        wrong()


def test_two_requests_are_told_apart() -> None:
    text = WORLD.format(stack="reference").replace("tokens: 3", "tokens: 1\n  requests: 2")
    text = text.replace(FAULTS, "crash: 1").replace("aggregated: 3", "aggregated: 2")
    two = Subject.of(FakeAdapter, loads(text, Path("w")).case.setting.system, Limits())
    done = actions("submit request-1; wait 9; submit request-0")
    assert repeat(two, done) is None


def test_documented_adapter_passes() -> None:
    example = runpy.run_path(str(ROOT / "docs/examples/adapters/test_stack.py"))
    adapter = example["MyAdapter"]
    assert adapter().supported == {"submit", "kill"}
    tally = conforms("stack:reference", adapter, Options(examples=6))
    assert tally.actions["kill"]
    assert not tally.broken
