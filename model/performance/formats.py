"""How the values of a KV cache are stored, and how many bytes that is."""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from rackproof.model.performance.catalogue import chosen, positive


@frozen
class KvFormat:
    """A format of the values of a KV cache."""

    CALLED: ClassVar[str] = "KV format"

    name: str
    bits_per_value: float = field(validator=positive)
    text: str = ""
    source: str = ""

    def bytes(self, values: float) -> float:
        """Bytes of so many values."""
        return values * self.bits_per_value / 8


def kv_format(name: str) -> KvFormat:
    """The preset of a KV format."""
    return chosen("kv-formats.yaml", KvFormat, name)
