"""Bundled bugs as gates: a run to each is found, and the fix is shown for runs of any length."""

from __future__ import annotations

from pathlib import Path as File

import pytest
from proofs import check_invariant, check_path

from rackproof.checker.lowering import lower
from rackproof.checker.proof.bounded import bounded
from rackproof.checker.proof.obligations import SAFETY, obligation
from rackproof.checker.proof.outcomes import Invariant, Path
from rackproof.checker.proof.pdr import pdr
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Case

SCENARIOS = File(__file__).parents[3] / "scenarios"
BUGS = ("dynamo-7930-guided-request-migrated", "mooncake-3125-space-freed-twice")


def violated(case: Case) -> list[str]:
    """The properties that are to fail, of those that an invariant can show."""
    scopes = {prop.name: prop.scope for prop in case.setting.system.properties}
    wrong = [name for name, expected in case.expect.items() if expected.verdict == "violated"]
    return [name for name in wrong if scopes[name] in SAFETY]


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found_and_its_fix_is_shown(name: str) -> None:
    scenario = load(SCENARIOS / "bugs" / f"{name}.yaml")
    names = violated(scenario.case)
    asked = obligation(lower(scenario.case.setting.system), names)
    shortest, found = bounded(asked), pdr(asked)
    assert isinstance(shortest, Path)
    assert isinstance(found, Path)
    assert len(check_path(asked, shortest).steps) <= len(check_path(asked, found).steps)
    assert scenario.fix is not None
    mended = obligation(lower(scenario.fix.setting.system), names)
    shown = pdr(mended)
    assert isinstance(shown, Invariant)
    check_invariant(mended, shown)
