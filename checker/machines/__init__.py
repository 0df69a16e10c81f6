"""State machines drawn from a world's definitions: which step may change a field to what."""

from rackproof.checker.machines.forms import as_data, dot, markdown, mermaid
from rackproof.checker.machines.machine import Change, Machine, machines, merged
from rackproof.checker.machines.seen import Explored, explored

__all__ = [
    "Change",
    "Explored",
    "Machine",
    "as_data",
    "dot",
    "explored",
    "machines",
    "markdown",
    "merged",
    "mermaid",
]
