"""Do the variants keep what is expected of them (expect:)? Measures of runs, with bounds."""

from __future__ import annotations

from rackproof.checker.performance.answers import Answer, Column, Table
from rackproof.checker.performance.questions.run import UNITS
from rackproof.checker.performance.study import Study, objectives
from rackproof.model.performance.measures import MEASURES, OF_SLO
from rackproof.scenarios.performance.plan import Expected
from rackproof.scenarios.worlds import InputError

COLUMNS = (
    Column("variant", "variant"),
    Column("measure", "measure"),
    Column("", "kept"),
    Column("expected", "expected"),
    Column("computed", "computed"),
)


def ask(study: Study) -> Answer:
    """A row a bound and variant; one that is not kept is a shortfall."""
    plan = study.plan
    if not plan.expected:
        raise InputError(f"{plan.path}: nothing is expected in it (expect:)")
    rows, shortfalls = [], []
    for bound in plan.expected:
        measure = MEASURES[bound.measure]
        for variant in plan.variants:
            if bound.variant not in ("", variant.name):
                continue
            value = measure.of(study.run(variant))
            shown, wanted = UNITS[measure.kind].shown(value, 4), in_words(bound)
            word = "ok" if bound.holds(value) else "missed"
            rows.append((variant.name, measure.title, word, wanted, shown))
            if word == "missed":
                shortfalls.append(f"{variant.name}: {measure.title} is {shown}, expected {wanted}")
    by_slo = {bound.measure for bound in plan.expected} & OF_SLO
    notes = objectives(plan.variants) if by_slo else ()
    return Answer(
        "expected",
        (Table("Expectations", COLUMNS, tuple(rows), notes, names=2),),
        (),
        (),
        tuple(shortfalls),
    )


def in_words(bound: Expected) -> str:
    """At least 99.0 % and at most ..."""
    unit = UNITS[MEASURES[bound.measure].kind]
    sides = (("at least", bound.least), ("at most", bound.most))
    return " and ".join(
        f"{side} {unit.shown(value, 4)}" for side, value in sides if value is not None
    )
