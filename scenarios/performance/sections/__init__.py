"""Keys of a file that only some questions need, each read by a module of its own.

A module has ``read(place)``, which gives what the question wants to know, or None after it noted a
problem; it is named here under its key.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from rackproof.scenarios.places import Place

SECTIONS: Final[tuple[str, ...]] = ("failures", "availability", "checkpoints")


def read_section(name: str, place: Place) -> Any:
    """What a section comes to."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    return module.read(place)
