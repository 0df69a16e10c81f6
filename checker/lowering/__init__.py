"""From plain Python functions to decision trees of guarded updates over integers.

Read relation (what comes out), symbolic and paths (how a plain function is run on every path),
facts (how a path is pruned), lower (the whole), source (what cannot be followed).
"""

from rackproof.checker.lowering.lower import lower
from rackproof.checker.lowering.paths import LoweringError
from rackproof.checker.lowering.relation import Relation

__all__ = ["LoweringError", "Relation", "lower"]
