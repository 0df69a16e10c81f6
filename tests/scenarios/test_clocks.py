"""What files say of time: timeouts of stacks and scenarios, and what is served on what."""

import math
from pathlib import Path

import pytest

from rackproof.model.kernel import System
from rackproof.model.kernel.timing import Timing
from rackproof.model.timing.timeouts import TIMEOUTS
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.loader import loads
from rackproof.scenarios.stacks import load_stack, read_stack, stack_names

HEAD = "rackproof: 1\nname: a test\n"


def timing_of(system: System) -> Timing:
    assert system.timing is not None
    return system.timing


def timing(text: str) -> Timing:
    return timing_of(loads(HEAD + text, Path("t.yaml")).case.setting.system)


def value(found: Timing, name: str) -> object:
    return found.quantities[name].value


def mistakes(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        loads(HEAD + text, Path("t.yaml"))
    return [f"{p.line}: {p.key}: {p.message}" for p in caught.value.problems]


# Stacks.


@pytest.mark.parametrize("stack", stack_names())
def test_what_a_stack_states_has_a_source_of_its_own(stack: str) -> None:
    timeouts = load_stack(stack).timeouts
    assert list(timeouts) == list(TIMEOUTS)
    assert all(quantity.chosen and quantity.source for quantity in timeouts.values())
    text = (Path(__file__).parents[2] / "scenarios" / "stacks" / f"{stack}.yaml").read_text()
    for name, quantity in timeouts.items():
        states = f"\n  {name}:" in text.partition("\ntimeouts:")[2]
        assert states == (quantity is not TIMEOUTS[name])


@pytest.mark.parametrize(
    ("stack", "name", "seconds"),
    [
        ("dynamo", "lease", 10.0),
        ("dynamo", "inhibition", 5.0),
        ("dynamo", "canary", 13.0),
        ("vllm-nixl", "kv-lease", 30.0),
        ("vllm-nixl-timeout", "kv-lease", 480.0),
        ("sglang", "peer-heartbeat", 5.0),
        ("sglang", "load-timeout", 300.0),
        ("mooncake", "store-lease", 10.0),
        ("trtllm", "kv-lease", 60.0),
    ],
)
def test_stacks_have_the_values_of_their_projects(stack: str, name: str, seconds: float) -> None:
    found = timing(f"protocol: {{stack: {stack}}}\n")
    assert value(found, name) == seconds
    assert found.quantities[name].source == load_stack(stack).timeouts[name].source


def stack_mistakes(tmp_path: Path, timeouts: str) -> list[str]:
    file = tmp_path / "mine.yaml"
    file.write_text(f"stack: mine\ntimeouts:\n{timeouts}")
    with pytest.raises(ScenarioError) as caught:
        read_stack(file)
    return [f"{p.line}: {p.key}: {p.message}" for p in caught.value.problems]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("  leese: {value: 1 s, source: s}", "leese: there is no such key; did you mean lease?"),
        ("  lease: {value: 1 s}", "lease: the source is missing"),
        ("  lease: {source: s}", "lease: the value is missing"),
        ("  lease: 10 s", "lease: expected its value and source, not '10 s'"),
        (
            "  lease: {value: 10, source: s}",
            "lease.value: expected a duration, such as 30 s, or none, not 10",
        ),
        ("  lease: {value: 1 s, source: s, sauce: t}", "lease.sauce: there is no such key"),
    ],
)
def test_mistakes_in_a_stack_are_told(tmp_path: Path, line: str, message: str) -> None:
    (found,) = stack_mistakes(tmp_path, line + "\n")
    assert found.startswith(f"3: timeouts.{message}")


