"""The kinds of instances in a file, for questions that need no simulation."""

from __future__ import annotations

from rackproof.checker.performance.study import Study
from rackproof.model.kernel import ModelError
from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import Aggregated, Deployment


def engines(study: Study, role: str) -> list[tuple[str, Engine]]:
    """Each kind of instance that prefills or decodes, once, with a name that tells it."""
    found: dict[str, Engine] = {}
    for variant in study.plan.variants:
        engine = of(variant.deployment, role)
        if isinstance(engine, Engine):
            found.setdefault(named(engine), engine)
    if not found:
        raise ModelError("no instance of it is made of GPUs and a model")
    return list(found.items())


def of(deployment: Deployment, role: str) -> object:
    """The instance of a role: prefill or decode."""
    if isinstance(deployment, Aggregated):
        return deployment.pool.engine
    return (deployment.prefill if role == "prefill" else deployment.decode).engine


def named(engine: Engine) -> str:
    """An instance in short: llama-3-70b on 4 x gb200, bf16 KV."""
    return f"{engine.model.name} on {engine.gpus} x {engine.gpu.name}, {engine.kv.name} KV"
