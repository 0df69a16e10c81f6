"""What must hold: plain functions from a world (and a few identifiers) to a boolean.

``always`` must hold in every reachable state; ``at_rest`` in every state in which no step and no
timer can happen any more; ``eventually`` again and again in every fair run; ``sometimes`` in at
least one reachable state. Identifiers are quantified over: for all of them (for ``sometimes``: for
one of them).

The first paragraph of the docstring says what must hold. One that begins with ``Broken:`` says what
is so where it does not, with ``{parameter}`` placeholders, and must follow from that::

    @always(worker=Workers)
    def no_cascade(world: World, worker: int) -> bool:
        '''No worker is killed because another one died.

        Broken: {worker} was killed because another worker was gone.
        '''
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

from attrs import frozen

from rackproof.model.kernel.domains import Identifiers
from rackproof.model.kernel.errors import ModelError
from rackproof.model.kernel.transitions import check_parameters


class Scope(Enum):
    """In which states a property is asked."""

    ALWAYS = "always"
    AT_REST = "at rest"
    EVENTUALLY = "eventually"
    SOMETIMES = "sometimes"


Predicate = Callable[..., bool]
BROKEN: Final = "Broken:"
_PARAGRAPHS: Final = re.compile(rf"\n\s*\n|\n(?={BROKEN})")


@frozen(eq=False)
class Property:
    """A named property, with the reason why people care and the reports it would have caught.

    ``premise`` says when the property is put to the test at all: a ``sometimes`` predicate over the
    same world. Where it is never met, a pass is vacuous. ``lemmas`` are properties of the same
    world that a proof by induction shows first and then relies on, and that are asked of nothing
    else; as they are there before it is declared, none can rely on itself.
    """

    name: str
    scope: Scope
    function: Predicate
    parameters: tuple[tuple[str, Identifiers], ...]
    why: str
    catches: tuple[str, ...]
    premise: Property | None
    lemmas: tuple[Property, ...] = ()

    @property
    def chain(self) -> tuple[Property, ...]:
        """The property after all that it relies on, each once."""
        before = (item for lemma in self.lemmas for item in lemma.chain)
        return *dict.fromkeys(before), self

    @property
    def statement(self) -> str:
        """The first paragraph of the docstring, on one line."""
        return next(iter(_paragraphs(self.function)), self.name)

    @property
    def broken(self) -> str | None:
        """What is so where it does not hold, on one line, with ``{parameter}`` placeholders: the
        paragraph of the docstring that begins with ``Broken:``; None where there is none.
        """
        told = (text for text in _paragraphs(self.function) if text.startswith(BROKEN))
        return next((text.removeprefix(BROKEN).strip() for text in told), None)

    @property
    def where(self) -> str:
        """File and line of the function; of the one that it wraps, if any."""
        code = inspect.unwrap(self.function).__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        """Evaluate the plain function."""
        return self.function(*args, **kwargs)


def _paragraphs(function: Predicate) -> list[str]:
    """The docstring, each paragraph on one line."""
    text = inspect.cleandoc(function.__doc__ or "")
    return [" ".join(part.split()) for part in _PARAGRAPHS.split(text) if part]


def _declare(
    scope: Scope,
    name: str | None,
    why: str,
    catches: tuple[str, ...],
    premise: Property | None,
    parameters: dict[str, Identifiers],
    lemmas: tuple[Property, ...] = (),
) -> Callable[[Predicate], Property]:
    def declare(function: Predicate) -> Property:
        check_parameters(function, parameters)
        kebab = name or function.__name__.replace("_", "-")
        _check_lemmas(kebab, lemmas)
        chosen = tuple(parameters.items())
        found = Property(kebab, scope, function, chosen, why, catches, premise, lemmas)
        _check_broken(found)
        return found

    return declare


def _check_broken(prop: Property) -> None:
    """That there is a sentence, after the statement, where one can be needed."""
    if prop.broken == "":
        raise ModelError(f"{prop.where}: {prop.name} says {BROKEN} and nothing after it")
    if prop.statement.startswith(BROKEN):
        raise ModelError(f"{prop.where}: {prop.name} says what must hold before {BROKEN}")
    if prop.broken and prop.scope is Scope.SOMETIMES:
        raise ModelError(
            f"{prop.where}: {prop.name} is asked sometimes, which no run breaks: it needs no "
            f"{BROKEN}"
        )


def _check_lemmas(name: str, lemmas: tuple[Property, ...]) -> None:
    """A lemma must be true in every state of a run, so that a proof may rely on it anywhere."""
    if not isinstance(lemmas, tuple):
        raise ModelError(f"{name}: lemmas is a tuple of properties, such as (other,)")
    for lemma in lemmas:
        if not isinstance(lemma, Property):
            raise ModelError(f"{name}: among its lemmas is {lemma!r}, which is no property")
        if lemma.scope is not Scope.ALWAYS:
            when = lemma.scope.value
            raise ModelError(f"{name}: its lemma {lemma.name} is asked {when}, not always")


def _check_called(function: object, decorator: str) -> None:
    if function is not None:
        raise ModelError(f"write @{decorator}() with its parentheses")


def always(
    function: None = None,
    /,
    *,
    name: str | None = None,
    why: str = "",
    catches: tuple[str, ...] = (),
    premise: Property | None = None,
    lemmas: tuple[Property, ...] = (),
    **parameters: Identifiers,
) -> Callable[[Predicate], Property]:
    """Declare a property of every reachable state."""
    _check_called(function, "always")
    return _declare(Scope.ALWAYS, name, why, catches, premise, parameters, lemmas)


def at_rest(
    function: None = None,
    /,
    *,
    name: str | None = None,
    why: str = "",
    catches: tuple[str, ...] = (),
    premise: Property | None = None,
    lemmas: tuple[Property, ...] = (),
    **parameters: Identifiers,
) -> Callable[[Predicate], Property]:
    """Declare a property of every state in which no step and no timer is possible any more."""
    _check_called(function, "at_rest")
    return _declare(Scope.AT_REST, name, why, catches, premise, parameters, lemmas)


def eventually(
    function: None = None,
    /,
    *,
    name: str | None = None,
    why: str = "",
    catches: tuple[str, ...] = (),
    premise: Property | None = None,
    **parameters: Identifiers,
) -> Callable[[Predicate], Property]:
    """Declare what is true again and again in every fair run (what stays true: becomes true).

    A run violates it that comes to rest where it is false, or that goes round a loop in which it is
    false throughout although each transition gets what its fairness promises.
    """
    _check_called(function, "eventually")
    return _declare(Scope.EVENTUALLY, name, why, catches, premise, parameters)


def sometimes(
    function: None = None,
    /,
    *,
    name: str | None = None,
    why: str = "",
    **parameters: Identifiers,
) -> Callable[[Predicate], Property]:
    """Declare a state that must be reachable, so that a pass says something."""
    _check_called(function, "sometimes")
    return _declare(Scope.SOMETIMES, name, why, (), None, parameters)
