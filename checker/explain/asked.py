"""What the commands that ask one thing of a world say of themselves, as verify does of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from rackproof.checker.engines import Options
from rackproof.checker.exams import Examined
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.report.shell import argument
from rackproof.checker.verify import Report, Run
from rackproof.scenarios.changes import Change
from rackproof.scenarios.worlds import split_target

LARGER = "anything larger than this scope"
UNTIMED = "how long steps take (every order of steps counts)"
MOST_CUTS = 4
"""The largest sets that can be asked for."""


def line(name: str, target: str, *options: tuple[str, str]) -> str:
    """A command as a shell takes it; options: names with values, those without one left out."""
    told = (f"{option} {argument(value)}" for option, *rest in options for value in rest if value)
    return " ".join([f"rackproof {name} {named(target)}", *told])


def named(target: str) -> str:
    """A target as a command names it: below the folder one is in, from there on."""
    file, name = split_target(target)
    path = Path(file)
    if path.is_absolute() and not target.startswith("stack:"):
        path = Path(os.path.abspath(path))  # noqa: PTH100 - a link stays what it is
        file = str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
    return argument(file if name is None else f"{file}:{name}")


def changes(those: Iterable[Change]) -> list[tuple[str, str]]:
    """The options that set mechanisms."""
    return [("--set", str(change)) for change in those]


def verify(target: str, options: Options) -> str:
    """The line that verifies a target again."""
    return " ".join([line("verify", target), *flags(options)])


def flags(options: Options) -> Iterator[str]:
    """The options that change what is found."""
    yield from (f"--any {size}" for size in options.beyond)
    if options.engine != "auto" and not options.racks:
        yield f"--engine {options.engine}"
    for name in ("runs", "run_length", "seed") if options.engine == "sample" else ():
        if (value := getattr(options, name)) != getattr(Options(), name):
            yield f"--{name.replace('_', '-')} {value}"
    if options.seconds is not None:
        yield f"--time-limit {duration(options.seconds)}"
    if options.memory is not None:
        yield f"--memory {options.memory}B"
    yield from (f"--exam {argument(name)}" for name in options.exams)
    yield from (f"{option} {argument(value)}" for option, value in changes(options.changes))
    for name in ("coverage", "reduce", "repair"):
        if getattr(options, name):
            yield f"--{name}"


def again(report: Report, run: Run | None = None) -> str:
    """The line that shows again what a report tells, of one run where it is given; without what
    only costs time beside it.
    """
    options = attrs.evolve(report.options, coverage=False, repair=False)
    if run is not None and isinstance(report, Examined):
        options = attrs.evolve(options, exams=(run.label,))
    return verify(report.target, options)


def where(report: Report, run: Run | None = None) -> list[tuple[str, str]]:
    """The options that say which world of a report a run is of."""
    exam = [("--exam", run.label)] if run is not None and isinstance(report, Examined) else []
    return [*exam, *changes(report.options.changes)]


def duration(seconds: float) -> str:
    """Seconds as an option takes them."""
    return f"{f'{seconds:.9f}'.rstrip('0').rstrip('.')}s"


def of_cuts(
    target: str,
    most: int,
    properties: Sequence[str],
    faults: Sequence[str],
    exam: str | None,
    is_conclusive: bool,
) -> Footing:
    """Of the minimal cut sets of a target."""
    place = [("--exam", exam or ""), *(("--property", name) for name in properties)]
    place.append(("--faults", ",".join(faults)))
    unseen = [] if is_conclusive else ["the sets that are open"]
    unseen += [f"sets of more than {most} faults", LARGER, UNTIMED]
    if faults:
        unseen.insert(-2, f"other faults than {', '.join(faults)}")
    more = [line("cuts", target, *place, ("--at-most", str(most))) + " -v  # the run of each set"]
    if is_conclusive and most < MOST_CUTS:
        larger = line("cuts", target, *place, ("--at-most", str(most + 1)))
        more.append(f"{larger}  # sets of one fault more")
    told = line("cuts", target, *place, ("--at-most", str(most)))
    return Footing(told, tuple(unseen), tuple(more))


def of_guards(
    target: str, properties: Sequence[str], exam: str | None, is_found: bool, has_mechanisms: bool
) -> Footing:
    """Of the missing guards of a target."""
    place = [("--exam", exam or ""), *(("--property", name) for name in properties)]
    unseen = (
        "guards of more than two steps, and tests that no step, timer or property makes",
        "guards of faults, clients and the environment, which nobody can forbid",
        LARGER,
    )
    moves = ["add the guard to the protocol, and verify it again"] if is_found else []
    if has_mechanisms:
        alone = line("verify", target, ("--exam", exam or ""))
        moves.append(f"{alone} --repair  # the changes of mechanisms that stop it")
    return Footing(line("guards", target, *place), unseen, tuple(moves))


def of_cost(
    target: str,
    values: Mapping[str, float],
    exam: str | None,
    is_fixed: bool,
    reasons: Iterable[str | None],
    durations: Sequence[str],
) -> Footing:
    """Of what the paths of a target take."""
    place = [("--exam", exam or ""), *(("--set", f"{n}={duration(v)}") for n, v in values.items())]
    told = line("cost", target, *place) + (" --fixed" if is_fixed else "")
    return Footing(told, tuple(_unseen(reasons, values)), tuple(_moves(told, durations)))


def _unseen(reasons: Iterable[str | None], values: Mapping[str, float]) -> Iterator[str]:
    yield from dict.fromkeys(f"all runs: {reason}" for reason in reasons if reason)
    yield "other values of the times than these" if values else "other times than the defaults"
    yield LARGER


def _moves(told: str, durations: Sequence[str]) -> Iterator[str]:
    yield f"{told} -v  # a run of each class"
    if durations:
        yield f"{told} --set {durations[0]}=1s  # with another value"
