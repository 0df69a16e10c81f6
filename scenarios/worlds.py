"""A world of the user's own, from `file.py:name`; what goes wrong in it is told as theirs."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from rackproof.model.kernel import ModelError, System
from rackproof.scenarios.files import is_file


class InputError(Exception):
    """What was given cannot be used; the message says what, where and why."""


def load_world(file: Path, name: str) -> System:
    """Return the system that `name` is, or that a call of it returns."""
    if not is_file(file):
        raise InputError(f"{file}: there is no such file")
    module = _imported(file)
    value = getattr(module, name, None)
    if value is None:
        systems = sorted(key for key, item in vars(module).items() if isinstance(item, System))
        there = f" (its systems: {', '.join(systems)})" if systems else " (it has no System)"
        raise InputError(f"{file}: there is no {name!r} in it{there}")
    if callable(value) and not isinstance(value, System):
        value = _called(file, name, value)
    if not isinstance(value, System):
        raise InputError(f"{file}: {name} is a {type(value).__name__}, not a System")
    return value


def _imported(file: Path) -> ModuleType:
    """Run the file as a module of its own, with its folder importable; its prints are no report."""
    folder = file.resolve().parent
    module_name = re.sub(r"\W", "_", f"rackproof_world{file.resolve()}")
    spec = importlib.util.spec_from_file_location(module_name, file.resolve())
    if spec is None or spec.loader is None:
        raise InputError(f"{file}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    _forget_namesakes(folder)
    before = set(sys.modules)
    sys.modules[module_name] = module
    sys.path.insert(0, str(folder))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise InputError(theirs(error, file)) from error
    finally:
        sys.path.remove(str(folder))
        _NEIGHBOURS.update(sys.modules.keys() - before)
    return module


_NEIGHBOURS: Final[set[str]] = set()
"""The modules that worlds imported, some of them from their own folders."""


def _forget_namesakes(folder: Path) -> None:
    """Let a world import what lies beside it, not what lay beside another one by that name."""
    for name in [name for name in _NEIGHBOURS if (folder / f"{name}.py").is_file()]:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and Path(file).parent != folder:
            sys.modules.pop(name, None)
            _NEIGHBOURS.discard(name)


def _called(file: Path, name: str, function: Any) -> object:
    needed = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        raise InputError(
            f"{file}: {name}({', '.join(needed)}) takes arguments; give a System, or a function "
            "that returns one and takes none"
        )
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return function()
    except (Exception, SystemExit) as error:
        raise InputError(theirs(error, file)) from error


def theirs(error: BaseException, file: Path) -> str:
    """Tell an error with the place in the user's file where it arose."""
    own = str(file.resolve())
    if isinstance(error, SyntaxError):
        return f"{error.filename or file}:{error.lineno or 0}: {error.msg}".replace(own, str(file))
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, ModelError):
        what = str(error)
        if own in what:
            return what.replace(own, str(file))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
    return f"{file}:{frames[-1].lineno}: {what}" if frames else f"{file}: {what}"


def split_target(text: str) -> tuple[str, str | None]:
    """The file and the name in ``file.py:name``; no name where there is none."""
    file, colon, name = text.rpartition(":")
    if colon and file.endswith(".py") and name.isidentifier():
        return file, name
    return text, None
