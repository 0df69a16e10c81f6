"""What must hold: plain functions from a world (and a few identifiers) to a boolean.

``always`` must hold in every reachable state; ``at_rest`` in every state in which no step and no
timer can happen any more; ``eventually`` again and again in every fair run; ``sometimes`` in at
least one reachable state. Identifiers are quantified over: for all of them (for ``sometimes``: for
one of them).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any

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
        text = inspect.cleandoc(self.function.__doc__ or self.name)
        return " ".join(text.split("\n\n", 1)[0].split())

    @property
    def where(self) -> str:
        """File and line of the function; of the one that it wraps, if any."""
        code = inspect.unwrap(self.function).__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        """Evaluate the plain function."""
        return self.function(*args, **kwargs)


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
        return Property(kebab, scope, function, chosen, why, catches, premise, lemmas)

    return declare


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
