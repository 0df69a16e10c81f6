"""What stops a violation: changes of mechanisms, each of which was explored.

First the scenario's own fix, which was explored with it; then the least changes of mechanisms
(``checker/repair``), with what else is violated under them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs
from attrs import define, field, frozen

from rackproof.checker.engines import Options, explore
from rackproof.checker.exams import Examined
from rackproof.checker.explain.bound import Bound, Cut
from rackproof.checker.explain.explanation import OPEN, Mend
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.repairs import Repair, Repairs, repairs
from rackproof.checker.repair.switches import Assignment, Switch, Switches, switches
from rackproof.checker.report.setting import differences, written
from rackproof.checker.verdicts import Result, Verdict, listed, results
from rackproof.checker.verify import AS_REPORTED, WITH_FIX, Report, Run
from rackproof.model.kernel import ModelError, System

FIX: Final = "the scenario's fix"
LEAST: Final = "a least change of mechanisms"
AVERTED: Final = "what it is about no longer happens"


@frozen
class Mended:
    """A mend, and the system that it makes."""

    mend: Mend
    system: System


def known(
    report: Report, run: Run, result: Result, settled: Mapping[str, Verdict] | None = None
) -> tuple[Mended, ...]:
    """What is known to stop a violation, from what was explored for a report. settled: what else
    was found of properties without any change.
    """
    found = [*_fix(report, run, result, settled or {})]
    told = report.repairs if isinstance(report, Examined) else ()
    if report.diagnosis is not None and not told:
        told = report.diagnosis.repairs
    mine = [one for one in told if one.names == (result.prop.name,)]
    if mine:
        found += _least(mine[0], switches(run.case.setting.system))
    return _once(found)


def looked_for(
    report: Report, run: Run, result: Result, bound: Bound
) -> tuple[tuple[Mended, ...], str | None]:
    """The same, and the least changes where these are not known; what could not be told of them."""
    before = known(report, run, result, _openly(report, run, bound))
    if any(one.mend.source == LEAST for one in before) or isinstance(report, Examined):
        return before, None
    try:
        protocols = _Limited(run.case.setting, Options("search"), bound=bound)
        if not protocols.switches.all:
            return before, None
        protocols.learn(run)
        found = repairs(
            protocols, (result.prop.name,), _judged(run), _reported(report, run, protocols)
        )
    except (Cut, ModelError) as error:
        return before, f"which changes of mechanisms stop it: {error}"
    mends = _once([*before, *_least(found, protocols.switches)])
    if found.doubt is not None:
        return mends, f"whether there are other changes that stop it: {found.doubt}"
    return mends, None if mends else "no change of mechanisms stops it, whatever is chosen"


@define(slots=False)
class _Limited(Protocols):
    """Protocols that are explored until a bound is reached."""

    bound: Bound = field(factory=Bound, kw_only=True)

    def results(
        self,
        assignment: Assignment,
        until: Sequence[str] | None = None,  # type: ignore[override]
    ) -> Mapping[str, Result]:
        self.bound.check()
        self.options = attrs.evolve(self.options, seconds=max(0.1, self.bound.left))
        return super().results(assignment, until)


def _judged(run: Run) -> list[str]:
    """The properties that a change must not break."""
    return [
        r.prop.name for r in run.results if not r.is_absent and (r.judged or not run.case.expect)
    ]


def _reported(report: Report, run: Run, protocols: Protocols) -> Assignment | None:
    """The mechanisms of the scenario's fix."""
    fix = report.scenario.fix if report.scenario and run.label == AS_REPORTED else None
    return protocols.switches.of(fix.setting.system) if fix else None


def _once(found: Sequence[Mended]) -> tuple[Mended, ...]:
    """Each change once."""
    distinct: dict[frozenset[str], Mended] = {}
    for one in found:
        distinct.setdefault(frozenset(one.mend.changes), one)
    return tuple(distinct.values())


# The scenario's fix.


def _fix(
    report: Report, run: Run, result: Result, settled: Mapping[str, Verdict]
) -> Iterator[Mended]:
    fixed = _fixed(report)
    if fixed is None or run.label != AS_REPORTED:
        return
    found = {other.prop.name: other for other in fixed.results}
    mine = found.get(result.prop.name)
    changes = tuple(differences(run.case.setting, fixed.case.setting))
    if mine is not None and mine.verdict is not Verdict.VIOLATED and changes:
        why = f" ({mine.reason})" if mine.reason else ""
        effects = tuple(_effects(run, found, settled))
        yield Mended(Mend(changes, f"{mine.words}{why}", FIX, effects), fixed.case.setting.system)


def _fixed(report: Report) -> Run | None:
    return next((one for one in report.runs if one.label == WITH_FIX), None)


def _effects(
    run: Run, found: Mapping[str, Result], settled: Mapping[str, Verdict]
) -> Iterator[str]:
    """What is violated with the fix and is known not to be without it; then, together, what is not
    known not to be.
    """
    before = {**{result.prop.name: result.verdict for result in run.results}, **settled}
    broken = [n for n, r in found.items() if r.verdict is Verdict.VIOLATED]
    unknown = [n for n in broken if before.get(n) in (None, Verdict.INCONCLUSIVE)]
    yield from (n for n in broken if n not in unknown and before[n] is not Verdict.VIOLATED)
    if unknown:
        yield f"{listed(unknown)}{OPEN}"


def _openly(report: Report, run: Run, bound: Bound) -> dict[str, Verdict]:
    """What is found without any change of the properties that are violated with the scenario's fix,
    and of which nothing is known, as the search had found what it looked for.
    """
    fixed = _fixed(report)
    if fixed is None or run.label != AS_REPORTED or bound.left <= 0:
        return {}
    broken = {r.prop.name for r in fixed.results if r.verdict is Verdict.VIOLATED}
    judged = [r.prop.name for r in run.results if r.verdict is Verdict.INCONCLUSIVE]
    names = [name for name in judged if name in broken]
    if not names:
        return {}
    system = run.case.setting.system
    alone = attrs.evolve(system, properties=tuple(p for p in system.properties if p.name in names))
    options = Options("search", seconds=max(0.1, bound.left / 2))
    return {r.prop.name: r.verdict for r in results(alone, explore(alone, names, options), {}, ())}


# The least changes.


def _least(found: Repairs, known: Switches) -> Iterator[Mended]:
    for repair in found.found:
        verdict = AVERTED if repair.averted else "holds"
        effects = (*repair.breaks, *repair.uncovers)
        changes = tuple(_changes(repair, known))
        yield Mended(Mend(changes, verdict, LEAST, effects), known.at(_assignment(repair, known)))


def _changes(repair: Repair, known: Switches) -> Iterator[str]:
    for switch in known.all:
        if switch.name in repair.choice:
            before, after = switch.present, repair.choice[switch.name]
            yield f"{switch.name}: {written(before)} -> {written(after)}"


def _assignment(repair: Repair, known: Switches) -> Assignment:
    """The values of all mechanisms with a repair."""
    return tuple(_chosen(repair, switch) for switch in known.all)


def _chosen(repair: Repair, switch: Switch) -> object:
    if switch.name not in repair.choice:
        return switch.present
    chosen = written(repair.choice[switch.name])
    return next(value for value in switch.mechanism.values if written(value) == chosen)
