"""A lowered model in the languages of other tools: the same trees, written as guarded commands."""

from rackproof.checker.export.murphi import murphi
from rackproof.checker.export.promela import promela
from rackproof.checker.export.tla import tla

__all__ = ["murphi", "promela", "tla"]
