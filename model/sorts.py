"""The identifiers of the world."""

from __future__ import annotations

from typing import Final

from rackproof.model.kernel import Identifiers

Requests: Final = Identifiers("request")
Workers: Final = Identifiers("worker")
Trays: Final = Identifiers("tray")
Blocks: Final = Identifiers("block")
"""A block group: room for the KV of one request, on one worker."""
Scaled: Final = Identifiers("scaled")
"""The blocks again, as room for the scales of what lies in them; none where KV is not quantised."""
Peers: Final = Identifiers("peer")
"""The workers again, as those they are linked with see them; none where there is no link."""
Links: Final = Identifiers("link")
Rooms: Final = Identifiers("room")
Generations: Final = Identifiers("generation", ordered=True)
"""The incarnations of a worker: a replacement under the same name is the next one."""
Versions: Final = Identifiers("version", ordered=True)
"""Versions of the weights."""
Prefixes: Final = Identifiers("prefix", ordered=True)
"""Blocks of cached prompt; each continues the one before it."""
Places: Final = Identifiers("event", ordered=True)
"""Room for events on their way."""
Attempts: Final = Identifiers("attempt", ordered=True)
Keys: Final = Identifiers("key")
"""What objects of a shared store are found by: the hash of a prefix."""
Clients: Final = Identifiers("client")
"""An engine that uses a shared store, or one of its ranks."""
Segments: Final = Identifiers("segment")
"""The memory (or disk) that one worker lends a shared store."""
Spaces: Final = Identifiers("space")
"""Room for one object, in a segment."""
