"""How the values of a KV cache are stored, and how many bytes that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from attrs import field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import chosen, not_negative, positive, presets

_FILE = "kv-formats.yaml"
_MOST_BITS = 64


def _some(instance: Any, attribute: attrs.Attribute[Any], value: int | None) -> None:
    """Refuse what is there and no positive whole number."""
    if value is not None:
        positive(instance, attribute, value)


@frozen
class KvFormat:
    """A format of the values of a KV cache, with the scales that belong to them.

    bits_per_value: of a value alone. block_values: how many neighbours on the last axis share a
    block scale, if there are any, of block_scale_bits. tensor_scale_bytes: of the one scale of a
    tensor. tile_rows, tile_columns: to what the matrix of block scales is padded where matrix
    multiplications read it; 1 for no padding.
    """

    CALLED: ClassVar[str] = "KV format"

    name: str
    bits_per_value: float = field(validator=positive)
    block_values: int | None = field(default=None, validator=_some)
    block_scale_bits: int = field(default=0, validator=not_negative)
    tensor_scale_bytes: int = field(default=0, validator=not_negative)
    tile_rows: int = field(default=1, validator=positive)
    tile_columns: int = field(default=1, validator=positive)
    text: str = ""
    source: str = ""

    def __attrs_post_init__(self) -> None:
        """Refuse block scales without blocks, blocks without scales, and values of no such size."""
        if not 1 <= self.bits_per_value <= _MOST_BITS:
            raise ModelError(
                f"KV format {self.name}: bits_per_value is from 1 to {_MOST_BITS}, "
                f"not {self.bits_per_value!r}"
            )
        if (self.block_values is None) != (not self.block_scale_bits):
            raise ModelError(
                f"KV format {self.name}: block_values and block_scale_bits go together, "
                f"not {self.block_values} and {self.block_scale_bits}"
            )

    @property
    def bits_with_scales(self) -> float:
        """Bits of a value with its share of a block scale; a tensor scale is not counted."""
        shared = self.block_scale_bits / self.block_values if self.block_values else 0
        return self.bits_per_value + shared

    def bytes(self, values: float) -> float:
        """Bytes of so many values with their block scales, in proportion: of a part of a tensor."""
        if not 0 <= values < math.inf:
            raise ModelError(f"KV has a number of values, not {values!r}")
        return values * self.bits_with_scales / 8

    def tensor_bytes(self, values: float) -> float:
        """Bytes of a whole tensor of so many values: its scale too, but no padding."""
        return self.bytes(values) + self.tensor_scale_bytes

    def bytes_per_token(self, layers: int, kv_heads: int, head_dim: int) -> float:
        """Bytes that a token adds to the cache: its keys and values, without a tensor's scale."""
        _whole(layers=layers, kv_heads=kv_heads, head_dim=head_dim)
        return self.bytes(2 * layers * kv_heads * head_dim)

    def block_bytes(
        self, tokens: int, layers: int, kv_heads: int, head_dim: int, padded: bool = False
    ) -> int:
        """Bytes of the KV of some tokens, exactly, as one tensor with one scale.

        Each key or value of a head starts blocks of its own. padded: with the matrix of block
        scales of each layer's keys and of its values in whole tiles, as in the hardware layout.
        """
        _whole(tokens=tokens, layers=layers, kv_heads=kv_heads, head_dim=head_dim)
        rows, matrices = tokens * kv_heads, 2 * layers
        values = -(-int(matrices * rows * head_dim * self.bits_per_value) // 8)
        return values + matrices * self._scales(rows, head_dim, padded) + self.tensor_scale_bytes

    def _scales(self, rows: int, columns: int, padded: bool) -> int:
        """Bytes of the block scales of a matrix."""
        if self.block_values is None:
            return 0
        across = -(-columns // self.block_values)
        if padded:
            rows = -(-rows // self.tile_rows) * self.tile_rows
            across = -(-across // self.tile_columns) * self.tile_columns
        return -(-rows * across * self.block_scale_bits // 8)


def _whole(**counts: int) -> None:
    """Refuse counts that are no positive whole numbers."""
    for name, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ModelError(f"{name} is a positive whole number, not {count!r}")


def kv_format(name: str) -> KvFormat:
    """The preset of a KV format."""
    return chosen(_FILE, KvFormat, name)


def kv_formats() -> Mapping[str, KvFormat]:
    """Every preset, by name."""
    return presets(_FILE, KvFormat)
