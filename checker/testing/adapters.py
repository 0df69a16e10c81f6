"""What an implementation is put behind, to be driven by ``rackproof.testing.lockstep``."""

from rackproof.checker.adapters import (
    CLIENT,
    USAGE,
    Adapter,
    Ask,
    Implementation,
    Ineffective,
    Operation,
    Setup,
    seen,
)

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
