"""The least faults and the smallest scope in which a property is still violated.

Each fault is left out, or had less often, and each number of the scope and of the rack is made
smaller, one at a time and on top of what was made smaller before, for as long as an exhaustive
search finds a violation. Then what could not be is tried again, until nothing changes: so each
thing that is told to be needed was tried alone, in the smallest scope that was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import define, evolve, field, frozen

from rackproof.checker.engines import Options
from rackproof.checker.engines import explore as explored
from rackproof.checker.explain.bound import Bound
from rackproof.checker.explain.explanation import Smallest
from rackproof.checker.report.setting import effective, size_in_words
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Result, Verdict, listed, results
from rackproof.checker.verify import silent
from rackproof.model.kernel import Kind, ModelError
from rackproof.scenarios.schema import Bundled, Setting
from rackproof.scenarios.settings import DEFAULT_INSTANCES, ROLES, bundled_setting
from rackproof.scenarios.steps import kebab

FAULTS, SCOPE, RACK = "faults", "scope", "rack"
OWN: Final = "the sizes of a world of one's own are left as they are"


@frozen
class Size:
    """Something of a setting that can be made smaller; least: how small it can be at all."""

    part: str
    name: str
    value: int
    least: int

    def words(self, value: int) -> str:
        """With a value: 2 (of requests), true or false (of what is there or not)."""
        if self.part == SCOPE and self.name in _flags():
            return "true" if value else "false"
        return str(value)

    def told(self, value: int) -> str:
        """The same with what it is of: 2 requests; gateway, or no gateway."""
        if self.part == FAULTS:
            return f"{value} {self.name}"
        words = self.words(value)
        return size_in_words(self.name, value) if words.isdigit() else _is_there(self.name, value)


def _is_there(name: str, value: int) -> str:
    return f"{'' if value else 'no '}{name.replace('-', ' ')}"


def smallest(result: Result, setting: Setting, path: Path, bound: Bound) -> Smallest:
    """The least faults and scope of a violation. path: of the scenario, for its rack."""
    trace = result.trace
    assert trace is not None, "only a violation can be made smaller"
    faults = _used(trace, setting)
    if setting.bundled is None:
        return Smallest(f"{_told(faults, setting, result)} {OWN[:1].upper()}{OWN[1:]}.", faults)
    search = _Smaller(setting, setting.bundled, path, result.prop.name, bound)
    search.descend(faults, result.fewest_faults)
    return search.told(result)


def _used(trace: Trace, setting: Setting) -> dict[str, int]:
    """How often each fault, and whatever else has a budget, happens in a run, by that name."""
    names = {name: fault for fault, those in setting.faults.items() for name in those}
    counted = (
        step.firing.transition.name
        for step in trace.steps
        if step.is_fault or step.firing.transition.name in names
    )
    return dict(Counter(names.get(name, kebab(name)) for name in counted))


def _told(counts: Mapping[str, int], setting: Setting, result: Result) -> str:
    """What has a budget and is needed: faults, with whether fewer would do, and what clients do."""
    faults = {name: count for name, count in counts.items() if _is_fault(setting, name)}
    told = listed([f"{count} {name}" for name, count in faults.items()])
    acts = listed([f"{count} {name}" for name, count in counts.items() if name not in faults])
    if not faults:
        return f"No fault is needed{f', only what clients may do: {acts}' if acts else ''}."
    also = f", with what clients may do ({acts})," if acts else ""
    return f"{told}{also} {_enough(sum(faults.values()), result.fewest_faults)}."


def _enough(number: int, is_least: bool) -> str:
    """That so many faults are enough, and that fewer are not where that was shown."""
    fewer = "without any fault" if number == 1 else f"with fewer than {number} faults"
    least = f"; {fewer}, no run of this scope does" if is_least else ""
    return f"{'is' if number == 1 else 'are'} enough to violate it{least}"


def _is_fault(setting: Setting, budget: str) -> bool:
    """Whether what has a budget is a fault, and not what a client does."""
    names = setting.faults.get(budget, (budget.replace("-", "_"),))
    return any(t.kind is Kind.FAULT for t in setting.system.transitions if t.name in names)


@define
class _Smaller:
    """A descent from a setting to the smallest in which a property is violated.

    tried: what was found, by what the setting was then; None: no such world. needed: for each size
    that could not be made smaller, the value that was tried and what was found. untold: the sizes
    that were not tried, or of which nothing could be told, with why.
    """

    setting: Setting
    now: Bundled
    path: Path
    name: str
    bound: Bound
    tried: dict[str, Result | None] = field(factory=dict)
    needed: dict[Size, tuple[int, Result]] = field(factory=dict)
    untold: dict[Size, str] = field(factory=dict)

    def descend(self, faults: Mapping[str, int], fewest: bool) -> None:
        """Make smaller what can be; first leave out the faults that the run does without."""
        fewer = evolve(self.now, faults=dict(faults))
        if fewer.faults != self.now.faults and self._is_violated(fewer):
            self.now = fewer
        sizes = [
            size
            for size in self.sizes()
            if not (fewest and size.part == FAULTS and _is_fault(self.setting, size.name))
        ]
        while sum(self._lower(size) for size in sizes):
            pass  # until none of them could be made smaller

    def sizes(self) -> list[Size]:
        """All that can be made smaller, as it was at first."""
        return [*_faults(self.now), *_scope(self.setting), *_racks(self.setting)]

    def _lower(self, size: Size) -> bool:
        """Make one thing as small as it can be; whether it could be made smaller at all."""
        first = value = _value(self.now, size)
        self.needed.pop(size, None)
        self.untold.pop(size, None)
        for smaller in dict.fromkeys((size.least, *range(value - 1, size.least, -1))):
            if smaller < value and self._try(size, smaller):
                value = smaller
                self.now = _with(self.now, size, value)
        return value < first

    def _try(self, size: Size, value: int) -> bool:
        """Whether it is violated with a smaller value; what else was found is kept."""
        if self.bound.left <= 0:
            self.untold[size] = self.bound.reached
            return False
        found = self._found(_with(self.now, size, value))
        if found is None:
            return False
        if found.verdict is Verdict.INCONCLUSIVE:
            self.untold[size] = found.reason or ""
        elif found.verdict is not Verdict.VIOLATED:
            self.needed[size] = value, found
        return found.verdict is Verdict.VIOLATED

    def _is_violated(self, bundled: Bundled) -> bool:
        found = self._found(bundled) if self.bound.left > 0 else None
        return found is not None and found.verdict is Verdict.VIOLATED

    def _found(self, bundled: Bundled) -> Result | None:
        """What is found of the property in a setting; None where there can be no such world."""
        key = repr(bundled)
        if key not in self.tried:
            try:
                self.tried[key] = self._explored(bundled_setting(bundled, self.path))
            except ModelError:
                self.tried[key] = None
        return self.tried[key]

    def _explored(self, setting: Setting) -> Result:
        props = [prop for prop in setting.system.properties if prop.name == self.name]
        system = attrs.evolve(setting.system, properties=tuple(props))
        options = Options("search", seconds=max(0.1, self.bound.left))
        findings = explored(system, [self.name], options)
        return results(system, findings, {}, silent(setting, findings))[0]

    # In words.

    def told(self, result: Result) -> Smallest:
        """What was found."""
        sizes = [size for size in self.sizes_at_first if size.part != FAULTS]
        smaller = [size for size in sizes if _value(self.now, size) < size.value]
        scope = [
            f"{size.name}: {size.words(size.value)} -> {size.words(_value(self.now, size))}"
            for size in smaller
        ]
        needed = [
            _needed(size, self.now, tried)
            for size, (tried, found) in self.needed.items()
            if found.verdict is Verdict.HOLDS
        ]
        return Smallest(
            " ".join(self._words(result, smaller, needed)),
            {name: count for name, count in self.now.faults.items() if count},
            tuple(scope),
            tuple(needed),
        )

    @property
    def sizes_at_first(self) -> list[Size]:
        return [*_scope(self.setting), *_racks(self.setting)]

    def _words(
        self, result: Result, smaller: Sequence[Size], needed: Sequence[str]
    ) -> Iterator[str]:
        counts = {name: count for name, count in self.now.faults.items() if count}
        yield _told(counts, self.setting, result)
        if smaller:
            told = listed([size.told(_value(self.now, size)) for size in smaller])
            yield f"{told[:1].upper()}{told[1:]} {'suffice' if smaller[1:] else 'suffices'}."
        elif self.tried and not self.untold:
            yield "Nothing in this scope can be smaller."
        yield from (f"{one[:1].upper()}{one[1:]}." for one in needed)
        for why in dict.fromkeys(self.untold.values()):
            those = [size for size, other in self.untold.items() if other == why]
            told = listed([size.told(_value(self.now, size)) for size in those])
            yield f"Whether less than {told} would do was not found out: {why}."


def _needed(size: Size, now: Bundled, tried: int) -> str:
    """That a size is needed, as it holds with less: 2 requests are needed: with 1 it holds."""
    value = _value(now, size)
    many = "are" if value > 1 and size.told(value)[:1].isdigit() else "is"
    less = f"with {size.words(tried)}" if size.words(value).isdigit() else "without it,"
    return f"{size.told(value)} {many} needed: {less} it holds"


# The sizes of a setting of the bundled world.


def _faults(bundled: Bundled) -> Iterator[Size]:
    for name, count in bundled.faults.items():
        if count:
            yield Size(FAULTS, name, count, 0)


def _scope(setting: Setting) -> Iterator[Size]:
    """The numbers of the scope that mean anything in it, and what is there on request."""
    from rackproof.model.scope import Scope, limits, part  # noqa: PLC0415

    values: Mapping[str, Any] = effective(setting)["scope"]
    for attribute in attrs.fields(Scope):
        name, whole, bounds = kebab(attribute.name), part(attribute), limits(attribute)
        value = values[name]
        is_there = whole is None or bool(values[kebab(whole)])
        if isinstance(value, bool):
            if value:
                yield Size(SCOPE, name, 1, 0)
        elif bounds and is_there and name != "max-tokens" and value > bounds[0]:
            yield Size(SCOPE, name, value, bounds[0])


def _racks(setting: Setting) -> Iterator[Size]:
    rack = effective(setting)["rack"]
    for role in ROLES:
        if rack[role]:
            yield Size(RACK, role, rack[role], 0)


def _flags() -> frozenset[str]:
    from rackproof.model.scope import Scope  # noqa: PLC0415

    return frozenset(kebab(a.name) for a in attrs.fields(Scope) if isinstance(a.default, bool))


def _value(bundled: Bundled, size: Size) -> int:
    held = {FAULTS: bundled.faults, SCOPE: bundled.scope, RACK: bundled.rack}[size.part]
    return int(held.get(size.name, size.value))  # type: ignore[call-overload,no-any-return]


def _with(bundled: Bundled, size: Size, value: int) -> Bundled:
    """A setting with another value of one of its sizes."""
    if size.part == FAULTS:
        return evolve(bundled, faults={**bundled.faults, size.name: value})
    if size.part == SCOPE:
        told = bool(value) if size.name in _flags() else value
        return evolve(bundled, scope={**bundled.scope, size.name: told})
    roles = {} if set(ROLES) & bundled.rack.keys() else DEFAULT_INSTANCES
    return evolve(bundled, rack={**roles, **bundled.rack, size.name: value})
