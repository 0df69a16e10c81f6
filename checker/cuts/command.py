"""The command ``cuts``: from a target and what is asked of it to a report."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from attrs import frozen
from rich.text import Text

from rackproof.checker.asking import ask, check, setting_of
from rackproof.checker.cuts.search import cut_sets
from rackproof.checker.explain.asked import of_cuts
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.report.cuts import CutReport
from rackproof.checker.report.setting import scope_in_words
from rackproof.checker.searched import Progress
from rackproof.checker.session import Session
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import Target
from rackproof.model.kernel import Kind
from rackproof.scenarios.schema import Scenario, Setting
from rackproof.scenarios.settings import seats, with_faults
from rackproof.scenarios.steps import kebab


@frozen
class Cuts:
    """What is asked of every target: which properties (all, if none), sets of up to how many
    events, of which faults (all that the world has, if none), and in which exam a stack.
    """

    session: Session
    most: int
    properties: Sequence[str] = ()
    faults: Sequence[str] = ()
    exam: str | None = None

    def tell(self, texts: Sequence[str], markdown: str | None) -> int:
        """Examine every target and report, in Markdown too where a file is named."""
        status, reports = ask(texts, self.session, self._found, self._show, self._footing)
        self.session.write(markdown, lambda: "\n".join(report.markdown() for report in reports))
        return worst([Status(status), *self.session.troubles])

    def _found(self, target: Target, scenario: Scenario, progress: Progress) -> CutReport:
        setting = setting_of(target, scenario, self.exam, self.properties)
        setting, faults = self._with_faults(setting, scenario)
        found = cut_sets(
            setting.system,
            faults,
            self.most,
            self.session.options,
            self.properties or None,
            progress,
        )
        scope = scope_in_words(setting, with_faults=False)
        placed = seats(setting, scenario.path)
        return CutReport(target.label, found, scope, placed, bool(self.faults))

    def _with_faults(self, setting: Setting, scenario: Scenario) -> tuple[Setting, Collection[str]]:
        """The world with the faults that were asked for, and their transitions."""
        from rackproof.model.scope import fault_names  # noqa: PLC0415

        if setting.bundled is None:
            known = {kebab(t.name): t.name for t in setting.system.transitions}
            own = [kebab(t.name) for t in setting.system.transitions if t.kind is Kind.FAULT]
            check("transition", self.faults, known)
            return setting, {known[name] for name in self.faults or own}
        check("fault", self.faults, fault_names())
        setting = with_faults(setting, scenario.path, self.faults or None, self.most)
        return setting, {name for names in setting.faults.values() for name in names}

    def _footing(self, report: CutReport) -> Footing:
        return of_cuts(
            report.target,
            self.most,
            self.properties,
            self.faults,
            self.exam,
            report.is_conclusive,
        )

    def _show(self, report: CutReport) -> None:
        out, verbosity = self.session.terminal().out, self.session.verbosity
        if verbosity > 0:
            out.print("\n".join(report.runs()), soft_wrap=True)
        out.print(Text(f"cut sets of {report.target}", "bold"), soft_wrap=True)
        if report.scope and verbosity >= 0:
            out.print(f"scope: {report.scope}", soft_wrap=True)
        if report.broken:
            out.print(report.table(), crop=False)
        if verbosity >= 0:
            out.print("\n".join(report.lines(verbosity > 0)), soft_wrap=True)
        out.print()
