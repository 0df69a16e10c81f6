"""What is to be verified: scenario files, folders of them, stacks, and worlds of one's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.reference import nearest_target
from rackproof.scenarios.changes import Change, changed
from rackproof.scenarios.document import read_text
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.files import is_folder
from rackproof.scenarios.loader import is_scenario, load, loads
from rackproof.scenarios.performance.kind import is_plan
from rackproof.scenarios.schema import Case, Scenario
from rackproof.scenarios.settings import own_setting
from rackproof.scenarios.stacks import check_stack
from rackproof.scenarios.worlds import InputError, split_target

SUFFIXES: Final = (".yaml", ".yml")


@frozen
class Target:
    """Something to verify, under the name by which it was asked for; loading it may fail.

    stack: the name of the stack that is to sit every exam, for a target that is no scenario.
    changes: mechanisms that are set otherwise than it is written.
    """

    label: str
    load: Callable[[], Scenario]
    file: Path | None = None
    stack: str | None = None
    changes: tuple[Change, ...] = ()

    def with_changes(self, changes: Sequence[Change]) -> Target:
        """The same with some mechanisms set."""
        if not changes:
            return self

        def load() -> Scenario:
            return changed(self.load(), changes, self.label)

        return evolve(self, load=load, changes=tuple(changes))


@frozen
class Targets:
    """The targets, in order; and the YAML files in folders that are no scenarios."""

    found: tuple[Target, ...]
    left_out: tuple[Path, ...]


def expand(texts: Iterable[str], changes: Sequence[Change] = ()) -> Targets:
    """Find what the words of a command line stand for, each thing once; with these changes."""
    found: dict[str, Target] = {}
    left_out: list[Path] = []
    for text in texts:
        for target in _targets(text, left_out):
            found.setdefault(target.label, target.with_changes(changes))
    return Targets(tuple(found.values()), tuple(left_out))


def _targets(text: str, left_out: list[Path]) -> Iterator[Target]:
    file, name = split_target(text)
    path = Path(text)
    if not text.strip():
        yield Target(text, _refusing("a target is empty"))
    elif text.startswith("stack:"):
        stack = text.removeprefix("stack:")
        yield Target(text, lambda: _stack(stack), stack=stack)
    elif name is not None:
        yield Target(text, lambda: _world(text, Path(file), name))
    elif is_folder(path):
        scenarios = list(_in_folder(path, left_out))
        yield from scenarios
        if not scenarios:
            yield Target(text, _refusing(f"{path}: there is no scenario in this folder"))
    elif file.endswith(".py"):
        yield Target(text, _refusing(f"{path}: say which world in it, such as {path}:world"))
    else:
        yield Target(text, lambda: load_file(path), path)


def load_file(path: Path) -> Scenario:
    """Read a scenario; where there is no such file, the message says what may have been meant."""
    if not os.path.lexists(path) and (near := nearest_target(str(path))):
        raise InputError(f"{path}: there is no such file{near}")
    text = read_text(path)
    if is_plan(text):
        raise InputError(f"{path}: is a deployment with a workload: rackproof simulate {path}")
    return loads(text, path)


def _in_folder(folder: Path, left_out: list[Path]) -> Iterator[Target]:
    """The scenarios below a folder, sorted; hidden folders are passed over."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if path.suffix not in SUFFIXES or _is_met_elsewhere(path, folder):
                continue
            if _seems_scenario(path):
                yield Target(str(path), lambda path=path: load(path), path)  # type: ignore[misc]
            else:
                left_out.append(path)


def _is_met_elsewhere(path: Path, folder: Path) -> bool:
    """Whether a file is a link to one that is in the folder too."""
    return path.is_symlink() and path.resolve().is_relative_to(folder.resolve()) and path.exists()


def _seems_scenario(path: Path) -> bool:
    """Whether a file is meant as a scenario; one that cannot be read is, so that it is told."""
    try:
        text = read_text(path)
        return is_scenario(text) and not is_plan(text)
    except ScenarioError:
        return True


def _world(text: str, file: Path, name: str) -> Scenario:
    setting = own_setting(file, name, text)
    return Scenario(Path(text), setting.system.name, Case(setting))


def _stack(name: str) -> Scenario:
    """A stack under its name; the world is that of its first exam."""
    from rackproof.scenarios.exams import first  # noqa: PLC0415

    check_stack(name)
    setting = first().setting(name)
    return Scenario(Path(f"stack:{name}"), f"{name} as it is configured", Case(setting))


def _refusing(message: str) -> Callable[[], Scenario]:
    def refuse() -> Scenario:
        raise InputError(message)

    return refuse
