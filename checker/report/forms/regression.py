"""A run as a test file for pytest, which fails as long as the run is possible."""

from __future__ import annotations

import re

from rackproof.checker.explain import Explanation
from rackproof.checker.report.escaping import line
from rackproof.checker.report.forms.plain import yaml
from rackproof.checker.report.screen import shown
from rackproof.scenarios.worlds import InputError


def regression(explanation: Explanation) -> str:
    """The file: its run as a scenario, and a test that replays it.

    ``InputError`` for a run that violates nothing.
    """
    prop = explanation.prop
    if prop is None:
        raise InputError(
            f"{explanation.title}: a test is of a violation, and this run is told for what it is; "
            "name what it violates (--property NAME)"
        )
    name = re.sub(r"\W", "_", prop.name, flags=re.ASCII)
    return f"""{_docstring(_about(explanation), "")}

from rackproof.checker.testing import no_longer

RUN = {_literal(yaml(explanation))}


def test_{name}() -> None:
    {_docstring([line(prop.statement)], "    ")}
    no_longer(RUN, __file__)
"""


def _about(explanation: Explanation) -> list[str]:
    """What the test is about: the run, and where it comes from."""
    again = explanation.footing.reproduce
    steps = [f"{m.number}. {m.step.words}" for m in explanation.moments]
    loop = explanation.trace.loop
    if loop is not None:
        steps.append(f"And again from step {loop + 1} on, for ever.")
    return [
        line(explanation.title),
        "",
        *(line(step) for step in steps or ["No step: the initial state itself."]),
        "",
        "This fails while that run is possible. It says nothing of other runs:",
        f"    {line(again)}",
    ]


def _docstring(lines: list[str], indent: str) -> str:
    """Lines as a docstring; what may steer was made inert before."""
    *rest, last = [_escaped(part) for part in lines]
    end = f"\n{indent}" if rest or last.endswith('"') else ""
    return f'"""{f"{chr(10)}{indent}".join([*rest, last])}{end}"""'


def _literal(text: str) -> str:
    """A text that ends with a line break, as a literal of the same value."""
    return f'"""\\\n{shown(_escaped(text))}"""'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
