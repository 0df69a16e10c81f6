"""A file with its runs: each variant is simulated once, whatever is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from attrs import define, field

from rackproof.checker.performance.answers import Unit
from rackproof.model.performance.parallel import ExpertParallel
from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import Deployment, Pool, Run, Slo, simulate
from rackproof.scenarios.performance.plan import Plan, Variant, Workload

Progress = Callable[[str], None]

EXPERT_STEPS: Final = (
    "with expert parallelism steps come out too short, by 1.04 to 14 times beside those measured "
    "of DeepSeek-V3: times, rates and energy are what is least possible"
)
"""What docs/performance.md found of them."""


def quiet(_text: str) -> None:
    """Progress that nobody watches."""


@define
class Study:
    """What a question asks: the plan, and runs of its variants. progress: is told what runs now."""

    plan: Plan
    progress: Progress = quiet
    _runs: dict[str, Run] = field(factory=dict)

    @property
    def base(self) -> Variant:
        """The first variant, of which questions with one deployment are asked."""
        return self.plan.variants[0]

    def run(self, variant: Variant) -> Run:
        """The run of a variant of the plan."""
        if variant.name not in self._runs:
            self.progress(variant.name)
            self._runs[variant.name] = run(
                variant.deployment, variant.workload, variant.slo, variant.warm_up
            )
        return self._runs[variant.name]

    def runs(self) -> list[tuple[Variant, Run]]:
        """Every variant with its run."""
        return [(variant, self.run(variant)) for variant in self.plan.variants]


def objectives(variants: Sequence[Variant]) -> tuple[str, ...]:
    """What requests are to keep, and until when the first token counts: once, if all the same."""
    told = {variant.name: _in_words(variant.slo) for variant in variants}
    words = dict.fromkeys(told.values())
    if len(words) == 1:
        return tuple(f"SLO: {one}." for one in words)
    return tuple(f"SLO of {name}: {one}." for name, one in told.items())


def cautions(variants: Sequence[Variant]) -> tuple[str, ...]:
    """What is known to be wrong with figures of these variants."""
    names = ", ".join(one.name for one in variants if any(map(_dealt, one.deployment.pools)))
    return (f"{names}: {EXPERT_STEPS}",) if names else ()


def _dealt(pool: Pool) -> bool:
    """Whether its experts are dealt to its GPUs."""
    return isinstance(pool.engine, Engine) and isinstance(pool.engine.parallel, ExpertParallel)


def _in_words(slo: Slo) -> str:
    seconds = Unit.SECONDS.shown
    first = f"first token ({slo.convention.text}) within {seconds(slo.ttft_s)}"
    return f"{first}, then {seconds(slo.tpot_s)} a token"


def run(deployment: Deployment, workload: Workload, slo: Slo, warm_up: float) -> Run:
    """One simulation; the workload is gone through request by request."""
    return simulate(deployment, workload, slo, warm_up=warm_up, count=len(workload))


def sweep(
    study: Study, label: str, deployments: Sequence[Deployment], variant: Variant
) -> list[Run]:
    """The workload of a variant on other deployments."""
    runs = []
    for number, deployment in enumerate(deployments, 1):
        study.progress(f"{label} {number}/{len(deployments)}")
        runs.append(run(deployment, variant.workload, variant.slo, variant.warm_up))
    return runs
