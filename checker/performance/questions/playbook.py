"""What is wrong with a run, by which figures, and what is to be tried next?"""

from __future__ import annotations

from rackproof.checker.performance.answers import Answer, Column, Table
from rackproof.checker.performance.baseline import aggregated, uniform
from rackproof.checker.performance.study import Study, objectives, run
from rackproof.model.performance.playbook import Case, findings
from rackproof.model.performance.simulation import Disaggregated
from rackproof.scenarios.performance.plan import Variant

COLUMNS = (
    Column("variant", "variant"),
    Column("diagnosis", "diagnosis"),
    Column("symptom", "symptom"),
    Column("evidence", "evidence"),
    Column("try next", "remedy"),
)


def ask(study: Study) -> Answer:
    """A row a diagnosis that fits a variant."""
    rows = []
    for variant in study.plan.variants:
        found = findings(_case(study, variant))
        rows += [(variant.name, f.diagnosis, f.symptom, f.evidence, f.remedy) for f in found]
        if not found:
            rows.append((variant.name, "none", "nothing stands out", "", ""))
    notes = objectives(study.plan.variants)
    return Answer("playbook", (Table("Diagnoses", COLUMNS, tuple(rows), notes, in_words=True),))


def _case(study: Study, variant: Variant) -> Case:
    """A variant's run, and of a disaggregated one that of an aggregated on the same GPUs, if they
    are all of one kind.
    """
    deployment, baseline = variant.deployment, None
    if isinstance(deployment, Disaggregated) and uniform(deployment):
        study.progress(f"{variant.name}, aggregated")
        other = aggregated(deployment)
        baseline = run(other, variant.workload, variant.slo, variant.warm_up)
    return Case(deployment, variant.slo, study.run(variant), baseline)