def test_a_stack_may_leave_a_timeout_unset(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("stack: mine\ntimeouts:\n  canary: {value: none, source: off}\n")
    canary = read_stack(file).timeouts["canary"]
    assert (canary.value, canary.source) == (math.inf, "off")


# Scenarios.


def test_a_scenario_changes_what_it_names_and_nothing_else() -> None:
    found = timing("protocol: {stack: dynamo}\ntimeouts: {lease: 60 s, stream-timeout: none}\n")
    assert (value(found, "lease"), value(found, "stream-timeout")) == (60.0, math.inf)
    assert found.quantities["lease"].source == "the scenario"
    assert value(found, "inhibition") == 5.0


def test_a_fix_changes_what_the_scenario_has() -> None:
    text = "timeouts: {lease: 60 s}\nfix: {timeouts: {inhibition: 1 s}}\n"
    scenario = loads(HEAD + text, Path("t.yaml"))
    assert scenario.fix is not None
    fixed = timing_of(scenario.fix.setting.system)
    assert (value(fixed, "lease"), value(fixed, "inhibition")) == (60.0, 1.0)


def test_a_deployment_is_what_is_timed() -> None:
    found = timing("deployment: {network-rtt: 2 ms, queue-wait: none, restart-at-worst: 1h}\n")
    assert (value(found, "network-rtt"), value(found, "queue-wait")) == (2e-3, 0.0)
    assert value(found, "restart-at-worst") == 3600.0


def test_a_prompt_of_twice_the_length_takes_twice_as_long() -> None:
    seconds = []
    for text in ("", "deployment: {prompt: 6000}\n"):
        system = loads(HEAD + text, Path("t.yaml")).case.setting.system
        prefill = timing_of(system).quantities["prefill"]
        seconds.append(prefill.seconds(system.initial, next(system.firings())))
    assert seconds[1] == pytest.approx(2 * seconds[0], rel=0.05)


def test_what_describes_a_setting_describes_it_again() -> None:
    text = "timeouts: {lease: 60 s}\ndeployment: {model: llama-3-70b, link-share: 0.5}\n"
    origin = loads(HEAD + text, Path("t.yaml")).case.setting.origin
    assert origin["timeouts"] == {"lease": "60 s"}
    assert origin["deployment"] == {"model": "llama-3-70b", "link-share": 0.5}


def test_time_changes_nothing_that_can_happen() -> None:
    plain = loads(HEAD, Path("t.yaml")).case.setting.system
    timed = loads(HEAD + "timeouts: {lease: 1 s}\n", Path("t.yaml")).case.setting.system
    assert plain.initial == timed.initial
    assert list(plain.transitions) == list(timed.transitions)


def test_every_mistake_about_time_is_told() -> None:
    text = (
        "timeouts: {kv-leese: 30 s, lease: banana, canary: 5, grace-period: 0 s}\n"
        "deployment: {model: lama, prompt: -3, outptu: 3, link-share: 1.5, network-rtt: 1,\n"
        "  gpus: 0, kv-format: bf61, queue-wait: soon}\n"
    )
    found = mistakes(text)
    assert found[0] == ("3: timeouts.canary: expected a duration, such as 30 s, or none, not 5")
    keys = [line.split(": ")[1] for line in found]
    assert keys == [
        "timeouts.canary",
        "timeouts.grace-period",
        "timeouts.kv-leese",
        "timeouts.lease",
        "deployment.link-share",
        "deployment.model",
        "deployment.network-rtt",
        "deployment.outptu",
        "deployment.prompt",
        "deployment.gpus",
        "deployment.kv-format",
        "deployment.queue-wait",
    ]
    assert "did you mean kv-lease?" in found[2]
    assert "did you mean output?" in found[7]
    assert "did you mean bf16?" in found[10]


def test_a_worst_that_is_better_than_the_best_is_a_mistake_of_the_deployment() -> None:
    (found,) = mistakes("deployment: {restart: 700 s}\n")
    assert found == ("3: deployment: restart-at-worst is 600 s, less than the 700 s of restart")


@pytest.mark.parametrize("key", ["timeouts", "deployment"])
def test_a_world_of_ones_own_has_its_own_times(key: str) -> None:
    found = mistakes(f"world: lease.py:world\n{key}: {{}}\n")
    assert any(f"{key}: is of the bundled world; it cannot go with world" in line for line in found)


def test_a_model_that_does_not_fit_is_a_mistake_of_the_deployment() -> None:
    (found,) = mistakes("scope: {tokens: 1}\ndeployment: {model: llama-3-405b}\n")
    assert found.startswith("4: deployment: llama-3-405b does not fit: its weights are 8")
