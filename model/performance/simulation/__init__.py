"""Requests through pools of serving instances, step by step of each instance's batch.

Read setting (what is simulated) and results (what is told).
"""

from rackproof.model.performance.simulation.results import (
    TTFT_NAMES,
    Energy,
    Record,
    Run,
    Series,
    Spread,
    Use,
)
from rackproof.model.performance.simulation.setting import (
    Aggregated,
    Deployment,
    Disaggregated,
    HandOff,
    Instance,
    Pool,
    PrefixCache,
    Request,
    Slo,
)
from rackproof.model.performance.simulation.simulation import Simulation, simulate
from rackproof.model.performance.simulation.steps import FixedEngine

__all__ = [
    "TTFT_NAMES",
    "Aggregated",
    "Deployment",
    "Disaggregated",
    "Energy",
    "FixedEngine",
    "HandOff",
    "Instance",
    "Pool",
    "PrefixCache",
    "Record",
    "Request",
    "Run",
    "Series",
    "Simulation",
    "Slo",
    "Spread",
    "Use",
    "simulate",
]
