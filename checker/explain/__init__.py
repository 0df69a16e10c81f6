"""Why a run comes to where it does: step by step, what it took, and what would have saved it."""

from rackproof.checker.explain.explain import explain, explain_replay
from rackproof.checker.explain.explanation import (
    Condition,
    Explanation,
    Footing,
    Mend,
    Moment,
    NearMiss,
    Pivot,
    Smallest,
)

__all__ = [
    "Condition",
    "Explanation",
    "Footing",
    "Mend",
    "Moment",
    "NearMiss",
    "Pivot",
    "Smallest",
    "explain",
    "explain_replay",
]
