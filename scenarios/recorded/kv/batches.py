"""What was read of a log of KV events: batches of changes, each under the number it was sent as."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum

from attrs import field, frozen

from rackproof.model.kernel import Place

Block = int | str
"""The hash of a block; of bytes, their hexadecimal digits."""
Tier = tuple[str, Block | None]
"""Which of a worker's caches: in what memory, and for which group of layers."""


class Copies(Enum):
    """What it means that a block is stored which is there already."""

    COUNTED = "counted"
    """There is one more copy of it: vLLM does not deduplicate blocks, and tells of the eviction of
    each copy (vllm#48933; dynamo#8012 and llm-d-kv-cache#680 count them)."""
    SAID_AGAIN = "said again"
    """Nothing new: Dynamo lets every store pass, and of removals the last alone (dynamo#8012)."""
    NONE = "none"
    """It cannot be: a radix tree has each block once (SGLang, TensorRT-LLM)."""


@frozen
class Rules:
    """How an engine numbers its batches and tells of its cache.

    first: the numbers with which a publisher may begin. copies: see there.
    """

    first: tuple[int, ...] = (0,)
    copies: Copies = Copies.COUNTED


@frozen
class Stored:
    """Blocks that are in a cache from now on, each the parent of the next one.

    parent: of the first; None where it begins a prompt. chained: whether a block can only be there
    with its parent.
    """

    blocks: tuple[Block, ...]
    parent: Block | None = None
    tier: Tier = ("", None)
    chained: bool = True


@frozen
class Removed:
    """Blocks that left a cache. remaining: how many copies of each are left, where it says so."""

    blocks: tuple[Block, ...]
    tier: Tier = ("", None)
    remaining: tuple[int | None, ...] = ()


@frozen
class Cleared:
    """All caches of a worker were cleared."""


Change = Stored | Removed | Cleared


@frozen
class Batch:
    """What one message told.

    publisher: who sent it, by name: every publisher has numbers of its own. number: None where it
    has none. same: what two copies of one message have in common, and no two messages.
    """

    publisher: str
    number: int | None
    changes: tuple[Change, ...]
    place: Place
    rules: Rules
    time: float | None = None
    same: Hashable = field(default=None, eq=False)


class Unreadable(Exception):
    """What was read is no KV event; the message says what it is instead."""


def block_of(value: object) -> Block:
    """A hash as it is written, in one form."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return value
    raise Unreadable(f"a block's hash is a number or bytes, not {shown(value)}")


def blocks_of(value: object) -> tuple[Block, ...]:
    """A list of hashes."""
    if not isinstance(value, list):
        raise Unreadable(f"the hashes of blocks are a list, not {shown(value)}")
    return tuple(block_of(item) for item in value)


def number_of(value: object, what: str) -> int:
    """A count that is not negative; bytes are big-endian."""
    if isinstance(value, bytes) and 0 < len(value) <= 8:
        value = int.from_bytes(value, "big")
    if isinstance(value, str) and value.isdecimal() and len(value) <= 20:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise Unreadable(f"{what} is a number from 0 on, not {shown(value)}")


def seconds(value: object, of_a_second: int = 1) -> float | None:
    """A time in seconds, where it is one; given in parts of a second."""
    if isinstance(value, (int, float)) and abs(value) < 1e15:
        return value / of_a_second
    return None


def shown(value: object) -> str:
    """A value as a message may quote it."""
    if isinstance(value, (list, dict, tuple)):
        return f"{'a list' if isinstance(value, (list, tuple)) else 'a map'} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
