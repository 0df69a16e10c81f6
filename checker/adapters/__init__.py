"""An implementation under the same test as the model: in lock step, one action after another."""

from rackproof.checker.adapters import seen
from rackproof.checker.adapters.protocol import Implementation, Ineffective, Operation
from rackproof.checker.adapters.serving import CLIENT, USAGE, Adapter, Ask, Setup

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
