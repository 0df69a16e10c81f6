"""The catalogue: each property says what it is, why people care and what it would have caught."""

import re
import string
from pathlib import Path

import pytest

from rackproof.invariants import CATALOGUE
from rackproof.model.kernel import Property, Scope
from rackproof.scenarios.loader import load

BUGS = sorted((Path(__file__).parents[2] / "scenarios" / "bugs").glob("*.yaml"))


def reports() -> dict[str, set[str]]:
    """The properties that the scenarios of each report expect to be violated."""
    found: dict[str, set[str]] = {}
    for path in BUGS:
        source = load(path).source or ""
        if match := re.search(r"/(\w+)/(?:issues|pull)/(\d+)$", source):
            expect = load(path).case.expect
            names = {name for name, expected in expect.items() if expected.verdict == "violated"}
            found.setdefault("#".join(match.groups()), set()).update(names)
    return found


@pytest.mark.parametrize("prop", CATALOGUE.values(), ids=CATALOGUE)
def test_a_property_says_what_it_is_and_why_people_care(prop: Property) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", prop.name)
    assert prop.statement.endswith(".")
    assert prop.why.endswith(".")


@pytest.mark.parametrize("prop", CATALOGUE.values(), ids=CATALOGUE)
def test_a_property_says_what_it_is_to_be_broken(prop: Property) -> None:
    assert prop.broken is not None
    assert prop.broken.endswith(".")
    assert "Broken" not in prop.statement
    assert "gain and again" not in prop.statement, "that reads as a defect"
    named = {name for _, name, _, _ in string.Formatter().parse(prop.broken) if name}
    parameters = {name for name, _ in prop.parameters}
    assert named <= parameters
    assert not re.search(r"_| (is|are) (true|false)", prop.broken), "no flags of the model"


@pytest.mark.parametrize("prop", CATALOGUE.values(), ids=CATALOGUE)
def test_a_property_has_a_premise_that_must_be_reached(prop: Property) -> None:
    assert prop.premise is not None
    assert prop.premise.scope is Scope.SOMETIMES
    assert prop.premise.name not in CATALOGUE


def test_properties_name_the_reports_whose_scenarios_violate_them_and_no_others() -> None:
    told = reports()
    violated = {(report, name) for report, names in told.items() for name in names}
    named = {
        (report, prop.name)
        for prop in CATALOGUE.values()
        for report in prop.catches
        if report in told
    }
    assert violated == named


def test_a_scenario_of_a_report_is_named_after_it() -> None:
    for path in BUGS:
        source = load(path).source or ""
        if match := re.search(r"/(\w+)/(?:issues|pull)/(\d+)$", source):
            assert path.stem.startswith("-".join(match.groups()).lower())
