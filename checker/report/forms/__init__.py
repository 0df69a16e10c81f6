"""The forms in which a run is handed on: from an explanation to a text, and to nothing else.

``FORMS`` has them all by name. A form is made known by an entry here; its function lives in a
module of its own, which is imported when something is written in it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rackproof.checker.explain import Explanation


class Form(NamedTuple):
    """A form: what a file in it is called, what it is in words, and where its function is.

    suffix: takes the place of a scenario's ``.yaml``. function: ``module:name``, of an explanation.
    is_deep: whether it tells what needs exploring again, such as what mends it.

    A plain tuple, as the help of a command line needs no more.
    """

    name: str
    suffix: str
    words: str
    function: str
    is_deep: bool = False

    def write(self, explanation: Explanation) -> str:
        """The text; ``InputError`` where the run is none that this form can tell."""
        module, name = self.function.split(":")
        function: Callable[[Explanation], str] = getattr(import_module(module), name)
        return function(explanation)


def _form(name: str, suffix: str, words: str, function: str, is_deep: bool = False) -> Form:
    return Form(name, suffix, words, f"rackproof.checker.report.{function}", is_deep)


_ALL: Final = (
    _form("html", ".html", "a page to step through, in a browser", "page:page", is_deep=True),
    _form(
        "markdown", ".md", "for a pull request or an issue", "forms.markdown:markdown", is_deep=True
    ),
    _form("mermaid", ".mmd", "a sequence diagram", "forms.mermaid:mermaid"),
    _form("dot", ".dot", "a GraphViz graph of what depends on what", "forms.dot:dot", is_deep=True),
    _form("perfetto", ".perfetto.json", "a timeline (ui.perfetto.dev)", "forms.perfetto:perfetto"),
    _form("itf", ".itf.json", "its states, as Apalache and Quint have them", "forms.itf:itf"),
    _form("json", ".json", "all of it, for a program", "forms.plain:json", is_deep=True),
    _form("yaml", ".yaml", "a scenario that replays it", "forms.plain:yaml"),
    _form(
        "pytest",
        "_test.py",
        "tests that fail until it is mended",
        "forms.regression:regression",
        is_deep=True,
    ),
)
FORMS: Final = {form.name: form for form in _ALL}
