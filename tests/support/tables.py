"""Write the pages that are generated: matrix.md, counterexamples/, mutants.md, repairs.md
(``make docs``).

What they say depends on the model, the stacks and the exams alone: no date, no time, no path.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import attrs
from examined import examined
from mutants import CHOICES, MUTANTS, PAIRED, UNSEEN, Case

from rackproof.checker.engines import Options, explore
from rackproof.checker.exams import Examined
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.repairs import Repair, Repairs, repairs
from rackproof.checker.report.setting import scope_in_words, written
from rackproof.checker.report.stack import mended
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Result, Verdict, counted
from rackproof.checker.verify import Run
from rackproof.invariants import CATALOGUE
from rackproof.scenarios.exams import exams
from rackproof.scenarios.fields import Fields
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting
from rackproof.scenarios.stacks import load_stack, stack_names

FOLDER = Path(__file__).resolve().parents[2] / "docs"
MATRIX_PAGE, MUTANTS_PAGE = FOLDER / "matrix.md", FOLDER / "mutants.md"
REPAIRS_PAGE = FOLDER / "repairs.md"
COUNTEREXAMPLES = FOLDER / "counterexamples"
BUGS = sorted((FOLDER.parent / "scenarios" / "bugs").glob("*.yaml"))
WORDS = {
    Verdict.HOLDS: "holds",
    Verdict.VIOLATED: "VIOLATED",
    Verdict.VACUOUS: "untested",
    Verdict.INCONCLUSIVE: "undecided",
}
MATRIX_HEAD = """\
# Stacks and properties

Every stack as it is configured, against every property of the catalogue, over {exams} exams
(`rackproof list exams`). A cell says `holds` where the property holds in each exam that puts it to
the test, `VIOLATED` with the least counterexample there is, and `untested` where no exam puts it to
the test in that stack: above all where the stack's file says nothing of the concern (its store,
its index). What holds, holds in the scopes of the exams, and for the values that the file states;
those that could not be confirmed say so there.

Written by `make docs`; `rackproof verify stack:NAME` shows a column.
"""
MUTANTS_HEAD = """\
# Mutants of the reference

Each mechanism of the reference put the other way, in a small setting, with the property that says
what that breaks, and the faults and steps of its least counterexample. In the same setting the
property holds in the reference.

Written by `make docs` from `tests/support/mutants.py`; the tests explore every row.
"""
REPAIRS_HEAD = """\
# Repairs of the bundled bugs

For each bundled bug, the least changes of mechanisms under which none of the properties that it
violates is violated, over all choices of mechanisms at once: first those to values that the
reference or the fix has, then any. Each was explored, and no part of one is enough: each part has a
counterexample that is known. **Bold** is the fix that was reported; where it is not among them it
changes more, and its size is told.

Written by `make docs`; `rackproof verify --repair scenarios/bugs/NAME.yaml` shows a row.
"""
PAIRED_HEAD = """\
## Two at a time

Another mechanism covers for the first of these, which shows once that one is put the other way too.
"""


def cell(stack: str, result: Result) -> str:
    """A cell of the matrix."""
    word = WORDS[result.verdict]
    if result.verdict is not Verdict.VIOLATED:
        return word
    return f"[{word}](counterexamples/{page_name(stack, result)})"


def page_name(stack: str, result: Result) -> str:
    """The file of a counterexample."""
    return f"{stack}-{result.prop.name}.md"


def column(report: Examined, stack: str) -> dict[str, str]:
    """The cells of a stack by property."""
    return {result.prop.name: cell(stack, result) for _, result in report.judged}


def pages(report: Examined, stack: str) -> dict[str, str]:
    """The counterexamples of a stack: file names and texts."""
    return {
        page_name(stack, result): counterexample(report, stack, run, result)
        for run, result in report.judged
        if result.trace is not None
    }


def matrix(columns: Mapping[str, Mapping[str, str]]) -> str:
    """The page with the table of stacks and properties."""
    lines = [
        MATRIX_HEAD.format(exams=len(exams())),
        *table(
            ["property", *columns],
            ([f"`{p}`", *(c[p] for c in columns.values())] for p in CATALOGUE),
        ),
        "",
        *table(
            ["stack", "version", "source"],
            (
                [name, load_stack(name).version or "", load_stack(name).source or ""]
                for name in columns
            ),
        ),
    ]
    return "\n".join(lines) + "\n"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table."""
    head = list(header)
    return [row(head), row("---" for _ in head), *map(row, rows)]


