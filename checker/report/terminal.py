"""The report for a person at a terminal: counterexamples first, the table of verdicts last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import field, frozen
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rackproof.checker.coverage import Coverage
from rackproof.checker.exams import Examined
from rackproof.checker.explain import asked
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.explain.footing import lines as footing_lines
from rackproof.checker.explain.footing import of_replay
from rackproof.checker.replay import Replayed, seen, violated
from rackproof.checker.report import proofs, repair, sampling, stack
from rackproof.checker.report.counterexample import counterexample
from rackproof.checker.report.escaping import visible
from rackproof.checker.report.setting import assumed, scope_in_words
from rackproof.checker.report.steps import parts_in_words
from rackproof.checker.report.style import COLOURS, MARKS, UNTESTED
from rackproof.checker.saving import Saved
from rackproof.checker.status import APOLOGY, Status
from rackproof.checker.verdicts import ABSENT, Result, Verdict, counted
from rackproof.checker.verify import WITH_FIX, Failure, Report, Run, failure
from rackproof.scenarios.changes import told as changed
from rackproof.scenarios.quantities import in_words
from rackproof.scenarios.schema import Scenario
from rackproof.scenarios.steps import kebab

if TYPE_CHECKING:
    from rackproof.checker.explain import Explanation

FOLDED: Final = 24
"""The least width to which the column of scenarios is folded."""


@frozen
class Terminal:
    """Prints reports; verbosity -1 is quiet, 0 plain, 1 tells every property and counterexample.

    explains: whether runs are explained step by step. failures: why some could not be.
    """

    out: Console
    verbosity: int = 0
    explains: bool = False
    failures: list[Failure] = field(factory=list)

    def verified(
        self,
        reports: Sequence[Report],
        of: int,
        saved: Saved,
        left_out: Sequence[Path],
        footings: Sequence[Footing] = (),
    ) -> None:
        """Print every violation that nobody expected, the table, and what is not as it should be.

        With one target or -v, the violations that were expected are printed too. of: how many
        targets there were, if an interrupt left some out. footings: of each report, what it says of
        itself.
        """
        several = len(reports) > 1
        in_full = self.verbosity > 0 or (self.verbosity == 0 and not several)
        for report in reports:
            self._counterexamples(report, saved, self.verbosity > 0 or not several)
        for report in reports:
            if in_full:
                self._scope(report, several)
        for report in reports:
            if isinstance(report, Examined):
                self._examined(report)
        self.table([report for report in reports if not isinstance(report, Examined)])
        for report in reports:
            if in_full:
                self._proofs(report, several, saved)
                self._untested(report, several)
            self._diagnosis(report, several)
            self._notes(report, several)
            self._coverage(report, several)
        for report, footing in zip(reports, footings, strict=False):
            if in_full and report.runs:
                self.footing(footing)
        if left_out and self.verbosity > 0:
            self.out.print(f"no scenarios: {', '.join(map(str, left_out))}", soft_wrap=True)
        for wrong in (*saved.failures, *self.failures):
            self.failed(wrong)
        self.summary(reports, of)

    def footing(self, footing: Footing) -> None:
        """Print how a result is seen again, what was not looked at, and what to do next."""
        for line in footing_lines(footing) if self.verbosity >= 0 else ():
            self.out.print(line, soft_wrap=True)

    def _scope(self, report: Report, several: bool) -> None:
        """Print how much is explored, and where."""
        words = scope_in_words(report.scenario.case.setting) if report.scenario else None
        if words is not None and not isinstance(report, Examined):
            where = f"{report.target}: " if several else ""
            asked = report.options
            words += f"; left open: {', '.join(asked.beyond)}" if asked.beyond else ""
            words += f";{changed(asked.changes)}" if asked.changes else ""
            self.out.print(f"{where}scope: {words}", soft_wrap=True)
            assert report.scenario is not None, "it has a scope"
            if told := assumed(report.scenario.case.setting):
                self.out.print(f"{where}note: {told}", soft_wrap=True)

    def _examined(self, report: Examined) -> None:
        """Print what became of a stack in its exams."""
        if self.verbosity >= 0 and report.runs:
            name = f"{report.target}{changed(report.options.changes)}"
            told = f"{name}, {stack.summary(report)} ({in_words(report.seconds)})"
            self.out.print(Text(told, "bold"), soft_wrap=True)
            self.out.print(stack.table(report, self.out.width), crop=False)
            if unsaid := stack.left_out(report):
                self.out.print(unsaid, soft_wrap=True)
            self.out.print()

    def _proofs(self, report: Report, several: bool, saved: Saved) -> None:
        """Print by what properties are proved; with -v, the invariants."""
        for run in report.runs:
            where = f"{report.target}: " if several else ""
            where += "with the fix, " if run.label == WITH_FIX else ""
            for line in proofs.lines(run, self.verbosity > 0, saved.certificates):
                self.out.print(line if line.startswith(" ") else f"{where}{line}", soft_wrap=True)

    def _untested(self, report: Report, several: bool) -> None:
        """Print why a property was not put to the test; with -v, why some were not judged."""
        every = self.verbosity > 0 and not isinstance(report, Examined)
        for run in report.runs:
            where = f"{report.target}: " if several else ""
            where += "with the fix, " if run.label == WITH_FIX else ""
            untested = [r for r in run.results if r.verdict is Verdict.VACUOUS]
            for result in untested:
                if not result.is_absent and (result.judged or every):
                    told = f"{result.prop.name} is vacuous: {result.reason}"
                    self.out.print(f"{where}{told}", soft_wrap=True)
            absent = [r.prop.name for r in untested if r.is_absent and (r.judged or every)]
            if absent and run.label != WITH_FIX:
                told = (
                    f"vacuous, as {ABSENT.replace('it speaks', 'they speak')}: {', '.join(absent)}"
                )
                self.out.print(f"{where}{told}", soft_wrap=True)
            names: dict[str | None, list[str]] = {}
            for result in run.results:
                if result.verdict is Verdict.INCONCLUSIVE:
                    names.setdefault(result.reason, []).append(result.prop.name)
            for reason, those in names.items() if every else ():
                told = f"not judged: {reason}: {', '.join(those)}"
                self.out.print(f"{where}{told}", soft_wrap=True)

    def _diagnosis(self, report: Report, several: bool) -> None:
        """Print what mends and what is needed, where it was asked for."""
        if report.note and self.verbosity >= 0:
            where = f"{report.target}: " if several else ""
            self.out.print(f"{where}note: {report.note}", soft_wrap=True)
        if report.diagnosis is None or self.verbosity < 0:
            return
        for grid in repair.tables(report, self.verbosity > 0):
            self.out.print()
            if several:
                self.out.print(Text(report.target, "bold"), soft_wrap=True)
            self.out.print(grid, crop=False)
        self.out.print(repair.effort(report.diagnosis), soft_wrap=True)

    def _notes(self, report: Report, several: bool) -> None:
        """Print how the states were explored, where there is more to say."""
        for run in report.runs:
            if run.findings.note:
                where = ", ".join(_where(report, run, several))
                told = f"{where}: {run.findings.note}" if where else run.findings.note
                self.out.print(told, soft_wrap=True)

    def _coverage(self, report: Report, several: bool) -> None:
        """Print the transitions that never fired: with -v, and always for a world of one's own."""
        if isinstance(report, Examined):
            self._covered(report)
            return
        own = report.scenario is not None and report.scenario.case.setting.file is not None
        for run in report.runs:
            whole = run.findings.reason is None
            names = [kebab(name) for name in run.findings.idle]
            where = f" ({', '.join(found)})" if (found := _where(report, run, several)) else ""
            wanted = self.verbosity > 0 or run.coverage or (own and self.verbosity == 0)
            if names and whole and wanted:
                self.out.print(f"never fired{where}: {', '.join(names)}", soft_wrap=True)
            for line in sampling.lines(run.findings) if wanted else ():
                self.out.print(f"{line}{where}", soft_wrap=True)
            if run.coverage:
                self._guards(where, run.coverage)

    def _covered(self, report: Examined) -> None:
        """Print what took effect in no exam: with -v, and where it was asked for."""
        is_asked = any(run.coverage for run in report.runs)
        if report.idle and (is_asked or self.verbosity > 0):
            names = ", ".join(map(kebab, report.idle))
            self.out.print(f"{report.target}: never fired in any exam: {names}", soft_wrap=True)
        if report.guards:
            self._guards(f" ({report.target}, every exam)", Coverage(tuple(report.guards)))

    def _guards(self, where: str, coverage: Coverage) -> None:
        told = coverage.reason or "guards that always came out the same way"
        self.out.print(f"{told}{where}{'' if coverage.reason else ':'}", soft_wrap=True)
        for guard in coverage.guards:
            self.out.print(f"  {guard}", soft_wrap=True)

    def failed(self, wrong: Failure) -> None:
        """Print why nothing could be done."""
        parts = (wrong.traceback, *wrong.lines, APOLOGY if wrong.traceback else None)
        for part in parts:
            if part:
                self.out.print(part, soft_wrap=True)

    def _counterexamples(self, report: Report, saved: Saved, expected_too: bool) -> None:
        if report.failure and report.failure.traceback:
            self.out.print(report.failure.traceback, soft_wrap=True)
        if self.verbosity >= 0:
            for run, result in shown(report, expected_too):
                self._counterexample(report, run, result, saved.files.get(id(result)))

    def _counterexample(self, report: Report, run: Run, result: Result, saved: Path | None) -> None:
        replay = asked.line("replay", str(saved)) if saved else asked.again(report, run)
        if self.explains:
            from rackproof.checker.explain import explain  # noqa: PLC0415

            try:
                told = explain(report, run, result, replay, deep=True)
            except (Exception, SystemExit) as error:
                self.failures.append(failure(error, report.scenario))
            else:
                self._explained(told)
                return
        first, *rest = counterexample(report, result, replay)
        self.out.print(Text(f"{report.name}: {first}", "bold"), soft_wrap=True)
        self.out.print("\n".join(rest), soft_wrap=True)
        self.out.print()

    def _steps(self, run: Replayed) -> None:
        """Print the steps of a run, dim what it violates a property without as well."""
        from rackproof.checker.explain.necessity import alone, plainly_enough  # noqa: PLC0415

        prop = violated(run)
        least = plainly_enough(run.trace, prop) if prop is not None else ()
        spare = least and len(least) < len(run.trace.steps)
        told = Text("\n")
        for number, lines in parts_in_words(run.trace, [s.after for s in run.steps], run.timing):
            dim = spare and number is not None and number not in least
            told.append("".join(f"{line}\n" for line in lines), "dim" if dim else "")
        self.out.print(told, soft_wrap=True)
        if spare and prop is not None:
            rest = f"{prop.name} is violated without the others too"
            self.out.print(f"  {alone(least)}: {rest}", soft_wrap=True)

    def _explained(self, explanation: Explanation) -> None:
        from rackproof.checker.report.explained import print_explained  # noqa: PLC0415

        print_explained(self.out, explanation)
        self.out.print()

    def table(self, reports: Sequence[Report]) -> None:
        """Print one row a scenario, or one a property with -v or for a single target."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        fixes = any(run.label == WITH_FIX for report in reports for run in report.runs)
        first = "as reported" if fixes else "verdict"
        columns = ("", "scenario", "property", first, "with the fix", "states", "time")
        for column in columns:
            if column != "with the fix" or fixes:
                right = column in ("states", "time")
                table.add_column(
                    column,
                    justify="right" if right else "left",
                    overflow="fold",
                    no_wrap=column != "scenario",
                )
        each = self.verbosity > 0 or len(reports) == 1
        widths = [cell_len(str(column.header)) for column in table.columns]
        for report, label in zip(reports, _labels(reports), strict=True):
            for row in _rows(report, label, each, self.verbosity > 0):
                cells = [cell for i, cell in enumerate(row) if i != 4 or fixes]
                table.add_row(*cells)
                lengths = [cell_len(str(cell)) for cell in cells]
                widths = [max(pair) for pair in zip(widths, lengths, strict=True)]
        widths[1] = min(widths[1], FOLDED)
        least = sum(widths) + 2 * (len(widths) - 1)
        if least > self.out.width:
            table.width = least
        if self.verbosity >= 0 and any(report.runs for report in reports):
            self.out.print(table, crop=False)
            self.out.print()

    def summary(self, reports: Sequence[Report], of: int) -> None:
        """Print what is not as it should be, one line each, and the count of what is."""
        for report in reports:
            for line in report.complaints:
                told = line.startswith(report.target) or report.failure is not None
                shown = line if report.failure is not None else visible(line)
                self.out.print(shown if told else f"{report.target}: {shown}", soft_wrap=True)
        if any(report.status is Status.OUR_FAULT for report in reports):
            self.out.print(APOLOGY, soft_wrap=True)
        fine, what = sum(r.status is Status.OK for r in reports), counted(of, "target")
        if fine == of:
            self.out.print(Text(f"all as expected: {what}", "green"), soft_wrap=True)
        else:
            self.out.print(Text(f"{fine} of {what} as expected", "bold red"), soft_wrap=True)

    def replayed(self, scenario: Scenario, run: Replayed) -> None:
        """Print a run step by step, the facts at its end, and what is not as written."""
        if self.explains and self.verbosity >= 0:
            from rackproof.checker.explain import explain_replay  # noqa: PLC0415

            again = asked.line("replay", str(scenario.path))
            self._explained(explain_replay(scenario, run, again))
        elif self.verbosity >= 0:
            self.out.print(Text(scenario.name, "bold"), soft_wrap=True)
            self._steps(run)
            for line in run.timing.lines if run.timing else ():
                self.out.print(f"  {line}", soft_wrap=True)
            if len(run.trace.steps) == len(run.steps):
                for fact in run.facts:
                    self.out.print(f"  {fact.key}: {seen(run, fact)}", soft_wrap=True)
            self.footing(of_replay(scenario, run))
        for line in run.complaints:
            self.out.print(line, soft_wrap=True)
        text = "not as written" if run.complaints else "as written"
        done = f"{len(run.trace.steps)} of {counted(len(run.steps), 'step')}"
        self.out.print(Text(f"{text}: {done}", "bold red" if run.complaints else "green"))


def shown(report: Report, expected_too: bool) -> Iterator[tuple[Run, Result]]:
    """The violations to print: those complained of, and perhaps those that were expected."""
    for run, result in report.judged:
        if result.trace is not None and (expected_too or result.complaint):
            yield run, result


def _where(report: Report, run: Run, several: bool) -> list[str]:
    """Of which target and which case something is, where there is more than one."""
    case = [run.label] if report.runs[1:] else []
    return [report.target, *case] if several else case


def _labels(reports: Sequence[Report]) -> list[str]:
    """What each row is called: the file's name alone, where that leaves no doubt."""
    stems = [report.file.stem if report.file else report.target for report in reports]
    return [
        report.target if stems.count(stem) > 1 else stem
        for report, stem in zip(reports, stems, strict=True)
    ]


