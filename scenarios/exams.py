"""The exams: the default scopes in which a stack is put to the test.

An exam is a scenario without ``protocol``, which the stack fills in. It expects nothing: each
property of the catalogue that it puts to the test must hold. Whoever adds a part to the world adds
an exam for it, a file in ``exams/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import attrs
from attrs import evolve, frozen

from rackproof.model.scope import Scope, concern
from rackproof.scenarios.document import read
from rackproof.scenarios.errors import Problems, hint, unknown
from rackproof.scenarios.loader import TEXTS, load
from rackproof.scenarios.places import Place
from rackproof.scenarios.schema import Bundled, Setting
from rackproof.scenarios.settings import bundled_setting, with_own_scope
from rackproof.scenarios.stacks import load_stack
from rackproof.scenarios.steps import kebab
from rackproof.scenarios.worlds import InputError

FOLDER: Final = Path(__file__).parent / "exams"
KEYS: Final = ("rackproof", *TEXTS, "rack", "scope")


@frozen
class Exam:
    """A scope on a rack, with the protocol left open; ``name`` is its file's, ``title`` a line."""

    name: str
    title: str
    why: str | None
    bundled: Bundled

    @property
    def concerns(self) -> frozenset[str]:
        """The concerns of the protocol beside serving that it is about."""
        asked = {name for name, value in self.bundled.scope.items() if value}
        return frozenset(
            told
            for attribute in attrs.fields(Scope)
            if kebab(attribute.name) in asked and (told := concern(attribute))
        )

    def setting(self, stack: str, changes: Mapping[str, object] | None = None) -> Setting:
        """The world in which a stack sits this exam, with some mechanisms changed.

        Where the exam does not say how often a request is tried again, the stack does; and a stack
        that knows no worker for both halves of a request has pairs in their place.
        """
        known, bundled = load_stack(stack), self.bundled
        if known.pairs and bundled.scope.get("requests", 1):
            bundled = evolve(bundled, rack=_as_pairs(bundled.rack))
        bundled = evolve(bundled, stack=stack, mechanisms=changes or {})
        return bundled_setting(with_own_scope(bundled), FOLDER)


def _as_pairs(rack: Mapping[str, object]) -> Mapping[str, object]:
    """A rack with a prefill worker, and a decode worker for each aggregated one."""
    others = {name: value for name, value in rack.items() if name != "aggregated"}
    count = rack.get("aggregated")
    return {**others, "prefill": 1, "decode": count} if count else rack


@cache
def exams() -> tuple[Exam, ...]:
    """Every exam, by name."""
    return tuple(read_exam(path) for path in _paths())


def first() -> Exam:
    """The first exam, without reading the others."""
    return read_exam(_paths()[0])


def named(name: str) -> Exam:
    """The exam of this name; ``InputError`` where there is none."""
    paths = {path.stem: path for path in _paths()}
    if name not in paths:
        raise InputError(unknown("exam", name, paths))
    return read_exam(paths[name])


def _paths() -> list[Path]:
    return sorted(FOLDER.glob("*.yaml"), key=lambda path: path.stem)


def read_exam(path: Path) -> Exam:
    """Read an exam; ``ScenarioError`` names file, line and key of every mistake."""
    problems = Problems(path)
    found = Place(read(path), "", 0, problems).entries("a map that begins with rackproof: 1") or {}
    for key, place in found.items():
        if key == "protocol":
            place.fail("is left open in an exam: it is that of the stack")
        elif key not in KEYS:
            place.fail(f"there is no such key in an exam{hint(key, sorted(KEYS))}")
    if "rack" in found and found["rack"].is_map:
        file = (found["rack"].entries() or {}).get("path")
        if file is not None:
            file.fail("an exam is on a preset")
    problems.check()
    scenario = load(path)
    assert scenario.case.setting.bundled is not None, "without world: it is the bundled one"
    return Exam(path.stem, scenario.name, scenario.why, scenario.case.setting.bundled)
