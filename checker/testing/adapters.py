"""What an implementation is put behind, to be driven by ``rackproof.testing.lockstep``."""

from rackproof.model.kernel.implementation import Implementation, Ineffective, Operation
from rackproof.scenarios.adapters import seen
from rackproof.scenarios.adapters.adapter import CLIENT, USAGE, Adapter, Ask, Setup

__all__ = [
    "CLIENT",
    "USAGE",
    "Adapter",
    "Ask",
    "Implementation",
    "Ineffective",
    "Operation",
    "Setup",
    "seen",
]
