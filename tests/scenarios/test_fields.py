"""Fields by name: any part of a path will do that leaves no doubt."""

from pathlib import Path

import pytest
from worlds import WORLDS, pool

from rackproof.model.kernel import System
from rackproof.scenarios.fields import Field, Fields
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting


def bundled() -> System:
    return bundled_setting(Bundled(scope={"requests": 2}), Path()).system


@pytest.mark.parametrize("name", [*WORLDS, "bundled"])
def test_the_short_name_of_a_field_finds_it_again(name: str) -> None:
    system = bundled() if name == "bundled" else WORLDS[name][0]()
    fields = Fields(system)
    assert fields.all
    for field in fields.all:
        assert fields.find(fields.short[field.label], None) == field
        assert fields.find(field.label, None) == field
        assert len(fields.short[field.label]) <= len(field.label)


@pytest.mark.parametrize(
    ("key", "value", "label"),
    [
        ("phase", None, "requests[request-0].phase"),
        ("request-0.phase", None, "requests[request-0].phase"),
        ("requests.phase", None, "requests[request-0].phase"),
        ("request-0", "done", "requests[request-0].phase"),
        ("worker-1.health", None, "workers[worker-1].health"),
        ("worker-1", "down", "workers[worker-1].health"),
        ("crashes_left", None, "crashes_left"),
        ("crashes-left", None, "crashes_left"),
        ("tried", None, "requests[request-0].tried"),
    ],
)
def test_ways_to_name_a_field(key: str, value: object, label: str) -> None:
    found = Fields(pool(2, 1, 1)).find(key, value)
    assert isinstance(found, Field)
    assert found.label == label


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("health", None, "could mean any of 2 fields (workers[worker-0].health, workers[worker-1]"),
        ("worker-1", "done", "the world has no such field"),
        ("request-7.phase", None, "the world has no such field"),
        ("phase.request-0", "done", "the world has no such field"),
        ("", None, "'' names no field"),
    ],
)
def test_what_names_no_one_field(key: str, value: object, why: str) -> None:
    found = Fields(pool(2, 1, 1)).find(key, value)
    assert isinstance(found, str)
    assert found.startswith(why)
