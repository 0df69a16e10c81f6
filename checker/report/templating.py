"""Templates in which nothing that is put in can be taken for markup, or steers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rackproof.checker.verdicts import counted

LOOK: Final = Path(__file__).with_name("look.css")


def style(own: Path) -> Markup:
    """The style sheet of some pages, after what all pages have in common."""
    return Markup(LOOK.read_text("utf-8") + own.read_text("utf-8"))


def environment(folder: Path, show: Callable[[str], str]) -> Environment:
    """The templates of a folder; show: makes a text one that may be shown. Markup is our own."""

    def shown(value: Any) -> Any:
        return show(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    made.filters["counted"] = counted
    return made
