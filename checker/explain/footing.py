"""What every result says of itself: how to see it again, what was not looked at, what to do next.

A next move that is a command is written as a shell takes it, with why behind a ``#``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import evolve

from rackproof.checker.engines import Options
from rackproof.checker.exams import Examined
from rackproof.checker.explain import asked
from rackproof.checker.explain.explanation import Footing, Mend
from rackproof.checker.proof.obligations import SAFETY
from rackproof.checker.replay import Replayed
from rackproof.checker.report.setting import assumed, effective, parts
from rackproof.checker.search import SOUGHT
from rackproof.checker.verdicts import ABSENT, Result, Verdict
from rackproof.checker.verify import WITH_FIX, Report, Run, silent
from rackproof.model.kernel import ModelError, Property
from rackproof.scenarios.quantities import in_words
from rackproof.scenarios.schema import Scenario, Setting
from rackproof.scenarios.settings import allowed_faults, bundled_setting
from rackproof.scenarios.steps import kebab

SHOWN: Final = 4
"""Names of a kind that are told in a line."""
MOVES: Final = 2
"""Next moves that are told at a terminal."""
GRAPH: Final = 300_000
"""More states than this are not looked at for a missing guard."""


def of_report(report: Report, options: Options) -> Footing:
    """What a verified target says of itself."""
    again = asked.verify(report.target, options)
    if not report.runs:
        return Footing(again)
    return Footing(
        again,
        tuple(_not_checked(report, options)),
        tuple(dict.fromkeys(_next(report, options))),
    )


def of_result(
    report: Report, result: Result, reproduce: str, mends: Sequence[Mend], is_timed: bool
) -> Footing:
    """What the explanation of a violation says of itself. is_timed: whether it has its times."""
    options = Options()
    run = next(run for run in report.runs if any(r is result for r in run.results))
    alone = evolve(report, runs=(run,))
    unseen = [*_inputs(alone), *([] if is_timed else _times(alone))]
    moves = [
        *(_apply(report, run, mends[0]) if mends else ()),
        *_violated(report, run, result, bool(mends)),
    ]
    return Footing(reproduce, (*_undecided(alone, options), *unseen), tuple(moves))


def of_replay(scenario: Scenario, replayed: Replayed) -> Footing:
    """What a run that is written down says of itself."""
    file = asked.named(str(scenario.path))
    unseen = ["any run but this one", *_inexact(scenario.case.setting, replayed.timing is not None)]
    moves = (
        f"rackproof verify {file}  # every run of its scope",
        f"rackproof export {file} --to markdown  # this run, to hand on",
    )
    return Footing(f"rackproof replay {file}", tuple(unseen), moves)


def _inexact(setting: Setting, is_timed: bool) -> Iterator[str]:
    if told := assumed(setting):
        yield told
    if not is_timed:
        yield "how long steps take: this world does not say"


# What was not looked at.


def _not_checked(report: Report, options: Options) -> Iterator[str]:
    yield from _undecided(report, options)
    yield from _inputs(report)
    yield from _times(report)


def _undecided(report: Report, options: Options) -> Iterator[str]:
    """The properties of which nothing, or nothing of use, is known."""
    judged = [(run, result) for run, result in report.judged if not result.is_absent]
    for _, result in judged:
        if result.verdict is Verdict.INCONCLUSIVE:
            yield f"{result.prop.name}: {result.reason}"
    vacuous = [r.prop.name for _, r in judged if r.verdict is Verdict.VACUOUS and not r.is_averted]
    if vacuous:
        yield f"not put to the test: {_some(vacuous)}"
    if isinstance(report, Examined):
        return
    first = report.runs[0]
    rest = [r for r in first.results if not r.judged and r.verdict is Verdict.INCONCLUSIVE]
    if rest and first.findings.reason == SOUGHT:
        what = "1 other property has" if len(rest) == 1 else f"{len(rest)} other properties have"
        yield (
            f"{what} no verdict here, as the search stopped once the expected violations were "
            "found (without expect in the scenario, it judges them all)"
        )
    proved = [r for _, r in judged if r.verdict is Verdict.HOLDS and r.prop.scope in SAFETY]
    if first.findings.endless is not None:
        yield f"all loops: {first.findings.endless}"
    if proved and options.racks:
        yield "runs of other lengths than the scope allows"


def _inputs(report: Report) -> Iterator[str]:
    """The faults, sizes and concerns that were left out."""
    reported = [run for run in report.runs if run.label != WITH_FIX]
    settings = [run.case.setting for run in reported or report.runs]
    unseen = _faults_left_out(settings)
    if unseen:
        yield f"faults that this scope does not allow ({len(unseen)}: {_some(unseen)})"
    if isinstance(report, Examined):
        yield "larger scopes than those of the exams"
        if report.unsaid:
            yield f"concerns that the stack's file says nothing of: {_some(sorted(report.unsaid))}"
        return
    yield from _sizes(report, settings[0])
    if told := assumed(settings[0]):
        yield told


def _sizes(report: Report, setting: Setting) -> Iterator[str]:
    beyond = report.options.beyond
    left_open = f" (but for {', '.join(beyond)})" if beyond else ""
    sizes = ", ".join(f"{name} {size}" for name, size in setting.system.sizes.items())
    scope = f"the sizes {sizes}" if setting.bundled is None and sizes else "this scope"
    yield f"anything larger than {scope}{left_open}"


def _times(report: Report) -> Iterator[str]:
    if report.runs[0].case.setting.system.timing is None:
        yield "how long steps take: this world does not say"
    else:
        yield "how long steps take (every order of steps counts)"


def _faults_left_out(settings: Sequence[Setting]) -> list[str]:
    """The faults that make sense in a scope and have no budget in any."""
    allowed: dict[str, None] = {}
    given: set[str] = set()
    for setting in settings:
        if setting.bundled is not None:
            allowed.update(dict.fromkeys(allowed_faults(setting.bundled)))
            given.update(name for name, budget in setting.budgets.items() if budget)
    return [name for name in allowed if name not in given]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


# What to do next.


def _next(report: Report, options: Options) -> Iterator[str]:
    """For what is not as it should be first, then for what is."""
    from rackproof.checker.explain.mends import known  # noqa: PLC0415

    judged = [(run, result) for run, result in report.judged if run.label != WITH_FIX]
    for run, result in judged:
        if result.verdict is Verdict.INCONCLUSIVE:
            yield from _inconclusive(report, run, result, options)
    for run, result in judged:
        if result.verdict is Verdict.VIOLATED:
            mends = [one.mend for one in known(report, run, result)]
            yield from _apply(report, run, mends[0]) if mends else ()
            yield from _violated(report, run, result, bool(mends))
            break
    for run, result in judged:
        if result.verdict is Verdict.VACUOUS and not result.is_absent:
            yield from _vacuous(report, run, result)
            break
    if all(r.verdict not in (Verdict.VIOLATED, Verdict.INCONCLUSIVE) for _, r in judged):
        yield from _holds(report, [result for _, result in judged], options)


def _apply(report: Report, run: Run, mend: Mend) -> Iterator[str]:
    """A mend as something to write, and where."""
    sections = parts(run.case.setting) if not isinstance(report, Examined) else {}
    by_place: dict[str, list[str]] = {}
    for change in mend.changes:
        name, _, values = change.partition(": ")
        section = next((title for title, keys in sections.items() if name in keys), "")
        where = f" under {section}: in the scenario" if section else ""
        by_place.setdefault(where, []).append(f"{name}: {values.rpartition(' -> ')[2]}")
    told = (f"{', '.join(those)}{where}" for where, those in by_place.items())
    yield f"set {', and '.join(told)} ({mend.source}: {mend.verdict} with it)"


def _violated(report: Report, run: Run, result: Result, is_mended: bool) -> Iterator[str]:
    name, where = result.prop.name, asked.where(report, run)
    told = asked.line("export", report.target, *where, ("--property", name), ("--to", "markdown"))
    yield f"{told}  # the run, to hand on"
    if report.diagnosis is None and not is_mended and has_mechanisms(run.case.setting):
        told = asked.line("verify", report.target, *where)
        yield f"{told} --repair  # the least changes of mechanisms that stop it"
    is_loop = result.trace is not None and result.trace.loop is not None
    if not is_loop and run.findings.states <= GRAPH and not report.options.changes:
        told = asked.line("guards", report.target, *where, ("--property", name))
        yield f"{told}  # find the guard that is missing"


def has_mechanisms(setting: Setting) -> bool:
    """Whether a world has mechanisms that a repair might change."""
    from rackproof.checker.repair.switches import switches  # noqa: PLC0415

    try:
        return bool(switches(setting.system).all)
    except ModelError:
        return False


def _holds(report: Report, results: Sequence[Result], options: Options) -> Iterator[str]:
    target, more = report.target, asked.changes(options.changes)
    stack = isinstance(report, Examined)
    names = [r.prop.name for r in results if r.verdict is Verdict.HOLDS and r.prop.scope in SAFETY]
    freedoms = report.runs[0].case.setting.system.freedoms
    if names and not stack:
        told = asked.line("verify", target, *more, ("--engine", "prove"))
        yield f"{told}  # in runs of any length"
        if freedoms and not options.open:
            size = next(iter(freedoms))
            told = asked.line("verify", target, *more, ("--any", size))
            yield f"{told}  # whatever the number of {size} is"
    has_held = names or any(result.verdict is Verdict.PROVED for result in results)
    if has_held and not more:
        exams = [("--exam", name) for name in options.exams[:1]]
        told = asked.line("cuts", target, *exams, ("--at-most", "2"))
        yield f"{told}  # which faults would break it"
    if not stack:
        yield from _larger(report.runs[0].case.setting)


def _larger(setting: Setting) -> Iterator[str]:
    """A scope that is larger by one, and that there can be."""
    sizes = effective(setting).get("scope", {})
    for name in ("requests", "clients", "prefixes"):
        if sizes.get(name) and _can_be(setting, {name: sizes[name] + 1}) is not None:
            yield f"a larger scope, such as scope: {{{name}: {sizes[name] + 1}}}"
            return


def _can_be(setting: Setting, sizes: Mapping[str, Any]) -> Setting | None:
    """The setting with other sizes of its scope; None where there can be no such world."""
    if setting.bundled is None:
        return None
    try:
        changed = evolve(setting.bundled, scope={**setting.bundled.scope, **sizes})
        return bundled_setting(changed, Path())
    except (ModelError, OSError):
        return None


def _vacuous(report: Report, run: Run, result: Result) -> Iterator[str]:
    """What would put a property to the test."""
    setting = run.case.setting
    if result.reason == ABSENT:
        yield from _speaks_of(setting, result.prop)
        return
    if never := _not_allowed(run):
        yield (
            f"{_some(never)}: no state of this scope allows it, so that something else has to come "
            "first, such as another fault (rackproof explain NAME says what each does)"
        )
        return
    if not report.options.changes:
        where = [*asked.where(report, run), ("--property", result.prop.name)]
        told = asked.line("cuts", report.target, *where)
        yield f"{told}  # with every fault that the scope allows"


def _not_allowed(run: Run) -> list[str]:
    """The faults with a budget that no values of the fields would let happen."""
    setting, impossible = run.case.setting, frozenset(run.findings.impossible)
    return [name for name in silent(setting, run.findings) if setting.faults[name] <= impossible]


def _speaks_of(setting: Setting, prop: Property) -> Iterator[str]:
    """The sizes of which one more gives a property something to speak of."""
    from rackproof.model.scope import Scope, limits, part  # noqa: PLC0415

    sizes = effective(setting).get("scope", {})
    for attribute in attrs.fields(Scope):
        name = kebab(attribute.name)
        if limits(attribute) and part(attribute) is None and sizes.get(name) == 0:
            larger = _can_be(setting, {name: 1})
            if larger is not None and larger.system.speaks_of_anything(prop):
                yield f"something that {prop.name} speaks of: scope: {{{name}: 1}}"


def _inconclusive(report: Report, run: Run, result: Result, options: Options) -> Iterator[str]:
    """The limit to raise, or the engine to try."""
    reason = result.reason or ""
    is_safety = result.prop.scope in SAFETY
    if options.engine != "prove" and is_safety and not isinstance(report, Examined):
        proving = evolve(options, engine="prove", reduce=False)
        told = asked.verify(report.target, proving)
        yield f"{told}  # an invariant, where the states are too many"
    if options.engine == "prove" and not is_safety:
        yield f"{asked.verify(report.target, evolve(options, engine='search'))}  # loops, too"
    if options.seconds is not None and "time" in reason:
        longer = evolve(options, seconds=4 * options.seconds)
        yield f"{asked.verify(report.target, longer)}  # longer than {in_words(options.seconds)}"
    if found := re.search(r"of ([\d,]+) bytes", reason):
        more = evolve(options, memory=4 * int(found[1].replace(",", "")))
        yield f"{asked.verify(report.target, more)}  # with more memory"
    if not run.case.setting.system.open_sizes and "states" in reason and not options.reduce:
        told = asked.verify(report.target, evolve(options, reduce=True))
        yield f"{told}  # fewer orders of steps"


# In a few lines.


def lines(footing: Footing) -> Iterator[str]:
    """A footing at a terminal, in three lines at most."""
    yield f"to see it again: {footing.reproduce}"
    if footing.not_checked:
        yield f"not checked: {'; '.join(footing.not_checked)}"
    if footing.next_moves:
        yield f"next: {'; or '.join(map(_told, footing.next_moves[:MOVES]))}"


def as_data(footing: Footing) -> dict[str, Any]:
    """The same for a machine, whole."""
    return {
        "reproduce": footing.reproduce,
        "not_checked": list(footing.not_checked),
        "next": list(footing.next_moves),
    }


def _told(move: str) -> str:
    """A command with why in brackets."""
    command, _, why = move.partition("  # ")
    return f"{command} ({why})" if why else move
