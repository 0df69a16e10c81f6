"""The search: every reachable state of a model, by native code.

Read results (what it gives), explore (the order in which states are visited), store (where they
are kept), threads (how native loops run) and paths (how counterexamples are found again).
"""

from rackproof.checker.search.explore import SOUGHT, explore
from rackproof.checker.search.results import Exploration, Found, Limits, Raised, Snapshot

__all__ = ["SOUGHT", "Exploration", "Found", "Limits", "Raised", "Snapshot", "explore"]
