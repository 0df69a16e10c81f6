"""A run as a test file for pytest, which fails until its world is mended."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

from rackproof.checker.explain import Explanation
from rackproof.checker.repair.switches import switches
from rackproof.checker.report.escaping import line
from rackproof.checker.report.forms.plain import yaml
from rackproof.checker.report.screen import shown
from rackproof.scenarios.worlds import InputError

THIS_RUN: Final = (
    "One of its steps is not possible, or it holds after them. Of other runs, nothing."
)


def regression(explanation: Explanation) -> str:
    """The file: a test that the property holds in every run of the world, and one of this run.

    The world is that of the scenario's file, where there is one, so that what mends it there is
    seen; else its text. ``InputError`` for a run that violates nothing.
    """
    prop = explanation.prop
    if prop is None:
        raise InputError(
            f"{explanation.title}: a test is of a violation, and these steps do not say of which: "
            "name the property that is to hold (--property NAME; its shortest violation is told), "
            "or add then: {NAME: violated} to the scenario where its steps end in one"
        )
    name = re.sub(r"\W", "_", prop.name, flags=re.ASCII)
    known = _plain(prop.name)
    world, run = _parts(yaml(explanation))
    there = _scenario(explanation)
    given = f"WORLD = {_literal(world)}" if there is None else f"SCENARIO = {_plain(there)}"
    replays = "WORLD + RUN, __file__" if there is None else "RUN, __file__, SCENARIO"
    return f"""{_docstring([*_about(explanation)], "")}

from rackproof.testing import holds, no_longer

{"".join(f"# {text}{chr(10)}" for text in _mended(explanation, there))}{given}
RUN = {_literal(run)}


def test_{name}() -> None:
    {_docstring([line(prop.statement)], "    ")}
    holds({"WORLD" if there is None else "SCENARIO"}, {known}, __file__)


def test_{name}_in_this_run() -> None:
    {_docstring([THIS_RUN], "    ")}
    no_longer({replays})
"""


def _about(explanation: Explanation) -> Iterator[str]:
    """What the test is about: the run, and where it comes from."""
    yield from (line(explanation.title), "")
    yield from (line(f"{m.number}. {m.step.words}") for m in explanation.moments)
    if not explanation.moments:
        yield "No step: the initial state itself."
    loop = explanation.trace.loop
    if loop is not None:
        yield f"And again from step {loop + 1} on, for ever."
    yield from ("", "To see it again:", f"    {line(explanation.footing.reproduce)}")


def _scenario(explanation: Explanation) -> str | None:
    """The file that describes the world, from where the test is going to lie."""
    if explanation.file is None:
        return None
    there = os.path.relpath(explanation.file.resolve(), explanation.folder.resolve())
    return None if "\n" in there else there


def _mended(explanation: Explanation, there: str | None) -> Iterator[str]:
    """What is to be changed, and where, as far as is known."""
    for mend in explanation.mends[:1]:
        verdict = f": {mend.verdict}" if mend.verdict else ""
        yield line(f"Known to mend it: {'; '.join(mend.changes)} ({mend.source}{verdict}).")
        if mechanisms := _set_to(explanation, mend.changes):
            where = "WORLD" if there is None else "the file of SCENARIO"
            yield line(f"Both tests pass with {mechanisms} under protocol: in {where}.")


def _set_to(explanation: Explanation, changes: Sequence[str]) -> str:
    """The values of mechanisms after some changes; nothing where others are changed as well."""
    setting = explanation.setting
    if setting is None or setting.bundled is None:
        return ""
    names = {switch.name for switch in switches(setting.system).all}
    found = [re.fullmatch(r"([\w-]+): .* -> (.*)", change) for change in changes]
    if not all(one is not None and one[1] in names for one in found):
        return ""
    return " and ".join(f"{one[1]}: {one[2]}" for one in found if one is not None)


def _parts(text: str) -> tuple[str, str]:
    """What a scenario says of its world, and the run: what it is expected to violate, its steps."""
    found = re.fullmatch(r"(.*?\n)(expect:.*?\n)(then:.*)?", text, re.DOTALL)
    assert found is not None, "a violation is expected, and its steps are written"
    return found[1], found[2]


def _plain(text: str) -> str:
    """A text as a literal on one line."""
    told = shown(text.replace("\\", "\\\\").replace('"', '\\"')).replace("\n", "\\n")
    return f'"{told}"'


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
