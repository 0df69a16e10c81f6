"""The missing guards of a target, for a person and for a machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from attrs import frozen

from rackproof.checker.guards import Guard, Mend, Synthesis
from rackproof.checker.verdicts import counted
from rackproof.scenarios.steps import kebab

ALIKE: Final = 2
"""How many other ways to say a guard are told, without -v."""


@frozen
class GuardReport:
    """What was found out about the violated properties of one target.

    scope: what was explored, in words, where that can be told. has_mechanisms: whether its world
    has any that might be changed instead.
    """

    target: str
    found: tuple[Synthesis, ...]
    scope: str | None = None
    has_mechanisms: bool = False

    @property
    def is_conclusive(self) -> bool:
        """Whether all that there is was tried."""
        return not any(synthesis.is_open for synthesis in self.found)

    def lines(self, every: bool = False) -> Iterator[str]:
        """The report at a terminal; every: each way to say a guard."""
        if self.scope:
            yield f"scope: {self.scope}"
        if not self.found:
            yield "no property is violated here, so no guard is missing"
        for synthesis in self.found:
            yield ""
            yield from _synthesis(synthesis, every)
        if any(synthesis.mends for synthesis in self.found):
            yield ""
            yield (
                "each was proved in this scope by an exhaustive search of the guarded world: the "
                "property holds, what is to be reachable stays so, nothing rests that went on, and "
                "what held still holds"
            )

    def data(self) -> dict[str, Any]:
        """Plain lists, maps, texts and numbers."""
        return {
            "target": self.target,
            "scope": self.scope,
            "conclusive": self.is_conclusive,
            "properties": [_data(synthesis) for synthesis in self.found],
        }


def _synthesis(synthesis: Synthesis, every: bool) -> Iterator[str]:
    size = f"{counted(synthesis.states, 'state')}, {counted(synthesis.moves, 'transition')}"
    yield f"{synthesis.prop.name} ({size}; {counted(synthesis.tried, 'guard')} tried)"
    for mend in synthesis.mends:
        yield from _mend(mend, synthesis, every)
    if synthesis.reason:
        yield f"  {synthesis.reason}"
    if synthesis.nearest:
        yield f"  the nearest: {_told(synthesis.nearest.guards)}"
        yield f"    with it, {'; '.join(synthesis.nearest.costs)}"


def _mend(mend: Mend, synthesis: Synthesis, every: bool) -> Iterator[str]:
    yield f"  {_told(mend.guards)}"
    states = _share(mend.states, synthesis.states, "states")
    yield f"    keeps {states} and {_share(mend.moves, synthesis.moves, 'transitions')}"
    if mend.lost:
        yield f"    no longer happens: {', '.join(map(kebab, mend.lost))}"
    for other in mend.others[: None if every else ALIKE]:
        yield f"    the same: {other}"


def _share(part: int, whole: int, what: str) -> str:
    return f"{part:,} of {whole:,} {what} ({100 * part // whole} %)"


def _told(guards: tuple[Guard, ...]) -> str:
    return "; and ".join(guard.words for guard in guards)


def _data(synthesis: Synthesis) -> dict[str, Any]:
    near = synthesis.nearest
    return {
        "name": synthesis.prop.name,
        "states": synthesis.states,
        "transitions": synthesis.moves,
        "tried": synthesis.tried,
        **({"reason": synthesis.reason} if synthesis.reason else {}),
        "guards": [
            {
                "add": _guards(mend.guards),
                "states": mend.states,
                "transitions": mend.moves,
                "same": list(mend.others),
                "no_longer_happens": [kebab(name) for name in mend.lost],
            }
            for mend in synthesis.mends
        ],
        **({"nearest": {"add": _guards(near.guards), "costs": list(near.costs)}} if near else {}),
    }


def _guards(guards: tuple[Guard, ...]) -> list[dict[str, str]]:
    return [{"to": kebab(guard.transition.name), "only_if": guard.text} for guard in guards]