def row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def counterexample(report: Examined, stack: str, run: Run, result: Result) -> str:
    """The page of a counterexample: its steps in words, the exam, and what mends it."""
    assert result.trace is not None
    exam = next(exam for exam in exams() if exam.name == run.label)
    size = f"{counted(result.trace.faults, 'fault')}, {counted(len(result.trace.steps), 'step')}"
    mends = mended(report, result.prop.name)
    lines = [
        f"# {stack}: {result.prop.name}",
        "",
        result.prop.statement,
        *([f"Why it matters: {result.prop.why}"] if result.prop.why else []),
        "",
        f"Violated in the exam `{exam.name}` ({exam.title}): {size}.",
        *([f"There it holds with `{mends}`."] if mends else []),
        "",
        f"Scope: {scope_in_words(run.case.setting)}.",
        "",
        *steps(result.trace),
        "",
        *ending(result.trace, result),
        "",
        f"`rackproof verify stack:{stack}` shows it with what each step changed.",
    ]
    return "\n".join(lines) + "\n"


def steps(trace: Trace) -> list[str]:
    """The steps of a run, numbered."""
    return [
        f"{number}. {step.words}{' **(fault)**' if step.is_fault else ''}"
        for number, step in enumerate(trace.steps, 1)
    ]


def ending(trace: Trace, result: Result) -> list[str]:
    """What is so at the end instead, and the fields that say so."""
    last, fields = trace.system.schema.flatten(trace.final), Fields(trace.system)
    told = [
        f"- {fields.short[field.label]}: {field.words(field.value(last))}"
        for field in fields.all
        if result.reads & set(field.slots)
    ]
    return [f"Then: {' '.join(trace.broken(result.prop))}", "", *told]


def mutants(sizes: Iterable[tuple[int, int]]) -> str:
    """The page of mutants; sizes: the faults and steps of each counterexample, in order."""
    head = ["mechanisms", "instances", "scope", "faults", "caught by", "faults", "steps"]
    given = iter(sizes)

    def rows(cases: Iterable[Case]) -> list[str]:
        return table(head, ([*mutant_cells(case), *map(str, next(given))] for case in cases))

    lines = [
        MUTANTS_HEAD,
        *rows(MUTANTS),
        "",
        PAIRED_HEAD,
        *rows(PAIRED),
        "",
        "## As good",
        "",
        *(f"- `{words({name: value})}`: {why}" for name, value, why in CHOICES),
        "",
        "## Not seen by any property",
        "",
        *(f"- `{name}`: {why}" for name, why in UNSEEN.items()),
    ]
    return "\n".join(lines) + "\n"


def mutant_cells(case: Case) -> list[str]:
    """A row of the mutants without the size of its counterexample."""
    changed, rack, scope, faults, prop = case
    parts = (changed, rack, scope, faults)
    return [*(f"`{words(part)}`" if part else "" for part in parts), f"`{prop}`"]


def words(part: Mapping[str, object]) -> str:
    """Keys and values as a scenario writes them."""
    return ", ".join(f"{name}: {written(value)}" for name, value in part.items())


def mutant_sizes() -> Iterable[tuple[int, int]]:
    """The faults and steps of each mutant's counterexample."""
    for changed, rack, scope, faults, prop in (*MUTANTS, *PAIRED):
        setting = bundled_setting(Bundled("reference", changed, rack, scope, faults), FOLDER)
        trace = explore(setting.system, {prop}, Options()).violated[prop]
        yield trace.faults, len(trace.steps)


