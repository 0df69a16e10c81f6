"""What lowering cannot see: ``is`` compares objects, and a symbolic value is never the object it
stands for.

Python offers no hook for ``is``, so a model that used it would be lowered wrongly without a word.
This reads the source of every function that a model can reach and refuses it there.
"""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from rackproof.checker.lowering.paths import LoweringError
from rackproof.model.kernel import Property, Transition

_KERNEL = "rackproof.model.kernel"
_PLAIN_LIBRARIES = ("attr", "attrs", "builtins", "enum", "functools", "itertools", "typing")


def check_source(functions: Iterable[FunctionType], classes: Iterable[type]) -> None:
    """Raise ``LoweringError`` where a reachable function of the model uses ``is``."""
    pending = [*functions, *(f for cls in classes for f in _methods(cls))]
    seen: set[CodeType] = set()
    while pending:
        function = pending.pop()
        if function.__code__ in seen or _is_foreign(function):
            continue
        seen.add(function.__code__)
        _check(function)
        pending.extend(_referenced(function))


def _is_foreign(function: FunctionType) -> bool:
    module = function.__module__ or ""
    return module.startswith(_KERNEL) or module.split(".")[0] in _PLAIN_LIBRARIES


def _check(function: FunctionType) -> None:
    code = function.__code__
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, IndentationError):
        # No source, or a lambda inside an expression: what it is compiled to tells as much.
        _check_compiled(code)
        return
    for node in ast.walk(tree):
        identity = isinstance(node, ast.Compare) and any(
            isinstance(op, ast.Is | ast.IsNot) for op in node.ops
        )
        if identity or isinstance(node, ast.MatchSingleton):
            line = code.co_firstlineno + getattr(node, "lineno", 1) - 1
            _refuse(f"{code.co_filename}:{line}")


def _check_compiled(code: CodeType) -> None:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP" or instruction.opname.endswith("_NONE"):
            positions = instruction.positions
            line = positions.lineno if positions else code.co_firstlineno
            _refuse(f"{code.co_filename}:{line}")


def _refuse(where: str) -> None:
    raise LoweringError(
        f"{where}: `is` (and `case None`) cannot be followed on a field's value; write `==` or `!=`"
    )


def _referenced(function: FunctionType) -> Iterator[FunctionType]:
    """The functions that a function's code names, however deep its inner functions go."""
    for code in _codes(function.__code__):
        for name in code.co_names:
            yield from _functions(function.__globals__.get(name))
            for value in _modules(function, code):
                yield from _functions(getattr(value, name, None))
    for cell in function.__closure__ or ():
        try:
            yield from _functions(cell.cell_contents)
        except ValueError:  # a cell that is not filled yet
            continue


def _modules(function: FunctionType, code: CodeType) -> Iterator[ModuleType]:
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType) and value.__name__.split(".")[0] not in _PLAIN_LIBRARIES:
            yield value


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _functions(value: Any) -> Iterator[FunctionType]:
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, Transition | Property):
        yield from _functions(value.function)
    elif isinstance(value, type):
        yield from _methods(value)


def _methods(cls: type) -> Iterator[FunctionType]:
    for value in vars(cls).values():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and not _generated(function):
            yield function


def _generated(function: FunctionType) -> bool:
    return function.__code__.co_filename.startswith("<")
