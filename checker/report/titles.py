"""What the explanation of a run is called: pages of one target are told apart by their titles."""

from __future__ import annotations

from rackproof.checker.verdicts import Result
from rackproof.checker.verify import Report, Run


def title(report: Report, run: Run, result: Result) -> str:
    """A scenario by its name, which says what it is about; of a stack or a world of one's own the
    property first.
    """
    if report.file is not None:
        return report.name
    is_stack = report.target.startswith("stack:")
    where = f", exam {run.label}" if is_stack else ""
    return f"{result.prop.name}{where}: {report.name}"
