"""The forms in which a run is handed on: from an explanation to a text, and to nothing else.

``FORMS`` has them all by name. A form is made known by an entry here; its function lives in a
module of its own, which is imported when something is written in it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

from attrs import frozen

if TYPE_CHECKING:
    from rackproof.checker.explain import Explanation


@frozen
class Form:
    """A form: what a file in it is called, what it is in words, and where its function is.

    suffix: takes the place of a scenario's ``.yaml``. function: ``module:name``, of an explanation.
    """

    name: str
    suffix: str
    words: str
    function: str

    def write(self, explanation: Explanation) -> str:
        """The text; ``InputError`` where the run is none that this form can tell."""
        module, name = self.function.split(":")
        function: Callable[[Explanation], str] = getattr(import_module(module), name)
        return function(explanation)


_HERE: Final = "rackproof.checker.report.forms"

FORMS: Final = {
    form.name: form
    for form in (
        Form(
            "markdown",
            ".md",
            "for an issue or a pull request, with a diagram",
            f"{_HERE}.markdown:markdown",
        ),
        Form("mermaid", ".mmd", "a sequence diagram", f"{_HERE}.mermaid:mermaid"),
    )
}
