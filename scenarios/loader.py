"""From a file to a ``Scenario``, or to a ``ScenarioError`` that tells everything wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from attrs import evolve, frozen

from rackproof.scenarios.document import parse, read_text, top_keys
from rackproof.scenarios.errors import Problems, hint
from rackproof.scenarios.fields import Fact, Fields
from rackproof.scenarios.places import Place
from rackproof.scenarios.schema import VERSION, Case, Expectation, Expected, Scenario, Setting, Step
from rackproof.scenarios.settings import SETTING_KEYS, known_properties, read_setting
from rackproof.scenarios.steps import read_facts, read_step

TEXTS: Final = ("name", "source", "why", "notes")
KEYS: Final = ("rackproof", *TEXTS, *SETTING_KEYS, "expect", "fix", "steps", "loop", "then")
OUTCOMES: Final = ("holds", "proved", "violated")
MOST_STEPS: Final = 10_000


def load(path: Path) -> Scenario:
    """Read a scenario; ``ScenarioError`` names file, line and key of every mistake."""
    return loads(read_text(path), path)


def loads(text: str, path: Path) -> Scenario:
    """Read a scenario from a text; relative paths in it start where ``path`` is."""
    problems = Problems(path)
    root = Place(parse(text, path), "", 0, problems)
    found = _keys(root)
    scenario = _Loading(path, root, found, problems).scenario() if found else None
    problems.check()
    assert scenario is not None, "a scenario that cannot be read has a problem"
    return scenario


def is_scenario(text: str) -> bool:
    """Whether a text is meant to be a scenario: it has the key rackproof, or two that only we have.

    A mistyped ``rackproof:`` must not make a file invisible.
    """
    keys = top_keys(text)
    return "rackproof" in keys or len(keys & {"protocol", "scope", "expect", "fix", "then"}) >= 2


def _keys(root: Place) -> dict[str, Place]:
    """The entries of a scenario of our version."""
    entries = root.entries("a map that begins with rackproof: 1")
    if entries is None:
        return {}
    version = entries.get("rackproof")
    if version is None:
        line = root.node.line
        root.problems.add(line, "rackproof", "is missing: a scenario begins with rackproof: 1")
        _known(entries)
        return {}
    if version.value != VERSION or type(version.value) is not int:
        version.wrong(f"{VERSION}, the version of the format")
        return {}
    return _known(entries)


def _known(entries: Mapping[str, Place]) -> dict[str, Place]:
    for name, place in entries.items():
        if name not in KEYS:
            place.fail(f"there is no such key{hint(name, sorted(KEYS))}")
    return {name: place for name, place in entries.items() if name in KEYS}


@frozen
class _Loading:
    """One scenario, part by part."""

    path: Path
    root: Place
    found: Mapping[str, Place]
    problems: Problems

    def scenario(self) -> Scenario | None:
        texts = {key: self.found[key].text() for key in TEXTS if key in self.found}
        if "name" not in self.found:
            self.problems.add(
                self.root.node.line, "name", "is missing: tell in one line what happens"
            )
        setting = read_setting(self.found, None, self.path, self.problems)
        expect = self._expectations(self.found.get("expect"), setting)
        fix = self._fix(setting, expect)
        steps, then = self._run(setting)
        loop = self._loop()
        name = texts.pop("name", None)
        if setting is None or name is None:
            return None
        case = Case(setting, expect)
        return Scenario(self.path, name, case, fix, steps=steps, loop=loop, then=then, **texts)

    def _expectations(self, place: Place | None, setting: Setting | None) -> dict[str, Expectation]:
        if place is None:
            return {}
        entries = place.entries("a map from properties to what is expected of them") or {}
        if place.is_map and not entries:
            place.fail("is empty: leave it out, and every property is checked")
        names = known_properties(setting, "world" in self.found)
        expected = {}
        for name, item in entries.items():
            if names is not None and name not in names:
                item.fail(f"there is no such property{hint(name, sorted(names))}")
            expectation = _expectation(item)
            if expectation:
                expected[name] = evolve(expectation, line=item.line, column=item.column)
        return expected

    def _fix(self, setting: Setting | None, expect: Mapping[str, Expectation]) -> Case | None:
        place = self.found.get("fix")
        if place is None:
            return None
        found = place.record((*SETTING_KEYS, "expect"), "a map of what changes")
        changes = found.keys() & set(SETTING_KEYS)
        if place.is_map and not changes:
            place.fail("changes nothing: say which protocol or scope removes the violation")
        fixed = None
        if setting is not None and changes:
            fixed = read_setting(found, setting, self.path, self.problems)
        wanted = self._expectations(found.get("expect"), fixed or setting)
        if fixed is None:
            return None
        if "expect" not in found:
            wanted = {
                name: Expectation("holds", line=place.line, column=place.column)
                for name, told in expect.items()
                if told.verdict == "violated"
            }
        return Case(fixed, wanted)

    def _run(self, setting: Setting | None) -> tuple[tuple[Step, ...] | None, tuple[Fact, ...]]:
        steps, then = self.found.get("steps"), self.found.get("then")
        if steps is None:
            if then is not None:
                then.fail("says how a run ends, but there are no steps")
            return None, ()
        items = list(steps.items("a list of steps"))
        if len(items) > MOST_STEPS:
            steps.fail(f"has {len(items):,} steps; at most {MOST_STEPS:,}")
        if setting is None:
            return None, ()
        fields = Fields(setting.system)
        read = [read_step(item, fields) for item in items]
        return tuple(step for step in read if step), read_facts(then, fields)

    def _loop(self) -> int | None:
        """The number of the step with which a loop begins."""
        place, steps = self.found.get("loop"), self.found.get("steps")
        if place is None:
            return None
        if steps is None or not steps.length:
            place.fail("says from where on a run goes on for ever, but there are no steps")
            return None
        return place.whole(1, steps.length)


def _expectation(place: Place) -> Expectation | None:
    """Holds, proved, violated, or violated with the length of the shortest run."""
    if not place.is_map:
        outcome = place.choice(OUTCOMES, "outcome")
        return Expectation(cast(Expected, outcome)) if outcome else None
    found = place.record(["violated"], "an outcome")
    if "violated" not in found:
        place.wrong("an outcome, or {violated: {steps: 9, faults: 1}}")
        return None
    length = found["violated"].record(("steps", "faults"), "its steps and faults")
    numbers = {key: item.whole(0) for key, item in length.items()}
    return Expectation("violated", numbers.get("steps"), numbers.get("faults"))
