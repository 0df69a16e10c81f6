"""Minimum cut sets: the least sets of fault events with which a property can be violated.

Read watch (a world that keeps a ledger of its fault events), search (minimal sets, one exhaustive
search after another) and words (events by what they hit).
"""

from rackproof.checker.cuts.search import CutSet, CutSets, Row, cut_sets

__all__ = ["CutSet", "CutSets", "Row", "cut_sets"]
