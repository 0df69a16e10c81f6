"""The search compiled to machine code: states packed into words, transitions as native functions.

Read layout (where each variable's bits are), assembly (how code is written down), values and trees
(expressions and decision trees), canonical (symmetry), loops (the inner loops of the search),
program (all of it together, compiled) and native (what Python sees of it).
"""

from rackproof.checker.native.layout import Layout
from rackproof.checker.native.native import Native

__all__ = ["Layout", "Native"]