def _rows(report: Report, label: str, each: bool, every: bool) -> Iterator[list[Text | str]]:
    word, style = MARKS[report.status]
    if not report.runs:
        yield [Text(word, style), label, "", "", "", "", ""]
        return
    names = _properties(report, unjudged=every)
    states = f"{sum(run.findings.states for run in report.runs):,}"
    for number, prop in enumerate(names):
        cells = [_cell(run, prop) for run in report.runs]
        first = number == 0
        mark = _mark(report, prop) if each else Text(word, style)
        more = "" if each or len(names) == 1 else f" (+{len(names) - 1})"
        yield [
            mark,
            label if first else "",
            visible(prop) + more,
            cells[0],
            cells[1] if len(cells) > 1 else "",
            states if first else "",
            in_words(report.seconds) if first else "",
        ]
        if not each:
            return
    for what, words in _beside(report):
        yield [Text(word, style), "", what, words, "", "", ""]


def _beside(report: Report) -> Iterator[tuple[str, str]]:
    """What is not as it should be beside the properties."""
    if report.replayed is not None and report.replayed.complaints:
        yield "steps", "not as written"
    if report.failure is not None:
        yield "-", "not finished"
    if report.untested:
        yield "-", "nothing was tested"


def _properties(report: Report, unjudged: bool) -> list[str]:
    """The names to show: what counts, with what is complained of and violated first."""
    results = [r for run in report.runs for r in run.results if r.judged or unjudged]
    judged = [result for result in results if not result.is_absent] or results
    judged.sort(
        key=lambda r: (
            not r.judged,
            r.complaint is None,
            r.verdict is not Verdict.VIOLATED,
            r.verdict is Verdict.VACUOUS,
        )
    )
    return list(dict.fromkeys(result.prop.name for result in judged)) or ["-"]


def _mark(report: Report, prop: str) -> Text:
    results = [r for run in report.runs for r in run.results if r.prop.name == prop]
    if not any(result.judged for result in results):
        return Text("")
    status = max((result.status for result in results), key=lambda s: s != Status.OK)
    vacuous = any(result.judged and result.verdict is Verdict.VACUOUS for result in results)
    return Text(*(UNTESTED if vacuous and status is Status.OK else MARKS[status]))


def _cell(run: Run, prop: str) -> Text:
    for result in run.results:
        if result.prop.name == prop:
            return Text(result.words, COLOURS[result.verdict])
    return Text("")
