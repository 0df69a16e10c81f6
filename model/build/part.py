"""What a part of the world brings to it: values at the start, sizes, names, and what is alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from rackproof.model.kernel import Bundle, Identifiers


@frozen
class Part:
    """A part of the world in a scope.

    fields: of ``World``, at the start. sizes: bounds that its states name, and how many there are
    of its sorts. names: of its identifiers. interchangeable: classes of what is alike.
    """

    fields: Mapping[str, Any]
    sizes: Mapping[str, int] = field(factory=dict)
    names: Mapping[Identifiers, Sequence[str]] = field(factory=dict)
    interchangeable: Sequence[Sequence[Bundle]] = ()
