"""Any number of workers: a size that shows what all larger ones do.

Where a run can choose only so many workers of a role (``choices``) and all others can be forgotten
(``forgetting``), what any larger rack does to a property a rack with just so many does too. So a
property that holds there, and in every smaller rack, holds for any number.

z3 shows that a rack with one worker more than the cutoff does nothing that one without it does
not, and that one with two more does nothing beyond that with one. That it is so from each size to
the next is taken to follow: transitions and properties treat all workers of a role alike (shown of
these sizes, by symmetry), and do not ask how many there are.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import evolve, field, frozen

from rackproof.checker.lowering import lower
from rackproof.checker.lowering.relation import Relation
from rackproof.checker.proof.choices import most_choices
from rackproof.checker.proof.forgetting import Forgetting, NotShown, bystander
from rackproof.checker.search import Limits, explore
from rackproof.checker.symmetry import interchangeable
from rackproof.checker.verdicts import Verdict
from rackproof.model.kernel import ModelError, Property, Scope, System
from rackproof.scenarios.schema import Setting

Sizes = Mapping[str, int]
"""How many there are of each role."""

BUILT_IN: Final = Path(__file__).parent
"""Where a rack that is no file would be looked for."""
LARGEST: Final = 6
"""The largest cutoff that is looked at."""
UNIFORM: Final = (
    "transitions and properties treat all workers of a role alike whatever their number, as was "
    "shown of the sizes named"
)
SOUND: Final = "the model raises no error in a larger size, as it raises none in those searched"


@frozen
class Family:
    """A system in every size.

    make: the system with so many of each role. roles: those of which there may be any number, with
    the least there is.
    """

    make: Callable[[Sizes], System]
    roles: Sizes


@frozen
class Shown:
    """What z3 showed of two sizes: that the larger does nothing that the smaller does not.

    chosen: how many workers of the role a run chooses at most. spoken: how many of those never
    chosen an instance of the properties may speak of. questions: how many z3 answered.
    """

    role: str
    larger: Sizes
    smaller: Sizes
    chosen: int
    spoken: int
    questions: int


@frozen
class Cutoff:
    """What is known of properties in all sizes.

    result: ``holds`` for any number from the least on; ``violated`` in the last of the sizes that
    were searched; ``inconclusive`` for a reason. sizes: the cutoff of each role. searched: the
    sizes that were searched, one after another. violated: the properties that are violated in the
    last of them. shown: what z3 showed. assumptions: what the result
    rests on beside that. seconds: all it took.
    """

    names: tuple[str, ...]
    result: Verdict
    reason: str | None = None
    sizes: Sizes = field(factory=dict)
    searched: tuple[Sizes, ...] = ()
    violated: tuple[str, ...] = ()
    shown: tuple[Shown, ...] = ()
    assumptions: tuple[str, ...] = (UNIFORM, SOUND)
    seconds: float = 0.0


def family(setting: Setting) -> Family:
    """The bundled world of a setting with any number of the workers of each role it has.

    Raises ``ModelError`` for a world of the user's own, and where the workers are placed by name.
    """
    from rackproof.scenarios.settings import (  # noqa: PLC0415
        DEFAULT_INSTANCES,
        ROLES,
        bundled_setting,
    )

    bundled = setting.bundled
    if bundled is None:
        raise ModelError("of a world of one's own it is not known how to build other sizes")
    if {"on", "path"} & set(bundled.rack):
        raise ModelError("the rack places its workers by name, so that there are no other sizes")
    rack = {**({} if set(ROLES) & set(bundled.rack) else DEFAULT_INSTANCES), **bundled.rack}

    def make(sizes: Sizes) -> System:
        return bundled_setting(evolve(bundled, rack={**rack, **sizes}), BUILT_IN).system

    return Family(make, {role: 1 for role in ROLES if rack.get(role)})


def for_any(
    family: Family, names: Sequence[str], limits: Limits | None = None, workers: int | None = None
) -> Cutoff:
    """What is known of some ``always`` properties for any number of each role.

    limits, workers: of the search in each size up to the cutoff.
    """
    started = time.monotonic()
    search = _Sizes(family, tuple(names), limits or Limits(), workers)
    try:
        found = search.cutoff()
    except NotShown as reason:
        found = search.known(Verdict.INCONCLUSIVE, str(reason))
    return evolve(found, seconds=time.monotonic() - started)


class _Sizes:
    """Looking for a cutoff, and at the sizes up to it."""

    def __init__(
        self, family: Family, names: tuple[str, ...], limits: Limits, workers: int | None
    ) -> None:
        self.family, self.names = family, names
        self.limits, self.workers = limits, workers
        self.sizes: Sizes = dict(family.roles)
        self.shown: list[Shown] = []
        self.searched: list[Sizes] = []
        self._relations: dict[tuple[tuple[str, int], ...], Relation] = {}

    def known(self, result: Verdict, reason: str | None = None) -> Cutoff:
        """What is known so far."""
        return Cutoff(
            self.names,
            result,
            reason,
            self.sizes,
            tuple(self.searched),
            shown=tuple(self.shown),
        )

    def cutoff(self) -> Cutoff:
        """Find the cutoff, show that it is one, and search every size up to it."""
        self._check_scopes()
        if (found := self._searched(self.sizes)) is not None:
            return found
        needed = self._needed(self.sizes)
        while any(needed[role] > self.sizes[role] for role in needed):
            self.sizes = {role: max(needed[role], self.sizes[role]) for role in needed}
            if max(self.sizes.values()) > LARGEST:
                raise NotShown(f"the cutoff would be beyond {LARGEST}")
            needed = self._needed(self.sizes)
        for role in self.family.roles:
            self._step(role, self._more(self.sizes, role))
        return self._all_searched()

    def _check_scopes(self) -> None:
        for prop in self._properties(self.family.make(self.sizes)):
            if prop.scope is not Scope.ALWAYS:
                raise NotShown(f"{prop.name} is not asked of every state")

    def _needed(self, sizes: Sizes) -> dict[str, int]:
        """How many of each role a run that violates one of the properties may need."""
        found = {}
        for role, least in self.family.roles.items():
            step = self._step(role, sizes)
            found[role] = max(least, step.chosen + step.spoken)
        return found

    def _more(self, sizes: Sizes, role: str) -> Sizes:
        return {**sizes, role: sizes[role] + 1}

    def _step(self, role: str, smaller: Sizes) -> Shown:
        """Show that one more of a role makes no difference."""
        larger = self._more(smaller, role)
        ours, theirs = self._relation(larger), self._relation(smaller)
        forgetting = Forgetting(bystander(ours, theirs, larger[role]))
        spoken = forgetting.check(ours.predicates)
        chosen = most_choices(forgetting)
        shown = Shown(role, larger, smaller, chosen, spoken, forgetting.shown_count)
        self.shown.append(shown)
        return shown

    def _relation(self, sizes: Sizes) -> Relation:
        key = tuple(sorted(sizes.items()))
        if key not in self._relations:
            system = self.family.make(sizes)
            self._relations[key] = lower(evolve(system, properties=self._properties(system)))
        return self._relations[key]

    def _properties(self, system: System) -> list[Property]:
        """The properties, without what puts them to the test."""
        known = {prop.name: prop for prop in system.properties}
        if unknown := [name for name in self.names if name not in known]:
            raise ModelError(f"no property is called {unknown[0]}")
        return [evolve(known[name], premise=None) for name in self.names]

    def _all_searched(self) -> Cutoff:
        """Search every size from the least to the cutoff."""
        for sizes in self._up_to_cutoff():
            if sizes not in self.searched and (found := self._searched(sizes)) is not None:
                return found
        return self.known(Verdict.HOLDS)

    def _searched(self, sizes: Sizes) -> Cutoff | None:
        """Search one size; what settles all, or None where all holds there."""
        relation = self._relation(sizes)
        classes = interchangeable(relation)
        seen = explore(relation, classes, limits=self.limits, workers=self.workers)
        if seen.raises:
            raise ModelError(f"{seen.raises[0].leaf.where}: {seen.raises[0].leaf.message}")
        self.searched.append(sizes)
        if seen.violations:
            violated = tuple(sorted(seen.violations))
            found = self.known(Verdict.VIOLATED, f"{', '.join(violated)}, with {told(sizes)}")
            return evolve(found, violated=violated)
        if seen.reason is not None:
            return self.known(Verdict.INCONCLUSIVE, f"with {told(sizes)}: {seen.reason}")
        return None

    def _up_to_cutoff(self) -> Iterator[Sizes]:
        roles = self.family.roles
        ways = (range(least, self.sizes[role] + 1) for role, least in roles.items())
        for counts in itertools.product(*ways):
            yield dict(zip(roles, counts, strict=True))


def told(sizes: Sizes) -> str:
    """Sizes in words: 2 prefill, 3 decode."""
    return ", ".join(f"{count} {role}" for role, count in sizes.items())
