"""The command line. What a command needs is imported when it runs, so that --help is quick."""

from __future__ import annotations

import difflib
import errno
import inspect
import io
import os
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from rackproof.checker import interrupts
from rackproof.checker.report.forms import FORMS
from rackproof.checker.status import APOLOGY, Status
from rackproof.scenarios import quantities

if TYPE_CHECKING:
    from rackproof.checker.engines import Options
    from rackproof.scenarios.changes import Change

F = TypeVar("F", bound=Callable[..., Any])

KINDS: Final = (
    "stacks",
    "mechanisms",
    "properties",
    "faults",
    "transitions",
    "presets",
    "bugs",
    "drills",
    "exams",
    "performance",
    "questions",
    "scope",
    "quantities",
    "durations",
    "verdicts",
    "terms",
)


MODEL_FORMATS: Final = ("aiger", "btor2", "promela", "murphi", "tla", "machines")


class Quantity(click.ParamType[float]):
    """An amount with a unit, such as 30s or 4GB."""

    def __init__(self, name: str, read: Callable[[str], float]) -> None:
        """Take the name that help shows and the function that reads one."""
        self.name, self.read = name, read

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a text; a number is left as it is."""
        if not isinstance(value, str):
            return float(value)
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Kinds(click.ParamType[tuple[str, ...]]):
    """One of the kinds of things there are, in the singular or plural; scenarios are two kinds."""

    name = "kind"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Find the kind that is meant."""
        word = str(value).lower()
        if word in ("scenario", "scenarios"):
            return ("bugs", "drills")
        for kind in KINDS:
            if word in (kind, kind.removesuffix("s"), kind.removesuffix("ies") + "y"):
                return (kind,)
        near = difflib.get_close_matches(word, KINDS, n=1)
        told = f"did you mean {near[0]}?" if near else f"there are: {', '.join(KINDS)}"
        raise click.BadParameter(f"there is no kind {value!r}; {told}", ctx, param)


