"""A run as data: JSON for a program, and YAML, a scenario that replays it."""

from __future__ import annotations

from rackproof.checker.explain import Explanation
from rackproof.checker.report.machine import explanation_as_data
from rackproof.checker.saving import as_yaml, origin
from rackproof.checker.session import as_json


def json(explanation: Explanation) -> str:
    """One object, as ``explanation_as_data`` describes it."""
    return as_json(explanation_as_data(explanation))


def yaml(explanation: Explanation) -> str:
    """A scenario, to be read in the explanation's folder; named as before, if it was one."""
    assert explanation.setting is not None, "it is of a world that can be loaded"
    names = {prop.name for prop in explanation.trace.system.properties}
    facts = {key: told for key, told, _ in explanation.facts if key in names}
    described = origin(explanation.setting, explanation.base, explanation.folder)
    return as_yaml(
        explanation.trace,
        explanation.prop,
        explanation.title,
        explanation.source,
        described,
        facts,
    )
