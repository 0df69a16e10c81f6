"""What goes wrong in a model, as its author needs to hear it."""

from __future__ import annotations


class ModelError(ValueError):
    """A mistake in a model: a declaration, or Python that has no meaning in a transition."""


class OutOfDomain(ModelError):
    """A field was given a value that its declaration does not allow."""

    def __init__(self, path: str, value: object, domain: object) -> None:
        """Name the field, the value seen and what was declared."""
        self.path, self.value, self.domain = path, value, domain
        super().__init__(f"{path} = {value!r} is outside its domain, {domain}")
