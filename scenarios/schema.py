"""What a scenario says, once it was read and found sound."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from attrs import field, frozen

from rackproof.model.kernel import Firing, System
from rackproof.scenarios.fields import Fact

VERSION: Final = 1
DEFAULT_STACK: Final = "reference"

Expected = Literal["holds", "proved", "violated"]


@frozen
class Expectation:
    """What a scenario expects of a property; of a violation, how short its shortest run is.

    line, column: where it says so; 0 where it does not.
    """

    verdict: Expected
    steps: int | None = None
    faults: int | None = None
    line: int = field(default=0, eq=False)
    column: int = field(default=0, eq=False)


@frozen
class Step:
    """One step of a run that is written down; ``after`` is the seconds since the one before."""

    firing: Firing
    line: int
    after: float | None = None
    then: tuple[Fact, ...] = ()


@frozen
class Bundled:
    """What describes a setting of the bundled world: values as they are written in a scenario."""

    stack: str = DEFAULT_STACK
    mechanisms: Mapping[str, object] = field(factory=dict)
    rack: Mapping[str, object] = field(factory=dict)
    scope: Mapping[str, object] = field(factory=dict)
    faults: Mapping[str, int] = field(factory=dict)
    timeouts: Mapping[str, str] = field(factory=dict)
    deployment: Mapping[str, object] = field(factory=dict)

    def origin(self) -> dict[str, object]:
        """The keys of a scenario that describe it."""
        scope = {**self.scope, "faults": dict(self.faults)} if self.faults else dict(self.scope)
        described = {
            "protocol": {"stack": self.stack, **self.mechanisms},
            "rack": dict(self.rack),
            "scope": scope,
            "timeouts": dict(self.timeouts),
            "deployment": dict(self.deployment),
        }
        return {key: value for key, value in described.items() if value}


@frozen
class Setting:
    """A system to explore, and what a person wants to know of how it came about.

    origin: the keys of a scenario that describe it again. file: the Python file of a world of one's
    own. budgets: how many of each fault are to be explored; every one of them must take effect
    somewhere, by one of the transitions that ``faults`` has for it. bundled: what a fix changes.
    """

    system: System
    origin: Mapping[str, object]
    file: Path | None = None
    budgets: Mapping[str, int] = field(factory=dict)
    faults: Mapping[str, frozenset[str]] = field(factory=dict)
    bundled: Bundled | None = None


@frozen
class Case:
    """A setting and what is expected of its properties."""

    setting: Setting
    expect: Mapping[str, Expectation] = field(factory=dict)


@frozen
class Scenario:
    """One file: a world as it was reported, perhaps a fix, perhaps a run that is written down.

    loop: the number of the step, from one on, with which what is repeated for ever begins.
    """

    path: Path
    name: str
    case: Case
    fix: Case | None = None
    source: str | None = None
    why: str | None = None
    notes: str | None = None
    steps: tuple[Step, ...] | None = None
    loop: int | None = None
    then: tuple[Fact, ...] = ()
