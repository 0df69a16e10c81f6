"""Mechanisms set from outside: a world as it would be with other values than it is written with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
from attrs import evolve, frozen

from rackproof.scenarios.errors import unknown
from rackproof.scenarios.schema import Case, Scenario, Setting
from rackproof.scenarios.settings import bundled_setting
from rackproof.scenarios.worlds import InputError

WORDS: Final = {True: "true", False: "false"}
SET: Final = " --set "
"""Before each change in the name of a world that is not as it is written."""
EXAMPLE: Final = "finish-latch=true"


@frozen
class Change:
    """A mechanism and the value that it is to have, as a scenario writes it."""

    mechanism: str
    value: bool | str

    def __str__(self) -> str:
        value = WORDS[self.value] if isinstance(self.value, bool) else self.value
        return f"{self.mechanism}={value}"


def read_change(text: str) -> Change:
    """What ``MECHANISM=VALUE`` means; ``InputError`` names the nearest mechanism, or the values."""
    from rackproof.model.protocol import mechanisms  # noqa: PLC0415

    name, equals, word = text.partition("=")
    known = {mechanism.name: mechanism for mechanism in mechanisms()}
    if not equals:
        raise InputError(f"{text}: write MECHANISM=VALUE, such as {EXAMPLE}")
    if name not in known:
        raise InputError(f"{text}: {unknown('mechanism', name, known)}")
    alternatives = known[name].alternatives
    values: dict[str, bool | str] = (
        {word: value for value, word in WORDS.items()}
        if alternatives is None
        else {a.value: a.value for a in alternatives}
    )
    if word not in values:
        raise InputError(f"{text}: {name} is {' or '.join(values)}")
    return Change(name, values[word])


def as_map(changes: Sequence[Change]) -> dict[str, object]:
    """The values by mechanism."""
    return {change.mechanism: change.value for change in changes}


def told(changes: Sequence[Change]) -> str:
    """The changes in words, to go behind what is changed; empty where there are none."""
    return f" with {', '.join(map(str, changes))}" if changes else ""


def changed(scenario: Scenario, changes: Sequence[Change], label: str) -> Scenario:
    """A scenario with some mechanisms set. What it expects, its fix and its run are of the world as
    it is written, and so are left out. ``InputError`` for a world of one's own.
    """
    return evolve(
        scenario,
        name=f"{scenario.name}{told(changes)}",
        case=Case(_changed(scenario.case.setting, changes, label, scenario)),
        fix=None,
        steps=None,
        loop=None,
        then=(),
    )


def _changed(
    setting: Setting, changes: Sequence[Change], label: str, scenario: Scenario
) -> Setting:
    bundled = setting.bundled
    if bundled is None:
        raise InputError(
            f"--set {changes[0]}: is for stacks and for scenarios of the bundled world; "
            f"{label} is a world of one's own, which has no such mechanisms"
        )
    mechanisms: Mapping[str, Any] = {**bundled.mechanisms, **as_map(changes)}
    return bundled_setting(evolve(bundled, mechanisms=mechanisms), scenario.path)


def check_known(stack: str, changes: Sequence[Change]) -> None:
    """Refuse to change in a stack what none of the exams that it sits asks about."""
    from rackproof.model.protocol import mechanisms  # noqa: PLC0415
    from rackproof.model.scope import Scope, concern  # noqa: PLC0415
    from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

    concerns = {mechanism.name: mechanism.concern for mechanism in mechanisms()}
    apart = {concern(attribute) for attribute in attrs.fields(Scope)}
    for change in changes:
        about = concerns[change.mechanism]
        if about in apart - load_stack(stack).concerns:
            raise InputError(
                f"--set {change}: the file of stack {stack} says nothing of {about}, "
                "so that it sits no exam in which this would matter"
            )
