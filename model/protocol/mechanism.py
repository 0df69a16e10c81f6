"""What a mechanism is: a field of the protocol with its text and its source."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, Self

import attrs
from attrs import frozen

from rackproof.model.kernel import ModelError

DOCUMENT: Final = "mechanism"


class Alternative(Enum):
    """One of the ways in which a mechanism can be that is more than there or not.

    text: what it means, as the answer to what the mechanism is about.
    """

    _value_: str
    text: str

    def __new__(cls, value: str, text: str) -> Self:
        """A member by its name in YAML, with its text."""
        member = object.__new__(cls)
        member._value_ = value
        member.text = text
        return member


@frozen
class Mechanism:
    """What a mechanism is, for people.

    concern: what it is about (the file it is in). field, name: in Python and in YAML. alternatives:
    what may be chosen; None for true and false. design: it is a matter of how the stack is built,
    which nobody changes for a mend if anything else will do. off: the other way of what it
    protects, as if it were not there.
    """

    concern: str
    field: str
    name: str
    text: str
    source: str
    default: object
    alternatives: tuple[Enum, ...] | None
    design: bool
    off: object

    @property
    def values(self) -> tuple[object, ...]:
        """All that may be chosen."""
        return (False, True) if self.alternatives is None else self.alternatives

    def meaning(self, value: str) -> str:
        """What it is about, and what one of its alternatives, as it is written, makes of that; of
        what is true or false, the whole text.
        """
        for alternative in self.alternatives or ():
            if isinstance(alternative, Alternative) and alternative.value == value:
                question = (type(alternative).__doc__ or "").strip().rstrip(".")
                answer = alternative.text.rstrip(".")
                return f"{question}: {answer[0].lower()}{answer[1:]} ({value})."
        return self.text.replace("`", "")

    def read(self, value: object) -> object:
        """Turn a YAML value into the field's; ``ModelError`` names what is allowed."""
        if self.alternatives is None:
            if isinstance(value, bool):
                return value
            raise ModelError(f"{self.name} is true or false, not {value!r}")
        for alternative in self.alternatives:
            if isinstance(alternative, Alternative) and alternative.value == value:
                return alternative
        allowed = ", ".join(str(alternative.value) for alternative in self.alternatives)
        raise ModelError(f"{self.name} is one of {allowed}, not {value!r}")


def mechanism(
    default: Any, text: str, source: str, design: bool = False, off: object = None
) -> Any:
    """Declare a mechanism: the reference's choice, what it does, and where that is known from.

    off: how things are without it; what is not true and false needs it told where that is not the
    first other alternative.
    """
    metadata = {DOCUMENT: (text, source, design, off)}
    return attrs.field(default=default, metadata=metadata, kw_only=True)


def described(concern: str, attribute: attrs.Attribute[Any]) -> Mechanism:
    """What the field of a protocol says of itself; one that was not declared above, little."""
    text, source, design, off = attribute.metadata.get(DOCUMENT, ("", "", False, None))
    default = attribute.default
    alternatives = tuple(type(default)) if isinstance(default, Enum) else None
    others = [value for value in alternatives or (False, True) if value != default]
    return Mechanism(
        concern=concern,
        field=attribute.name,
        name=attribute.name.replace("_", "-"),
        text=text,
        source=source,
        default=default,
        alternatives=alternatives,
        design=design,
        off=others[0] if off is None else off,
    )
