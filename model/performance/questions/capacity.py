"""How many tokens, and requests, of KV cache does an instance hold?"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen

from rackproof.model.performance.catalogue import whole_numbers
from rackproof.model.performance.formats import KvFormat
from rackproof.model.performance.roofline import Engine


@frozen
class Capacity:
    """An instance with a KV format, for requests of one length.

    token_bytes and request_bytes are of one copy; requests is how many fit at a time.
    """

    kv: str
    context_tokens: int
    token_bytes: float
    request_bytes: float
    instance_tokens: int
    requests: int


def capacities(
    engine: Engine, formats: Iterable[KvFormat], contexts: Iterable[int]
) -> tuple[Capacity, ...]:
    """A row for every format and length of context (prompt and output)."""
    lengths = whole_numbers("a context length", contexts)
    engines = [evolve(engine, kv=kv) for kv in formats]
    return tuple(_capacity(each, length) for each in engines for length in lengths)


def _capacity(engine: Engine, context: int) -> Capacity:
    request = engine.kv.bytes(context * engine.model.kv_values_per_token)
    return Capacity(
        engine.kv.name,
        context,
        engine.kv_bytes_per_token,
        request,
        engine.kv_capacity_tokens,
        int(engine.kv_room_bytes // request),
    )
