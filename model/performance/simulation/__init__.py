"""Requests through pools of serving instances, step by step of each instance's batch.

Read setting (what is simulated) and results (what is told); simulation (the loop, and what a
script may do to a run), over server with its kinds prefill, decode and mixed; steps (many steps of
a batch in closed form), channels (the hand-off), prefixes and routing; meters, levels and
distributions for what is measured, report for what is made of it.
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
    Convention,
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
    "Convention",
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
