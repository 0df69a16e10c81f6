"""A world to check: where it starts, how it moves, what must hold; and its reference semantics.

Everything here runs the plain functions on plain values. The engines of the checker are faster ways
to the same successors, and are tested against this.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
from attrs import field, frozen

from rackproof.model.kernel.domains import Identifiers
from rackproof.model.kernel.errors import ModelError
from rackproof.model.kernel.properties import Property, Scope
from rackproof.model.kernel.schema import Lane, Schema, schema_of
from rackproof.model.kernel.transitions import Fairness, Kind, Transition

if TYPE_CHECKING:
    from rackproof.model.kernel.evidence import Evidence
    from rackproof.model.kernel.picture import Picture
    from rackproof.model.kernel.timing import Timing

Bundle = tuple[Lane, ...]
"""Identifiers that are exchanged together, such as a tray and the workers on it."""


@frozen(eq=False)
class System:
    """An initial state, transitions and properties.

    sizes: the numbers that bounds name, and the count of sorts that no tuple has one each of.
    names: what the identifiers of a sort are called in traces (``sort-0`` and so on by default).
    interchangeable: classes of bundles that a symmetry of the world may exchange; None lets the
    checker try every unordered sort whole. The checker verifies each before it uses it.
    freedoms: what a proof may leave open, by name: the sizes that bound nothing then. given: what
    initial states have in common then, whatever values their parameters and supplies have.
    open_sizes: what is left open in this system, see ``leave_open``. timing: how long things take,
    picture: how it is drawn, evidence: what is recorded of its runs, for those who ask.
    """

    name: str
    initial: Any
    transitions: Sequence[Transition[..., Any]]
    properties: Sequence[Property] = ()
    sizes: Mapping[str, int] = field(factory=dict)
    names: Mapping[Identifiers, Sequence[str]] = field(factory=dict)
    interchangeable: Sequence[Sequence[Bundle]] | None = None
    freedoms: Mapping[str, Sequence[str]] = field(factory=dict)
    given: Callable[[Any], bool] | None = None
    open_sizes: frozenset[str] = frozenset()
    timing: Timing | None = None
    picture: Picture | None = None
    evidence: Evidence | None = None

    def __attrs_post_init__(self) -> None:
        """Check what can be checked without running anything."""
        self._check_kinds()
        self._check_sizes()
        for name, parameters in self._parameters():
            for parameter, sort in parameters:
                if sort not in self.schema.counts:
                    raise ModelError(
                        f"{name}: {parameter} ranges over {sort}, but how many there are is "
                        f"not known: give sizes={{{sort.name!r}: ...}}"
                    )
        repeated = [n for n, c in Counter(t.name for t in self.transitions).items() if c > 1]
        if repeated:
            raise ModelError(f"{self.name}: two transitions are called {repeated[0]}")

    def _check_kinds(self) -> None:
        for item in self.transitions:
            if not isinstance(item, Transition):
                raise ModelError(f"{self.name}: {_called(item)} is among transitions, and is none")
        premises = [p.premise for p in self.properties if isinstance(p, Property) and p.premise]
        named: dict[str, Property] = {}
        for prop in (*self.properties, *premises):
            if not isinstance(prop, Property):
                raise ModelError(f"{self.name}: {_called(prop)} is among properties, and is none")
            if named.setdefault(prop.name, prop) is not prop:
                raise ModelError(f"{self.name}: two properties are called {prop.name}")

    def leave_open(self, names: Collection[str]) -> System:
        """The system with every value of the parameters and supplies of these freedoms.

        Its initial state is one of many: those that ``given`` allows.
        """
        for name in names:
            if name not in self.freedoms:
                known = ", ".join(self.freedoms) or "nothing"
                raise ModelError(f"{self.name} has no {name!r} to leave open, but {known}")
        sizes = frozenset(size for name in names for size in self.freedoms[name])
        return attrs.evolve(self, open_sizes=self.open_sizes | sizes)

    def _check_sizes(self) -> None:
        for name, size in self.sizes.items():
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise ModelError(f"{self.name}: the size {name!r} is {size!r}, not a count")
        if self.given is not None and not self.given(self.initial):
            raise ModelError(f"{self.name}: the initial state is not as `given` says")
        counts = self.schema.counts  # which looks at the initial state, field by field
        for sort, names in self.names.items():
            count = counts.get(sort, len(names))
            if len(names) != count:
                raise ModelError(f"{self.name}: {len(names)} names for {count} {sort}s")
            for name, times in Counter(names).items():
                if times > 1:
                    raise ModelError(f"{self.name}: two {sort}s are called {name!r}")

    @property
    def with_lemmas(self) -> System:
        """The same world with the lemmas of its properties among them, as a proof needs it."""
        chains = [item for prop in self.properties for item in prop.chain]
        return attrs.evolve(self, properties=tuple(dict.fromkeys((*self.properties, *chains))))

    @cached_property
    def schema(self) -> Schema:
        """The slots of this world."""
        schema = schema_of(self.initial, self.sizes, self.names, self.open_sizes)
        missing = {
            sort: self.sizes[sort.name]
            for _, parameters in self._parameters()
            for _, sort in parameters
            if sort not in schema.counts and sort.name in self.sizes
        }
        return attrs.evolve(schema, counts={**schema.counts, **missing})

    def _parameters(self) -> Iterator[tuple[str, Sequence[tuple[str, Identifiers]]]]:
        for transition in self.transitions:
            yield transition.name, transition.parameters
        for prop in self.properties:
            yield prop.name, prop.parameters

    def label(self, sort: Identifiers, index: int) -> str:
        """What an identifier is called."""
        names = self.names.get(sort)
        return names[index] if names else f"{sort}-{index}"

    def named(
        self, parameters: Sequence[tuple[str, Identifiers]], arguments: Sequence[int]
    ) -> dict[str, str]:
        """Parameters with the names of the identifiers chosen for them."""
        chosen = zip(parameters, arguments, strict=True)
        return {name: self.label(sort, index) for (name, sort), index in chosen}

    def firings(self) -> Iterator[Firing]:
        """Every transition with every choice of its identifiers, in a fixed order."""
        for transition in self.transitions:
            for arguments in self.choices(transition.parameters):
                yield Firing(transition, arguments)

    def speaks_of_anything(self, prop: Property) -> bool:
        """Whether there is any choice of identifiers that a property is asked of."""
        return next(self.choices(prop.parameters), None) is not None

    def choices(self, parameters: Sequence[tuple[str, Identifiers]]) -> Iterator[tuple[int, ...]]:
        """Every choice of identifiers for some parameters."""
        counts = self.schema.counts
        return itertools.product(*(range(counts[sort]) for _, sort in parameters))


@frozen
class Firing:
    """A transition with its identifiers chosen."""

    transition: Transition[..., Any] = field(eq=lambda t: t.name)
    arguments: tuple[int, ...]

    def apply(self, system: System, state: Any) -> Any | None:
        """Return the next state, or None where it is not enabled or changes nothing.

        Raises ``OutOfDomain`` when a field leaves its declared domain.
        """
        after = self.transition.function(state, *self.arguments)
        if after is None or after == state:
            return None
        system.schema.check_step(state, after)
        return after

    def words(self, system: System) -> str:
        """The transition's sentence with the names of its identifiers."""
        return self.transition.sentence.format(**self.named(system))

    def named(self, system: System) -> dict[str, str]:
        """The parameters and the names of the identifiers chosen."""
        return system.named(self.transition.parameters, self.arguments)

    @property
    def is_progress(self) -> bool:
        """Whether the protocol itself does this (a step or a timer)."""
        return self.transition.kind in (Kind.STEP, Kind.TIMER)

    @property
    def is_owed(self) -> bool:
        """Whether it happens without anybody's choice: by the protocol, or as fairness asks."""
        return self.is_progress or self.transition.fairness is not Fairness.NONE


def successors(system: System, state: Any) -> Iterator[tuple[Firing, Any]]:
    """Every firing that is enabled in a state and changes it, with the state it leads to."""
    for firing in system.firings():
        after = firing.apply(system, state)
        if after is not None:
            yield firing, after


def at_rest(system: System, state: Any) -> bool:
    """Whether no step and no timer is possible."""
    return not any(firing.is_progress for firing, _ in successors(system, state))


def holds(system: System, prop: Property, state: Any) -> bool:
    """Whether the predicate is true of a state, for all (``sometimes``: for one) of its
    identifiers.
    """
    verdicts = (prop.function(state, *ids) for ids in system.choices(prop.parameters))
    return any(verdicts) if prop.scope is Scope.SOMETIMES else all(verdicts)


def _called(item: object) -> str:
    return str(getattr(item, "name", getattr(item, "__name__", repr(item))))
