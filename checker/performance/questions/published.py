"""Figures that were published, beside those computed, rounded to the digits that were printed."""

from __future__ import annotations

from rackproof.checker.performance.answers import Answer, Column, Table
from rackproof.checker.performance.study import Study, objectives
from rackproof.model.performance.measures import MEASURES, OF_SLO, ideal_hand_off_s
from rackproof.scenarios.performance.plan import Published
from rackproof.scenarios.worlds import InputError

COLUMNS = (
    Column("figure", "figure"),
    Column("", "agrees"),
    Column("published", "published"),
    Column("computed", "rounded"),
    Column("in full", "computed"),
    Column("measure", "measure"),
)


def ask(study: Study) -> Answer:
    """A row a figure; one that differs is a shortfall."""
    plan = study.plan
    if not plan.published:
        raise InputError(f"{plan.path}: there are no published figures in it (published:)")
    rows, shortfalls = [], []
    for figure in plan.published:
        value = computed(study, figure)
        rounded = figure.rounded(value)
        agrees = rounded == figure.printed
        unit = figure.unit
        full = f"{value / figure.factor:,.6g} {unit}"
        told = f"{rounded} {unit}"
        printed = f"{figure.printed} {unit}"
        word = "ok" if agrees else "differs"
        rows.append((figure.title, word, printed, told, full, title(figure)))
        if not agrees:
            shortfalls.append(f"{figure.title}: published {printed}, computed {full}")
    notes = tuple(f"{figure.title}: {figure.note}" for figure in plan.published if figure.note)
    if any(figure.measure in OF_SLO for figure in plan.published):
        notes += objectives(plan.variants)
    table = Table("Published figures", COLUMNS, tuple(rows), notes)
    return Answer("published", (table,), shortfalls=tuple(shortfalls))


def title(figure: Published) -> str:
    """What is measured, with the convention it goes by."""
    if figure.tokens is not None:
        return f"KV of {figure.tokens:,} tokens over the bandwidth"
    return MEASURES[figure.measure].title


def computed(study: Study, figure: Published) -> float:
    """The figure that the model gives, in SI units."""
    variant = study.plan.variant(figure.variant)
    if figure.tokens is not None:
        return ideal_hand_off_s(variant.deployment, figure.tokens)
    return MEASURES[figure.measure].of(study.run(variant))
