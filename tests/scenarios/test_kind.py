"""Which files are for simulate, and which for verify: both can have a deployment."""

import pytest

from rackproof.scenarios.performance.kind import is_plan


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("rackproof: 1\nname: x\ndeployment:\n  model: m\nworkload:\n  rate: 1\n", True),
        ("workload: {}\n", True),
        ("rackproof: 1\ndeployment: {}\nslo: {}\nexpect: {}\n", True),
        ("protocol:\n  stack: dynamo\ndeployment:\n  queue-wait: 40 s\n", False),
        ("scope: {}\ndeployment: {}\n", False),
        ("timeouts: {}\ndeployment: {}\n", False),
        ("protocol: {}\ndeployment: {}\nworkload: {}\n", True),
        ("protocol:\n  workload: 1\n", False),
        ("# deployment: {}\n", False),
        ("", False),
    ],
)
def test_a_plan_has_a_workload_or_a_deployment_alone(text: str, is_one: bool) -> None:
    assert is_plan(text) is is_one
