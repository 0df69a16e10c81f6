"""KV events as Dynamo has them: RouterEvents, one a line of a KvRecorder, or on the event plane."""

from __future__ import annotations

from typing import Any, Final

from rackproof.model.kernel import Place
from rackproof.scenarios.recorded.kv.batches import (
    Batch,
    Block,
    Change,
    Cleared,
    Copies,
    Removed,
    Rules,
    Stored,
    Tier,
    Unreadable,
    block_of,
    blocks_of,
    number_of,
    seconds,
    shown,
)

RULES: Final = Rules(first=(0, 1), copies=Copies.SAID_AGAIN)
"""Whether ids begin with 0 or 1 depends on the engine: the mocker of Dynamo 1.6.1 begins with 1."""
PLANE_RULES: Final = Rules(copies=Copies.SAID_AGAIN)
TOPIC: Final = "kv-events"
HEADER: Final = 5
"""Bytes in front of an envelope on the event plane: a version, and the envelope's length."""
TYPES: Final = ("stored", "removed", "cleared")


def is_recorded(value: object) -> bool:
    """Whether a value looks like a line of a KvRecorder."""
    if not isinstance(value, dict) or "timestamp" not in value:
        return False
    event = value.get("event")
    return isinstance(event, dict) and "worker_id" in event and "event" in event


def event_of(value: dict[str, Any], place: Place) -> Batch:
    """A line of a KvRecorder; ``Unreadable`` where it is none."""
    router = value["event"]
    stamp, publisher = value["timestamp"], _publisher(router)
    event = router["event"]
    if not isinstance(event, dict):
        raise Unreadable(f"event is a map, not {shown(event)}")
    number = number_of(event.get("event_id"), "event_id")
    time = seconds(stamp, 1000)
    changes = (_change(event.get("data"), _tier(router)),)
    return Batch(publisher, number, changes, place, RULES, time, (number, stamp, changes))


def batch_of(publisher: object, envelope: dict[str, Any], events: object, place: Place) -> Batch:
    """The envelope of a message of the event plane, with the RouterEvents in it."""
    if not isinstance(events, list) or not all(_is_router_event(item) for item in events):
        raise Unreadable(f"its payload is a list of RouterEvents, not {shown(events)}")
    number = number_of(envelope.get("sequence"), "sequence")
    changes = tuple(_change(item["event"].get("data"), _tier(item)) for item in events)
    name = _publisher(events[0]) if events else f"publisher {shown(publisher)}"
    sent = envelope.get("published_at")
    time = seconds(sent, 1000)
    return Batch(name, number, changes, place, PLANE_RULES, time, (number, sent, changes))


def _is_router_event(value: object) -> bool:
    return isinstance(value, dict) and "worker_id" in value and isinstance(value.get("event"), dict)


def _publisher(router: dict[str, Any]) -> str:
    event = router["event"]
    rank = event.get("dp_rank") if isinstance(event, dict) else None
    name = f"worker {block_of(router['worker_id'])}"
    return f"{name} rank {number_of(rank, 'dp_rank')}" if rank else name


def _tier(router: dict[str, Any]) -> Tier:
    tier = router.get("storage_tier") or "device"
    return "" if tier == "device" else str(tier), None


def _change(data: object, tier: Tier) -> Change:
    if data == "cleared" or (isinstance(data, dict) and "cleared" in data):
        return Cleared()
    if isinstance(data, dict) and isinstance(data.get("removed"), dict):
        return Removed(blocks_of(data["removed"].get("block_hashes")), tier)
    if isinstance(data, dict) and isinstance(data.get("stored"), dict):
        parent = data["stored"].get("parent_hash")
        blocks = _stored(data["stored"].get("blocks"))
        return Stored(blocks, None if parent is None else block_of(parent), tier, not tier[0])
    raise Unreadable(f"data is one of {', '.join(TYPES)}, not {shown(data)}")


def _stored(value: object) -> tuple[Block, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Unreadable(f"blocks is a list of maps, not {shown(value)}")
    return tuple(block_of(item.get("block_hash")) for item in value)
