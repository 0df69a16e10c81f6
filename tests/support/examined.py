"""Stacks in every exam, each examined once a run of the tests."""

from functools import cache

from rackproof.checker.engines import Options
from rackproof.checker.exams import Examined, examine
from rackproof.checker.targets import expand


@cache
def examined(stack: str) -> Examined:
    (target,) = expand([f"stack:{stack}"]).found
    return examine(target, stack, Options())