def repairs_page(rows: Iterable[Iterable[str]]) -> str:
    """The page of repairs."""
    head = ["bug", "violated", "fix", "least repairs", "explored"]
    return "\n".join([REPAIRS_HEAD, *table(head, rows)]) + "\n"


def bug_row(path: Path) -> list[str]:
    """A bug, how many mechanisms its fix changes, its repairs, and the protocols explored."""
    found, reported = bug_repairs(path)
    if not found.whole:
        sys.exit(f"{path}: {found.doubt}")
    mine = found_fix(found, reported)
    told = [f"`{words(one.choice)}`{_then(one)}" for one in found.found]
    cells = [f"**{cell}**" if i == mine else cell for i, cell in enumerate(told)]
    size = str(len(reported)) + ("" if mine is not None else ", more than is needed")
    names = ", ".join(f"`{name}`" for name in found.names)
    return [f"`{path.stem}`", names, size, ", or ".join(cells), str(found.explored)]


def found_fix(found: Repairs, reported: Mapping[str, object]) -> int | None:
    """The number of the fix among the repairs."""
    changes = [dict(one.choice) for one in found.found]
    return changes.index(dict(reported)) if dict(reported) in changes else None


def _then(one: Repair) -> str:
    """What follows from a repair, beside that it is one."""
    breaks = f" (breaks {', '.join(one.breaks)})" if one.breaks else ""
    return f" (it can no longer happen){breaks}" if one.averted else breaks


def bug_repairs(path: Path) -> tuple[Repairs, Mapping[str, object]]:
    """The repairs of all that a bug violates, and what its fix changes."""
    scenario = load(path)
    case, fix = scenario.case, scenario.fix
    assert fix is not None, f"{path}: a bug has a fix"
    system = case.setting.system
    asked = tuple(prop for prop in system.properties if prop.name in case.expect)
    system = attrs.evolve(system, properties=asked)
    protocols = Protocols(attrs.evolve(case.setting, system=system), Options(workers=1))
    violated = [name for name, told in case.expect.items() if told.verdict == "violated"]
    reported = protocols.switches.of(fix.setting.system)
    found = repairs(protocols, violated, tuple(case.expect), reported)
    return found, protocols.switches.choice(reported, protocols.switches.present)


def parsed(page: Path) -> list[list[str]]:
    """The rows of the tables of a page, cell by cell, without their heads."""
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [line[2:-2].split(" | ") for line in lines if line.startswith("| ")]
    heads = {number - 1 for number, cells in enumerate(rows) if cells[0] == "---"}
    return [cells for number, cells in enumerate(rows) if number not in heads and cells[0] != "---"]


def told(stack: str) -> tuple[dict[str, str], dict[str, str]]:
    """The column and the counterexamples of a stack."""
    report = examined(stack)
    if report.failure is not None:
        sys.exit("\n".join(report.failure.lines))
    return column(report, stack), pages(report, stack)


def main() -> None:
    """Write every page."""
    with ProcessPoolExecutor() as pool:
        bugs = pool.map(bug_row, BUGS)
        everything = dict(zip(stack_names(), pool.map(told, stack_names()), strict=True))
        repaired = list(bugs)
    COUNTEREXAMPLES.mkdir(exist_ok=True)
    for path in COUNTEREXAMPLES.glob("*.md"):
        path.unlink()
    for _, found in everything.values():
        for name, text in found.items():
            (COUNTEREXAMPLES / name).write_text(text, encoding="utf-8")
    columns = {stack: cells for stack, (cells, _) in everything.items()}
    MATRIX_PAGE.write_text(matrix(columns), encoding="utf-8")
    REPAIRS_PAGE.write_text(repairs_page(repaired), encoding="utf-8")
    MUTANTS_PAGE.write_text(mutants(mutant_sizes()), encoding="utf-8")


if __name__ == "__main__":
    main()
