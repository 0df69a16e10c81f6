"""KV events as TensorRT-LLM serialises them: one map an event, with ids from 0 on in each life."""

from __future__ import annotations

from typing import Any, Final

from rackproof.model.kernel import Place
from rackproof.scenarios.recorded.kv.batches import (
    Batch,
    Block,
    Change,
    Copies,
    Removed,
    Rules,
    Stored,
    Tier,
    Unreadable,
    block_of,
    blocks_of,
    number_of,
    shown,
)

RULES: Final = Rules(copies=Copies.NONE)
TYPES: Final = ("created", "stored", "removed", "updated")


def is_event(value: object) -> bool:
    """Whether a value looks like an event of TensorRT-LLM."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        return False
    return "event_id" in value and "type" in value["data"]


def event_of(publisher: str, value: dict[str, Any], place: Place) -> Batch:
    """An event; ``Unreadable`` where it is none. Ranks of attention DP have a publisher each."""
    rank = value.get("attention_dp_rank")
    if rank:
        publisher = f"{publisher} rank {number_of(rank, 'the rank')}"
    number = number_of(value["event_id"], "event_id")
    changes = _changes(value["data"], _tier(value))
    return Batch(publisher, number, changes, place, RULES, None, (number, changes))


def _tier(value: dict[str, Any]) -> Tier:
    """Which pool it is of: by its window, or the group of layers. What is offloaded stays in it."""
    group = value.get("layer_group_id")
    group = value.get("window_size") if group is None else group
    return "", None if group is None else block_of(group)


def _changes(data: dict[str, Any], tier: Tier) -> tuple[Change, ...]:
    kind = data["type"]
    if kind == "removed":
        return (Removed(blocks_of(data.get("block_hashes")), tier),)
    if kind == "stored":
        parent = data.get("parent_hash")
        blocks = _stored(data.get("blocks"))
        return (Stored(blocks, None if parent is None else block_of(parent), tier),)
    if kind in TYPES:
        return ()  # pools are made, or a block is moved between levels: it is as much there
    raise Unreadable(f"data has a type among {', '.join(TYPES)}, not {shown(kind)}")


def _stored(value: object) -> tuple[Block, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Unreadable(f"blocks is a list of maps, not {shown(value)}")
    return tuple(block_of(item.get("block_hash")) for item in value)
