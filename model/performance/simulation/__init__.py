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

__all__ = [
    "TTFT_NAMES",
    "Aggregated",
    "Deployment",
    "Disaggregated",
    "Energy",
    "HandOff",
    "Instance",
    "Pool",
    "PrefixCache",
    "Record",
    "Request",
    "Run",
    "Series",
    "Slo",
    "Spread",
    "Use",
]