class Names(click.ParamType[tuple[str, ...]]):
    """Names with commas between them, each one of those that are known."""

    name = "names"

    def __init__(self, known: Collection[str]) -> None:
        """Take the names that are known."""
        self.known = known

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Tell them apart."""
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in str(value).split(",") if name.strip())
        if not names:
            self.fail(f"names none; there are: {', '.join(self.known)}", param, ctx)
        for name in names:
            if name not in self.known:
                near = difflib.get_close_matches(name, self.known, n=1)
                told = f"did you mean {near[0]}?" if near else f"there are: {', '.join(self.known)}"
                self.fail(f"there is no {name!r}; {told}", param, ctx)
        return names


class Named(click.Path):
    """A path that is not empty: an empty one would be the folder one is in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what is empty."""
        if not os.fspath(value).strip():
            self.fail("is empty", param, ctx)
        return super().convert(value, param, ctx)


class Setting(click.ParamType["Change"]):
    """A mechanism and its value."""

    name = "MECHANISM=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Change:
        """Read a text; what was read is left as it is."""
        from rackproof.scenarios.changes import read_change  # noqa: PLC0415
        from rackproof.scenarios.worlds import InputError  # noqa: PLC0415

        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        try:
            return read_change(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


def _once_each(
    _ctx: click.Context, _param: click.Parameter, changes: tuple[Change, ...]
) -> tuple[Change, ...]:
    """Refuse to set a mechanism to two values."""
    seen: dict[str, Change] = {}
    for change in changes:
        other = seen.setdefault(change.mechanism, change)
        if other != change:
            raise click.BadParameter(f"{other} and {change}: one or the other")
    return tuple(seen.values())


OUTPUT: Final = Named(dir_okay=False, allow_dash=True)
FILE: Final = Named(dir_okay=False)
PLACE: Final = Named(path_type=Path)
SIZE: Final = Quantity("SIZE", quantities.size)
DURATION: Final = Quantity("DURATION", quantities.duration)


def output(function: F) -> F:
    """Add the options on what is told and where."""
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Every property and counterexample."),
        click.option("-q", "--quiet", is_flag=True, help="Only what is not as it should be."),
        click.option(
            "--json", "json_file", type=OUTPUT, metavar="FILE", help="Also write JSON (-: stdout)."
        ),
    ):
        function = option(function)
    return function


EXAM: Final = click.option(
    "--exam", metavar="NAME", help="Where a stack is examined (default: crash)."
)
EXAMS: Final = click.option(
    "--exam", "exams", multiple=True, metavar="NAME", help="Only this of a stack; more than once."
)
EXPLAIN: Final = click.option(
    "--explain",
    "explains",
    is_flag=True,
    help="Tell why each step was possible, and what of it matters.",
)


SET: Final = click.option(
    "--set",
    "changes",
    type=Setting(),
    multiple=True,
    callback=_once_each,
    help="With this mechanism set otherwise, such as finish-latch=true; more than once.",
)


def exploration(function: F) -> F:
    """Add the options on how the states are explored."""
    for option in (
        click.option("--time-limit", type=DURATION, help="For each exploration, such as 30s."),
        click.option("--memory", type=SIZE, help="For the states, such as 4GB."),
        click.option(
            "--workers", type=click.IntRange(1, 1024), metavar="N", help="Threads to use."
        ),
    ):
        function = option(function)
    return function


def sampling(function: F) -> F:
    """Add how much is sampled."""
    some = click.IntRange(1, 10_000_000)
    for option in (
        click.option("--seed", type=click.IntRange(0), metavar="N", help="Draw other runs (0)."),
        click.option("--run-length", type=some, metavar="N", help="Steps of each at most (100)."),
        click.option("--runs", type=some, metavar="N", help="With --engine sample, runs (1,000)."),
    ):
        function = option(function)
    return function


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="rackproof", prog_name="rackproof")
def cli() -> None:
    """Verify the recovery protocols of rack-scale LLM inference.

    Exit status: 0 everything expected holds; 1 a property is violated or an expectation is not
    met; 2 bad input or usage; 3 inconclusive; 70 a fault of rackproof itself.
    """


def _options(
    engine: str,
    sizes: Sequence[str],
    workers: int | None,
    memory: int | None,
    time_limit: float | None,
    **more: Any,
) -> Options:
    """How to explore, and whatever which sizes are."""
    from rackproof.checker.engines import Options  # noqa: PLC0415

    racks = "workers" in sizes
    if racks and len(set(sizes)) > 1:
        raise click.UsageError("--any workers is asked by itself")
    if sizes and (engine == "prove") is racks and engine != "auto":
        raise click.UsageError(f"--any {sizes[0]} has an engine of its own: leave --engine out")
    return Options(
        "search" if racks else engine,
        workers,
        memory,
        time_limit,
        open=() if racks else tuple(dict.fromkeys(sizes)),
        racks=racks,
        **more,
    )


def _sampling(engine: str, **given: int | None) -> dict[str, int]:
    """How much is to be sampled, of what was said of it."""
    said = {name: value for name, value in given.items() if value is not None}
    if said and engine != "sample":
        option = next(iter(said)).replace("_", "-")
        raise click.UsageError(f"--{option} says how to sample: give --engine sample too")
    return said


@cli.command(epilog="Example: rackproof verify docs/examples/lease.py:world")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option(
    "--engine",
    type=click.Choice(["auto", "search", "prove", "sample"]),
    default="auto",
    show_default=True,
    help="Every state, or proofs for runs of any length, or both; or runs that are drawn.",
)
@click.option(
    "--any",
    "sizes",
    multiple=True,
    metavar="SIZE",
    help="Whatever SIZE is: tokens, retries, faults (more than once), or workers.",
)
@sampling
@exploration
@click.option(
    "--save",
    type=PLACE,
    metavar="DIR",
    help="Write a scenario that replays each counterexample, a certificate of each proof.",
)
@click.option(
    "--forms",
    type=Names(FORMS),
    default=(),
    metavar="A,B,...",
    help="With --save, write each counterexample in these too (rackproof export --help).",
)
@click.option("--junit", type=OUTPUT, metavar="FILE", help="Also write JUnit XML (-: stdout).")
@click.option("--sarif", type=OUTPUT, metavar="FILE", help="Also write SARIF (-: stdout).")
@click.option(
    "--summary", type=OUTPUT, metavar="FILE", help="Also write a summary in Markdown (-: stdout)."
)
@click.option(
    "--annotations",
    type=click.Choice(["github"]),
    help="Print an error at each line that is not met, and add to the summary of the job.",
)
@click.option("--strict", is_flag=True, help="Fail also where nothing put a property to the test.")
@EXAMS
@SET
@click.option(
    "--coverage", is_flag=True, help="Tell transitions that never fired, and idle guards."
)
@click.option(
    "--repair", is_flag=True, help="Tell the least changes that mend, and what is needed."
)
@click.option(
    "--reduce",
    is_flag=True,
    help="Leave out orders of steps that z3 shows to make no difference (for large worlds).",
)
@EXPLAIN
@output
def verify(
    targets: Sequence[str],
    engine: str,
    sizes: Sequence[str],
    runs: int | None,
    run_length: int | None,
    seed: int | None,
    workers: int | None,
    memory: int | None,
    time_limit: float | None,
    save: Path | None,
    forms: tuple[str, ...],
    junit: str | None,
    sarif: str | None,
    summary: str | None,
    annotations: str | None,
    strict: bool,
    exams: Sequence[str],
    changes: tuple[Change, ...],
    coverage: bool,
    repair: bool,
    reduce: bool,
    explains: bool,
    json_file: str | None,
    quiet: bool,
    verbose: bool,
) -> int:
    """Check whether worlds are as expected, and show the shortest run of whatever is not.

    A TARGET is a scenario file, a folder of them, stack:NAME, or file.py:NAME (a System of your
    own, or a function that returns one).

    A scenario is as expected when every property named by its expect: has the verdict it says.
    Without expect:, no property may be violated or undecided, and one at least must have been put
    to the test.

    A stack is explored in every exam (rackproof list exams) against every property: each is told
    with its verdict, the exam with the least counterexample, and the mechanism of the reference
    that would mend it there. Example: rackproof verify stack:dynamo --exam crash

    With --set, mechanisms of the bundled world are what you say (rackproof list mechanisms). What a
    scenario expects, its fix: and its steps: are of it as written, and are then left out.

    What build systems read (--junit, --sarif, --annotations, --summary) is told in docs/ci.md.

    With --engine prove, what holds is proved for runs of any length, by an invariant that two
    solvers confirm (docs/proofs.md); with --any tokens, whatever the number of tokens is.

    With --engine sample, runs are drawn, of a world that is too large for a search; what they do
    not violate stays inconclusive, and what they do is searched for the shortest run
    (docs/sampling.md).

    With --repair, the least sets of mechanisms that mend each violation are told: changes to values
    of the reference or of the fix, or, where none of these will do, to any. Of a property that
    holds, the mechanisms that it needs are told, those that cover for one another, and those that
    are redundant in this scope. Each was explored.
    """
    from rackproof.checker.session import Session  # noqa: PLC0415

    if forms and save is None:
        raise click.UsageError("--forms says how to write counterexamples; --save DIR says where")
    options = _options(
        engine,
        sizes,
        workers,
        memory,
        time_limit,
        coverage=coverage,
        reduce=reduce,
        repair=repair,
        exams=tuple(dict.fromkeys(exams)),
        changes=changes,
        **_sampling(engine, runs=runs, run_length=run_length, seed=seed),
    )
    session = Session(
        options,
        int(verbose) - int(quiet),
        json_file,
        junit,
        save,
        explains,
        sarif_file=sarif,
        summary_file=summary,
        annotates=annotations is not None,
        strict=strict,
        save_as=forms,
    )
    return session.verify(targets)


@cli.command(
    epilog="Example: rackproof conform tests/data/dynamo-1.6.1/fault_incomplete --stack dynamo"
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--stack", metavar="NAME", help="The stack that was recorded.")
@click.option("--world", metavar="FILE.py:NAME", help="Or a world of your own.")
@SET
@click.option(
    "--mapping", metavar="NAME|FILE", help="What the logs mean (default: as their lines look)."
)
@click.option(
    "--known", multiple=True, metavar="PROPERTY", help="Broken, and no news; more than once."
)
@click.option(
    "--retry-limit",
    type=click.IntRange(0, 16),
    metavar="N",
    help="Of the frontend (default: as its logs tell).",
)
@click.option(
    "--timeout",
    "timeouts",
    multiple=True,
    metavar="NAME=DURATION",
    help="Of this system, such as stream-timeout=3s, for what is predicted; more than once.",
)
@click.option(
    "--one-host", is_flag=True, help="All clocks are of one host: tell when faults were noticed."
)
@click.option(
    "--explain-changes",
    is_flag=True,
    help="Tell which change of a mechanism would explain what is rejected (takes longer).",
)
@click.option("--time-limit", type=DURATION, help="For each request, such as 10s.")
@click.option(
    "--workers", type=click.IntRange(1, 1024), metavar="N", help="Processes that read large logs."
)
@click.option("--junit", type=OUTPUT, metavar="FILE", help="Also write JUnit XML (-: stdout).")
@click.option(
    "--summary", type=OUTPUT, metavar="FILE", help="Also write a summary in Markdown (-: stdout)."
)
@output
def conform(
    paths: Sequence[str],
    stack: str | None,
    world: str | None,
    changes: tuple[Change, ...],
    mapping: str | None,
    known: Sequence[str],
    retry_limit: int | None,
    timeouts: Sequence[str],
    one_host: bool,
    explain_changes: bool,
    time_limit: float | None,
    workers: int | None,
    junit: str | None,
    summary: str | None,
    json_file: str | None,
    quiet: bool,
    verbose: bool,
) -> int:
    """Hold recorded runs against the model: is there a run of it that explains them?

    A PATH is the folder of a capture (logs of one system, such as Dynamo's JSONL with the streams
    of its clients), a folder of such folders, or a single log. Each request is explained by itself.

    A request is accepted if some run of the model would have been recorded as it was. It is
    rejected with the first record that no run explains, what the model allowed instead, and the
    properties that are broken by it. It is inconclusive where a log is missing without which that
    cannot be told. An accepted request may break properties too: then every run that explains it
    does, and the defect is one that the model of the stack has.

    Exit status: 0 all accepted; 1 a request is rejected, or breaks a property that is not --known;
    2 bad input; 3 inconclusive. How to read the answer is told in docs/conformance.md.
    """
    from rackproof.checker.conform.command import conform as hold  # noqa: PLC0415
    from rackproof.checker.conform.sources import Source, Stack, World  # noqa: PLC0415
    from rackproof.checker.engines import Options  # noqa: PLC0415
    from rackproof.checker.session import Session  # noqa: PLC0415

    if (stack is None) == (world is None):
        from rackproof.checker.conform.sources import what_to_say  # noqa: PLC0415

        raise click.UsageError(what_to_say(paths))
    seconds = dict(_setting(text, "--timeout") for text in timeouts)
    source: Source
    if world is not None:
        if changes or retry_limit is not None or seconds or one_host:
            raise click.UsageError(
                "--set, --retry-limit, --timeout and --one-host are for stacks; a world of one's "
                "own has none of these"
            )
        source = World(world, mapping)
    else:
        assert stack is not None, "one of them was given"
        name = stack.removeprefix("stack:")
        source = Stack(name, changes, mapping, retry_limit, seconds, one_host, workers)
    options = Options(seconds=time_limit, changes=changes)
    session = Session(options, int(verbose) - int(quiet), json_file, junit, summary_file=summary)
    return hold(session, paths, source, known, explain_changes)


@cli.command(epilog="Example: rackproof cuts stack:dynamo --exam crash --at-most 2")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option(
    "--property", "properties", multiple=True, metavar="NAME", help="Only this; more than once."
)
@click.option(
    "--at-most",
    type=click.IntRange(0, 4),
    default=2,
    show_default=True,
    metavar="N",
    help="Sets of up to so many faults.",
)
@click.option("--faults", default="", metavar="A,B,...", help="Only these faults (default: all).")
@EXAM
@exploration
@click.option("--markdown", type=FILE, metavar="FILE", help="Also write Markdown.")
@output
def cuts(
    targets: Sequence[str],
    properties: Sequence[str],
    at_most: int,
    faults: str,
    exam: str | None,
    workers: int | None,
    memory: int | None,
    time_limit: float | None,
    markdown: str | None,
    json_file: str | None,
    quiet: bool,
    verbose: bool,
) -> int:
    """Find the smallest sets of faults that break each property: its minimal cut sets.

    A set is of fault events, a fault with what it hits: crash (a decode worker), tray-loss (a
    tray), leave. Whatever is interchangeable is told once. That no smaller or other set breaks a
    property is known by exhaustion of every run with up to N faults; the budgets of a scenario do
    not count. With -v each set is shown with its shortest run.

    A TARGET is as for verify; a stack is examined in the scope of one exam.
    """
    from rackproof.checker.cuts.command import Cuts  # noqa: PLC0415
    from rackproof.checker.engines import Options  # noqa: PLC0415
    from rackproof.checker.session import Session  # noqa: PLC0415

    names = tuple(name.strip() for name in faults.split(",") if name.strip())
    options = Options("search", workers, memory, time_limit)
    session = Session(options, int(verbose) - int(quiet), json_file)
    return Cuts(session, at_most, properties, names, exam).tell(targets, markdown)


@cli.command(epilog="Example: rackproof guards scenarios/bugs/dynamo-11646-router-mirror-lags.yaml")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME",
    help="Only this; more than once (default: what the scenario expects to be violated, or all).",
)
@EXAM
@exploration
@output
def guards(
    targets: Sequence[str],
    properties: Sequence[str],
    exam: str | None,
    workers: int | None,
    memory: int | None,
    time_limit: float | None,
    json_file: str | None,
    quiet: bool,
    verbose: bool,
) -> int:
    """Find the test that a step misses: with it, a violated property would hold.

    Tried are tests that the steps and timers of the world make somewhere, or the property, over
    what a transition takes; added to one of them or, where that does not do, to two. A guard must
    leave reachable all that is to be, bring nothing to rest that went on, and break nothing that
    held. The guards that leave most of the behaviour come first, each proved by a search.

    A TARGET is as for verify; a stack is examined in the scope of one exam.
    """
    from rackproof.checker.engines import Options  # noqa: PLC0415
    from rackproof.checker.guards.command import Guards  # noqa: PLC0415
    from rackproof.checker.session import Session  # noqa: PLC0415

    options = Options("search", workers, memory, time_limit)
    session = Session(options, int(verbose) - int(quiet), json_file)
    return Guards(session, properties, exam).tell(targets)


@cli.command(epilog="Example: rackproof cost stack:dynamo --exam crash")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=DURATION",
    help="Another value of a quantity, such as lease=5s; more than once.",
)
@EXAM
@click.option("--fixed", is_flag=True, help="With the fix of a scenario.")
@click.option("--time-limit", type=DURATION, help="For each of three explorations (default: 60s).")
@output
def cost(
    targets: Sequence[str],
    settings: Sequence[str],
    exam: str | None,
    fixed: bool,
    time_limit: float | None,
    json_file: str | None,
    quiet: bool,
    verbose: bool,
) -> int:
    """Tell what each way that things can go takes: time, bytes, tokens computed again, energy.

    The runs of a world that keep to the durations of its steps are put into classes by what happens
    on the way. Of each class the time to the first delivery, the worst wait of a client and the
    total are told, from the least to the most over all of its runs; and the worst wait of all, with
    a run and times that attain it. With -v, a run of each class.

    A TARGET is as for verify; a stack is examined in the scope of one exam. Its world must say how
    long things take (System.timing).
    """
    from rackproof.checker.engines import Options  # noqa: PLC0415
    from rackproof.checker.session import Session  # noqa: PLC0415
    from rackproof.checker.timing.command import Cost  # noqa: PLC0415

    values = dict(_setting(text) for text in settings)
    session = Session(Options(seconds=time_limit), int(verbose) - int(quiet), json_file)
    return Cost(session, values, exam, fixed).tell(targets)


def _setting(text: str, option: str = "--set") -> tuple[str, float]:
    """A name and its duration, which may be none at all."""
    name, _, amount = text.partition("=")
    if not name.strip() or not amount.strip():
        raise click.UsageError(f"{option} {text}: write NAME=DURATION, such as lease=5s")
    if amount.strip() in ("0", "0s"):
        return name.strip(), 0.0
    try:
        return name.strip(), quantities.duration(amount)
    except ValueError as error:
        raise click.UsageError(f"{option} {name}: {error}") from None


@cli.command(
    epilog="Example: rackproof report scenarios/bugs/dynamo-7930-guided-request-migrated.yaml "
    "--out review"
)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--out", type=PLACE, required=True, metavar="DIR", help="Write the pages here.")
@click.option("--title", metavar="TEXT", help="What the report is called.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "search", "prove"]),
    default="auto",
    show_default=True,
    help="Every state, or proofs for runs of any length, or both.",
)
@click.option("--any", "sizes", multiple=True, metavar="SIZE", help="As for verify.")
@EXAMS
@SET
@click.option("--repair", is_flag=True, help="As for verify: the least changes that mend.")
@click.option("--full", is_flag=True, help="All parts, however many targets there are.")
@exploration
@click.option("-q", "--quiet", is_flag=True, help="Only what is not as it should be.")
def report(
    targets: Sequence[str],
    out: Path,
    title: str | None,
    engine: str,
    sizes: Sequence[str],
    exams: Sequence[str],
    changes: tuple[Change, ...],
    repair: bool,
    full: bool,
    workers: int | None,
    memory: int | None,
    time_limit: float | None,
    quiet: bool,
) -> int:
    """Verify targets, and write pages about them for a design review.

    DIR/index.html has the verdicts, what to look at first, what was not checked, and which
    transitions and guards took no part; it leads to a page for each counterexample (with its other
    forms beside it), the state machines of the protocol, and what recovery costs. The pages need no
    network. An earlier report in DIR is written over; what else is there is left alone.

    A TARGET is as for verify, and so is the exit status.
    """
    from rackproof.checker.report.review import Review  # noqa: PLC0415
    from rackproof.checker.session import Session  # noqa: PLC0415

    chosen = tuple(dict.fromkeys(exams))
    more: dict[str, Any] = {"repair": repair, "exams": chosen, "changes": changes}
    options = _options(engine, sizes, workers, memory, time_limit, **more)
    return Review(Session(options, -int(quiet)), out, title, full).write(targets)


@cli.command(
    epilog="Example: rackproof diff scenarios/bugs/dynamo-7930-guided-request-migrated.yaml"
)
@click.argument("targets", nargs=-1, required=True, metavar="A [B]")
@click.option(
    "--with-fix", "fixed", is_flag=True, help="Compare a scenario with its own fix (B is left out)."
)
@click.option(
    "--git", "commits", nargs=2, metavar="REV1 REV2", help="Compare A in one commit and another."
)
@SET
@click.option("--exam", metavar="NAME", help="Compare stacks in this exam (default: in all).")
@click.option(
    "--property", "properties", multiple=True, metavar="NAME", help="Only this; more than once."
)
@click.option(
    "--costs/--no-costs",
    default=None,
    help="Compare what paths take (default: unless stacks are compared in all exams).",
)
@exploration
@click.option("--markdown", type=OUTPUT, metavar="FILE", help="Also write Markdown (-: stdout).")
@output
def diff(
    targets: Sequence[str],
    fixed: bool,
    commits: Sequence[str] | None,
    changes: tuple[Change, ...],
    exam: str | None,
    properties: Sequence[str],
    costs: bool | None,
    workers: int | None,
    memory: int | None,
    time_limit: float | None,
    markdown: str | None,
    json_file: str | None,
    quiet: bool,
    verbose: bool,
) -> int:
    """Tell what differs between two worlds: as written, in what they do, what holds, what it costs.

    A and B are scenarios, stacks (stack:NAME) or worlds (file.py:NAME); or such as they are in a
    commit: main:scenarios/mine.yaml, HEAD~1:lease.py:world. A scenario alone is compared with its
    fix. With --set, A is compared with itself where mechanisms are what you say: rackproof diff
    stack:dynamo --set finish-latch=true --exam crash. With --git, A is compared between two
    commits. Files of commits are put into a folder of their own; a commit that has a rackproof
    itself is looked at by that one.

    Stacks in all exams take minutes: each is told on stderr as it is done, and what was found is
    reported where you interrupt it. --exam asks in one of them.

    Transitions and behaviours that are gained and lost are told, the shortest run of each that the
    other cannot do, verdicts and costs that changed, and what was not compared.

    Exit status: 0 nothing got worse; 1 a property is violated that was not, or is open that held;
    2 bad input; 3 it could not be told.
    """
    from rackproof.checker.diff.command import Diff  # noqa: PLC0415
    from rackproof.checker.engines import Options  # noqa: PLC0415
    from rackproof.checker.session import Session  # noqa: PLC0415

    options = Options("search", workers, memory, time_limit, changes=changes)
    session = Session(options, int(verbose) - int(quiet), json_file)
    asked = Diff(session, exam, properties, costs, fixed)
    return asked.tell(targets, commits or (), markdown)


@cli.command(epilog="Example: rackproof replay docs/examples/lease.yaml")
@click.argument("scenario", metavar="SCENARIO")
@EXPLAIN
@output
def replay(scenario: str, explains: bool, json_file: str | None, quiet: bool, verbose: bool) -> int:
    """Run the steps of a scenario one by one, and check what it says they lead to.

    Exit status 1 when a step is not possible where it stands or a fact of then: is not so; 2 when
    the scenario names something that does not exist.
    """
    from rackproof.checker.engines import Options  # noqa: PLC0415
    from rackproof.checker.session import Session  # noqa: PLC0415

    session = Session(Options(), int(verbose) - int(quiet), json_file, explains=explains)
    return session.replay(scenario)


@cli.command("check-certificate", epilog="Example: rackproof check-certificate proof.smt2")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PLACE)
@click.option("--time-limit", type=DURATION, help="For each solver and certificate, such as 30s.")
@click.option(
    "--solver",
    type=click.Choice(["z3", "cvc5", "both"]),
    default="both",
    show_default=True,
    help="Which solver must agree.",
)
@click.option(
    "--json", "json_file", type=OUTPUT, metavar="FILE", help="Also write JSON (-: stdout)."
)
def check_certificate(
    files: Sequence[Path], time_limit: float | None, solver: str, json_file: str | None
) -> int:
    """Check certificates of proofs against the targets they name.

    The transitions, the initial state and the property are derived from the target anew; the file
    must be what follows from them and from the clauses of its invariant, word for word. Then the
    solvers are asked, each by itself, whether the invariant holds at the start, is kept by every
    transition and implies the property.

    Exit status: 0 it is a proof; 1 it is none, with the state that shows it; 2 no certificate, or
    its target is bad; 3 a solver gave no answer in time, or the target is not on this machine.
    """
    from rackproof.checker.report.certificates import report  # noqa: PLC0415

    return report(files, time_limit, ["z3", "cvc5"] if solver == "both" else [solver], json_file)


@cli.command(epilog="Example: rackproof export docs/examples/lease.py:world --to markdown")
@click.argument("target", metavar="TARGET")
@click.option(
    "--to",
    "form",
    type=click.Choice([*MODEL_FORMATS, *FORMS]),
    required=True,
    metavar="FORM",
    help="The format; see below.",
)
@click.option(
    "--property",
    "names",
    multiple=True,
    metavar="NAME",
    help="A model: only this property, and what it depends on. A run: one that violates this. "
    "More than once.",
)
@click.option("--fixed", is_flag=True, help="With the fix of the scenario.")
@SET
@click.option("--exam", metavar="NAME", help="Where a stack is examined.")
@click.option("--out", type=OUTPUT, metavar="FILE", help="Write it here (default: stdout).")
def export(
    target: str,
    form: str,
    names: Sequence[str],
    fixed: bool,
    changes: tuple[Change, ...],
    exam: str | None,
    out: str | None,
) -> int:
    """Write a run, explained, in a form to hand on; or a model for another checker.

    A run, with all that is known of it:

    {runs}

    The run is the shortest that violates what the scenario expects to be violated, or NAME; of a
    scenario with steps:, these steps, unless a property is named. For a stack, say --exam,
    --property or both. Where nothing is violated, nothing is written: exit status 2.

    A model, with what must hold in it: aiger and btor2 have one output, which is true where a
    property is false (or where the model raises an error); AIGER is binary where FILE ends in .aig.
    promela has LTL formulas, murphi and tla invariants, of what must always hold; the .cfg of TLA+
    is written beside FILE. machines are the state machines of its fields, as Mermaid in Markdown:
    what may change each, and whether it was seen to.
    """
    if form in FORMS:
        from rackproof.checker.report.forms.command import export as write_run  # noqa: PLC0415

        return write_run(target, form, names, fixed=fixed, exam=exam, out=out, changes=changes)
    if changes:
        raise click.UsageError(f"--set {changes[0]}: is for runs; {form} is of a model")
    if exam is not None:
        raise click.UsageError(f"--exam {exam}: is for runs; {form} is of a model")
    from rackproof.checker.export.command import export as write  # noqa: PLC0415

    return write(target, form, names, fixed=fixed, out=out)


export.help = inspect.cleandoc(export.help or "").replace(
    "{runs}", "\b\n" + "\n".join(f"  {form.name:<9} {form.words}" for form in FORMS.values())
)


@cli.command(epilog="Example: rackproof simulate scenarios/performance/rack-study.yaml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--ask", "asked", multiple=True, metavar="QUESTION", help="What is asked (more than once)."
)
@click.option(
    "--variant", "variants", multiple=True, metavar="NAME", help="Only this (more than once)."
)
@click.option("--plot", "plot_to", type=PLACE, metavar="DIR", help="Draw plots as SVG.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change every variant: deployment.prefill.instances=9.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Of synthetic workloads."
)
@click.option(
    "--json", "json_file", type=OUTPUT, metavar="FILE", help="Also write JSON (-: stdout)."
)
def simulate(
    files: Sequence[str],
    asked: Sequence[str],
    variants: Sequence[str],
    plot_to: Path | None,
    settings: Sequence[str],
    seed: int | None,
    json_file: str | None,
) -> int:
    """Simulate a deployment under a workload, and answer questions about its performance.

    A FILE has a deployment, a workload, an SLO and variants of these (rackproof list performance
    shows those that are bundled). Without --ask each variant is run, and where figures were
    published, these are told beside the computed ones. Questions are told by rackproof list
    questions: sizes of pools, shapes of requests, transfer or recompute, what is wrong, and more.

    Exit status: 0 answered; 1 a figure differs from the published one, or from what the file
    expects of it; 2 bad input.
    """
    from rackproof.checker.engines import Options  # noqa: PLC0415
    from rackproof.checker.performance.command import simulation  # noqa: PLC0415
    from rackproof.checker.session import Session  # noqa: PLC0415

    session = Session(Options(), json_file=json_file)
    return simulation(session, asked, variants, settings, plot_to, seed).tell(files)


@cli.command(
    epilog="Example: rackproof drive dynamo scenarios/drills/zero-budget-migration.yaml --plan"
)
@click.argument("software", type=click.Choice(["dynamo"]), metavar="dynamo")
@click.argument("scenario", metavar="SCENARIO")
@click.option(
    "--python",
    metavar="PATH",
    help="The Python that has Dynamo (default: RACKPROOF_DYNAMO_PYTHON).",
)
@click.option("--out", type=PLACE, metavar="DIR", help="Record the run here (default: a new one).")
@click.option(
    "--property", "prop", metavar="NAME", help="Try a run that violates this, found by a search."
)
@EXAM
@click.option(
    "--scale",
    type=click.IntRange(1, 60),
    default=10,
    show_default=True,
    metavar="N",
    help="Tokens of the deployment for one of the model.",
)
@click.option("--plan", "dry", is_flag=True, help="Only tell what would be done; needs no Dynamo.")
@click.option(
    "--json", "json_file", type=OUTPUT, metavar="FILE", help="Also write JSON (-: stdout)."
)
def drive(
    software: str,  # noqa: ARG001 (there is one)
    scenario: str,
    python: str | None,
    out: Path | None,
    prop: str | None,
    exam: str | None,
    scale: int,
    dry: bool,
    json_file: str | None,
) -> int:
    """Try a run of the model on a live deployment of NVIDIA Dynamo, without GPUs.

    A frontend and workers are started, a request is sent, the faults of the run are injected where
    they happen in it, each is checked to have taken effect, and everything is recorded and held
    against the model. SCENARIO is of stack dynamo: the run is what it has as steps, or the shortest
    that violates what it expects to be violated; or it is stack:dynamo, tried in the scope of one
    exam. Dynamo is installed apart: docs/dynamo.md

    Exit status: 0 it went as the model says, a violation that was predicted included; 1 the system
    did something else that is wrong; 2 bad input, no Dynamo, or what cannot be done to a live
    system; 3 what was predicted was not seen.
    """
    from rackproof.checker.drive.command import Drive  # noqa: PLC0415
    from rackproof.checker.engines import Options  # noqa: PLC0415
    from rackproof.checker.session import Session  # noqa: PLC0415

    session = Session(Options(), json_file=json_file)
    return Drive(session, python, out, prop, scale, dry, exam).tell(scenario)


@cli.command("list", epilog="Example: rackproof list properties")
@click.argument("kind", type=Kinds(), required=False, metavar="[KIND]")
@click.option(
    "--by",
    type=click.Choice(["property", "mechanism", "stack"]),
    help="What bugs are grouped by (default: the property they violate, then the mechanism).",
)
def list_names(kind: tuple[str, ...] | None, by: str | None) -> int:
    """List what there is, all of it or one KIND.

    A KIND is stacks, mechanisms, properties, faults, transitions, presets, bugs, drills, exams,
    performance, questions, scope, quantities, durations, verdicts or terms.
    """
    from rackproof.checker.reference import listing  # noqa: PLC0415

    if by and "bugs" not in (kind or KINDS):
        raise click.UsageError("--by is for bugs: rackproof list bugs --by stack")
    for line in listing(kind or KINDS, by):
        click.echo(line)
    return Status.OK


@cli.command(epilog="Example: rackproof explain no-duplicate-tokens")
@click.argument("name")
def explain(name: str) -> int:
    """Tell what a property, mechanism, stack, fault, transition, key, time or scenario is, what a
    verdict means and what to do next, and what the terms of a report are.

    Of a property, a mechanism or a stack, the bundled bugs are told that have to do with it.
    """
    from rackproof.checker.reference import explanation  # noqa: PLC0415
    from rackproof.scenarios.worlds import InputError  # noqa: PLC0415

    try:
        lines = explanation(name)
    except InputError as error:
        click.echo(error, err=True)
        return Status.BAD_INPUT
    click.echo("\n".join(lines))
    return Status.OK


@cli.command(epilog="Example: rackproof new dynamo")
@click.argument("stack", default="reference", metavar="[STACK]")
@click.option("--out", type=OUTPUT, metavar="FILE", help="Write it here (default: stdout).")
def new(stack: str, out: str | None) -> int:
    """Write a scenario of a STACK to begin with (default: the reference).

    Whatever can be chosen is there in comments: mechanisms that differ from the reference, sizes
    of the scope with their defaults and limits, faults. A file that is there is not overwritten.
    """
    from rackproof.checker.template import template  # noqa: PLC0415
    from rackproof.scenarios.stacks import check_stack  # noqa: PLC0415
    from rackproof.scenarios.worlds import InputError  # noqa: PLC0415

    try:
        name = check_stack(stack.removeprefix("stack:"))
    except InputError as error:
        click.echo(error, err=True)
        return Status.BAD_INPUT
    if out is None or out == "-":
        click.echo(template(name, "FILE"), nl=False)
        return Status.OK
    try:
        with Path(out).open("x", encoding="utf-8") as file:
            file.write(template(name, out))
    except FileExistsError:
        raise click.UsageError(f"--out {out}: is there already, and is not overwritten") from None
    except OSError as error:
        raise click.UsageError(f"--out {out}: {(error.strerror or '').lower()}") from None
    click.echo(f"{out} is written; next: rackproof verify {out}")
    return Status.OK


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    interrupts.heed()
    sys.exit(run(arguments))


def _escape_what_has_no_encoding() -> None:
    """Where a terminal does not read UTF-8, show other characters by their numbers."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _give_up_output() -> None:
    """Nobody takes what we print any more, not even what Python still flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    if sys.stdout is None:  # that is so where a shell closed it (>&-)
        click.echo("stdout is closed: there is nowhere to write to (/dev/null takes all)", err=True)
        return Status.BAD_INPUT
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 (for as long as this runs)
    _escape_what_has_no_encoding()
    try:
        status = cli.main(args=arguments, prog_name="rackproof", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return Status.INTERRUPTED
    except BrokenPipeError:
        _give_up_output()
        return Status.PIPE_CLOSED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            click.echo(f"the output cannot be written: {error.strerror}".lower(), err=True)
            _give_up_output()
            return Status.BAD_INPUT
        traceback.print_exc()
        click.echo(f"\n{APOLOGY}", err=True)
        return Status.OUR_FAULT
    return int(status or 0)
