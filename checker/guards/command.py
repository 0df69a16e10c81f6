"""The command ``guards``: from a target to the guards that its steps miss."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from rich.text import Text

from rackproof.checker.asking import ask, setting_of
from rackproof.checker.explain.asked import of_guards
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.explain.footing import has_mechanisms
from rackproof.checker.guards.synthesis import missing_guards
from rackproof.checker.report.guards import GuardReport
from rackproof.checker.report.setting import scope_in_words
from rackproof.checker.searched import Progress
from rackproof.checker.session import Session
from rackproof.checker.targets import Target
from rackproof.scenarios.schema import Scenario


@frozen
class Guards:
    """What is asked of every target: which properties (if none, those that it expects to be
    violated, else all that are), and in which exam a stack.
    """

    session: Session
    properties: Sequence[str] = ()
    exam: str | None = None

    def tell(self, texts: Sequence[str]) -> int:
        """Look for guards in every target, and report."""
        status, _ = ask(texts, self.session, self._found, self._show, self._footing)
        return status

    def _found(self, target: Target, scenario: Scenario, progress: Progress) -> GuardReport:
        setting = setting_of(target, scenario, self.exam, self.properties)
        expected = scenario.case.expect if target.stack is None else {}
        violated = [name for name, each in expected.items() if each.verdict == "violated"]
        names = self.properties or violated or None
        found = missing_guards(setting.system, names, self.session.options, progress)
        return GuardReport(target.label, found, scope_in_words(setting), has_mechanisms(setting))

    def _footing(self, report: GuardReport) -> Footing:
        is_found = any(found.mends for found in report.found)
        return of_guards(report.target, self.properties, self.exam, is_found, report.has_mechanisms)

    def _show(self, report: GuardReport) -> None:
        out, verbosity = self.session.terminal().out, self.session.verbosity
        out.print(Text(f"missing guards of {report.target}", "bold"), soft_wrap=True)
        out.print("\n".join(report.lines(verbosity > 0)), soft_wrap=True)
        out.print()
