"""KV events as vLLM and SGLang send them: [topic, number, batch], in one of three encodings.

Batches and events were both lists first; then events became maps, in vLLM 0.28.0; then batches did
too. A field that has its default is left out. Fields of lists are told by their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rackproof.model.kernel import Place
from rackproof.scenarios.recorded.kv.batches import (
    Batch,
    Change,
    Cleared,
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

FIELDS: Final = {
    "BlockStored": (
        "block_hashes",
        "parent_block_hash",
        "token_ids",
        "block_size",
        "lora_id",
        "medium",
        "lora_name",
        "extra_keys",
        "group_idx",
        "kv_cache_spec_kind",
        "kv_cache_spec_sliding_window",
    ),
    "BlockRemoved": ("block_hashes", "medium", "group_idx"),
    "AllBlocksCleared": (),
}
"""The fields of each event, in the order in which a list has them."""
BATCH: Final = ("ts", "events", "data_parallel_rank")
DEVICE: Final = ("GPU", "DEVICE", "")
"""What the memory is called in which a block can only be with its parent: that of the device."""
END: Final = (1 << 64) - 1
"""The number (-1) of the message that ends a replay."""


def is_batch(value: object) -> bool:
    """Whether a value looks like a batch."""
    if isinstance(value, dict):
        return isinstance(value.get("events"), list)
    return (
        isinstance(value, list)
        and 2 <= len(value) <= 3
        and isinstance(value[0], (int, float))
        and isinstance(value[1], list)
    )


def batch_of(
    publisher: str, number: int | None, value: object, place: Place, rules: Rules
) -> Batch:
    """A batch; ``Unreadable`` where it is none.

    Ranks of data parallelism have a publisher each.
    """
    fields = _batch_fields(value)
    rank = fields.get("data_parallel_rank", fields.get("attn_dp_rank"))
    if rank is not None:
        publisher = f"{publisher} rank {number_of(rank, 'the rank')}" if rank else publisher
    time, changes = seconds(fields["ts"]), tuple(_change(item) for item in fields["events"])
    return Batch(publisher, number, changes, place, rules, time, (time, changes))


def _batch_fields(value: object) -> Mapping[str, Any]:
    if not is_batch(value):
        raise Unreadable(f"a batch is [time, events, rank] or a map of them, not {shown(value)}")
    if isinstance(value, list):
        return dict(zip(BATCH, value, strict=False))
    assert isinstance(value, dict)
    return {"ts": None, **value}


def _change(value: object) -> Change:
    kind, fields = _event_fields(value)
    if kind == "AllBlocksCleared":
        return Cleared()
    blocks, tier = blocks_of(fields.get("block_hashes")), _tier(fields)
    if kind == "BlockRemoved":
        return Removed(blocks, tier, _remaining(fields, len(blocks)))
    parent = fields.get("parent_block_hash")
    return Stored(blocks, None if parent is None else block_of(parent), tier, _chained(fields))


def _event_fields(value: object) -> tuple[str, Mapping[str, Any]]:
    """The kind of an event, and its fields by name."""
    tag = value.get("type") if isinstance(value, dict) else value
    tag = tag[0] if isinstance(tag, list) and tag else tag
    if isinstance(tag, str) and tag in FIELDS:
        if isinstance(value, dict):
            return tag, value
        if isinstance(value, list):
            return tag, dict(zip(FIELDS[tag], value[1:], strict=False))
    raise Unreadable(f"an event is one of {', '.join(FIELDS)}, not {shown(tag)}")


def _tier(fields: Mapping[str, Any]) -> Tier:
    medium, group = fields.get("medium"), fields.get("group_idx")
    name = "" if medium is None or str(medium).upper() in DEVICE else str(medium)
    return name, None if group is None else block_of(group)


def _remaining(fields: Mapping[str, Any], count: int) -> tuple[int | None, ...]:
    """How many copies are left, by vllm#48933, where it is said of every block."""
    counts = fields.get("remaining_copy_counts")
    if not isinstance(counts, list) or len(counts) != count:
        return ()
    return tuple(item if isinstance(item, int) else None for item in counts)


def _chained(fields: Mapping[str, Any]) -> bool:
    """Whether blocks need their parents: not in the memory that blocks are offloaded to, and not
    where attention looks at a window, which lets go of the beginning first.
    """
    kind = str(fields.get("kv_cache_spec_kind") or "full")
    return not _tier(fields)[0] and "full" in kind.lower()
