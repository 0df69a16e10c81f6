"""The identifiers of the world."""

from __future__ import annotations

from typing import Final

from rackproof.model.kernel import Identifiers

Requests: Final = Identifiers("request")
Workers: Final = Identifiers("worker")
Trays: Final = Identifiers("tray")
Blocks: Final = Identifiers("block")
"""A block group: room for the KV of one request, on one worker."""
Prefixes: Final = Identifiers("prefix", ordered=True)
"""Blocks of cached prompt; each continues the one before it."""
Places: Final = Identifiers("event", ordered=True)
"""Room for events on their way."""
Attempts: Final = Identifiers("attempt", ordered=True)
