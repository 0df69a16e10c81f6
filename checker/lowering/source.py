"""What lowering cannot see, and refuses by reading the source of every function a model can reach.

``is`` compares objects, and a symbolic value is never the object it stands for; the same goes for
questions about types. Python offers no hook for either, so a model that used them would be lowered
wrongly without a word. Chance and time have no place in a model at all.
"""

from __future__ import annotations

import ast
import dis
import inspect
import operator
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache, partial
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from rackproof.checker.lowering.paths import LoweringError
from rackproof.model.kernel import Property, Transition

_KERNEL = "rackproof.model.kernel"
_PLAIN_LIBRARIES = ("attr", "attrs", "builtins", "enum", "functools", "itertools", "typing")


IDENTITY: Final = "`is` (and `case None`) cannot be followed on a field's value; write `==` or `!=`"
TYPES: Final = "the type of a field's value cannot be asked; its declaration says it"
IMPURE: Final = "a model depends on the world alone, not on chance, time or the machine"
TYPE_QUESTIONS: Final = frozenset({"isinstance", "issubclass", "type", "hasattr", "id", "repr"})
SUSPECTS: Final = (
    ast.Compare,
    ast.MatchSingleton,
    ast.MatchClass,
    ast.Import,
    ast.ImportFrom,
    ast.Name,
)
"""What may be wrong with a piece of a model's source."""
IMPURE_MODULES: Final = frozenset({"random", "secrets", "time", "datetime", "uuid", "os", "sys"})


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
    code, nodes = function.__code__, _source(function)
    if nodes is None:
        _check_compiled(code)
        return
    for node in nodes:
        wrong = _wrong(node, function)
        if wrong:
            line = code.co_firstlineno + getattr(node, "lineno", 1) - 1
            raise LoweringError(f"{code.co_filename}:{line}: {wrong}")


@cache
def _source(function: FunctionType) -> tuple[ast.AST, ...] | None:
    """What a function is written in, read once however often it is lowered; None where there is no
    source, or a lambda inside an expression: what it is compiled to tells as much.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, IndentationError):
        return None
    return tuple(node for node in ast.walk(tree) if isinstance(node, SUSPECTS))


def _wrong(node: ast.AST, function: FunctionType) -> str | None:
    """What is wrong with a piece of a model's source."""
    match node:
        case ast.Compare(ops=ops) if any(isinstance(op, ast.Is | ast.IsNot) for op in ops):
            return IDENTITY
        case ast.MatchSingleton():
            return IDENTITY
        case ast.MatchClass():
            return TYPES
        case ast.Import(names=names):
            return IMPURE if {n.name.split(".")[0] for n in names} & IMPURE_MODULES else None
        case ast.ImportFrom(module=module):
            return IMPURE if (module or "").split(".")[0] in IMPURE_MODULES else None
        case ast.Name(id=name):
            return _wrong_name(name, function)
        case _:
            return None


def _wrong_name(name: str, function: FunctionType) -> str | None:
    value = function.__globals__.get(name)
    if value is None:
        return TYPES if name in TYPE_QUESTIONS else None
    if value is operator.is_ or value is operator.is_not:
        return IDENTITY
    module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return IMPURE if str(module).split(".")[0] in IMPURE_MODULES else None


def _check_compiled(code: CodeType) -> None:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP" or instruction.opname.endswith("_NONE"):
            positions = instruction.positions
            line = positions.lineno if positions else code.co_firstlineno
            raise LoweringError(f"{code.co_filename}:{line}: {IDENTITY}")


def _referenced(function: FunctionType) -> Iterator[FunctionType]:
    """The functions that a function's code names, however deep its inner functions go."""
    for code in _codes(function.__code__):
        for name in code.co_names:
            value = function.__globals__.get(name)
            yield from _functions(value)
            for value in _modules(function, code):
                yield from _functions(getattr(value, name, None))
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield from _functions(default)
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
    elif isinstance(value, partial):
        yield from _functions(value.func)
    elif isinstance(value, dict | list | tuple):
        items = value.values() if isinstance(value, dict) else value
        for item in items:
            yield from _functions(item)
    elif hasattr(value, "__wrapped__"):
        yield from _functions(value.__wrapped__)
    elif type(value).__module__.split(".")[0] not in (*_PLAIN_LIBRARIES, "types"):
        yield from _methods(type(value))


def _methods(cls: type) -> Iterator[FunctionType]:
    """The functions of a class and of those it inherits from."""
    for value in (value for base in cls.__mro__ for value in vars(base).values()):
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and not _generated(function):
            yield function


def _generated(function: FunctionType) -> bool:
    return function.__code__.co_filename.startswith("<")
