"""The report on certificates that were checked."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from rackproof.checker.proof.checking import Answer, Checked, check_file
from rackproof.checker.proof.solvers import SAT, UNSAT
from rackproof.checker.report.screen import shown
from rackproof.checker.report.style import MARKS
from rackproof.checker.session import as_json
from rackproof.checker.status import Status, worst
from rackproof.checker.verdicts import counted
from rackproof.checker.verify import failure
from rackproof.scenarios.files import is_folder


def report(
    files: Sequence[Path], seconds: float | None, solvers: Sequence[str], json_file: str | None
) -> int:
    """Check certificates and tell each; the exit status of the command."""
    if json_file not in (None, "-") and not is_folder(Path(str(json_file)).parent):
        raise click.UsageError(f"--json {json_file}: there is no such folder")
    told = sys.stderr if json_file == "-" else sys.stdout
    data, statuses = [], []
    for file in files:
        checked = checked_file(file, seconds, solvers)
        click.echo(shown("\n".join(lines(file, checked))), file=told)
        data.append(as_data(file, checked))
        statuses.append(checked.status)
    if json_file is not None:
        _write(json_file, as_json(data))
    return worst(statuses)


def checked_file(file: Path, seconds: float | None, solvers: Sequence[str]) -> Checked:
    """Check a certificate; what goes wrong is part of the outcome."""
    try:
        return check_file(file, seconds, solvers)
    except Exception as error:
        wrong = failure(error, None)
        return Checked(
            wrong.status, problem="\n".join([*wrong.lines, wrong.traceback or ""]).strip()
        )


def lines(file: Path, checked: Checked) -> Iterator[str]:
    """A certificate and the outcome of its check, for people."""
    item = checked.certificate
    of = f" proves {', '.join(item.properties)} of {item.target} ({item.case})" if item else ""
    is_proof = checked.status is Status.OK
    yield f"{MARKS[checked.status][0]}  {file}{of if is_proof else ''}"
    if checked.problem:
        prefix = "rejected: " if checked.status is Status.VIOLATED and not checked.answers else ""
        yield f"    {prefix}{checked.problem}"
    if item is not None and is_proof:
        clauses = counted(len(item.clauses), "clause")
        method = "".join(c if c.isprintable() else "?" for c in item.method)
        yield f"    an invariant of {clauses} ({method})"
    for answer in checked.answers:
        yield from (f"    {line}" for line in _answer(answer))


def _answer(answer: Answer) -> list[str]:
    asked, spent = counted(answer.queries, "query").replace("querys", "queries"), answer.seconds
    name = f"{answer.solver} {answer.version}"
    if answer.said == UNSAT:
        return [f"{name}: nothing contradicts it ({asked}, {spent:.1f} s)"]
    if answer.refutation is not None:
        return [
            f"{name}: {line}" if n == 0 else f"  {line}"
            for n, line in enumerate(answer.refutation.lines)
        ]
    if answer.said == SAT:
        return [f"{name}: refutes {answer.query}"]
    return [f"{name}: gave no answer to {answer.query or 'anything'} ({spent:.1f} s)"]


def as_data(file: Path, checked: Checked) -> dict[str, Any]:
    """The same as plain lists, maps, texts and numbers."""
    item = checked.certificate
    data: dict[str, Any] = {"file": str(file), "status": int(checked.status)}
    if item is not None:
        data |= {
            "target": item.target,
            "case": item.case,
            "properties": list(item.properties),
            "method": item.method,
            "invariant": list(item.words),
        }
    if checked.problem:
        data["problem"] = checked.problem
    return {**data, "solvers": [_answer_as_data(answer) for answer in checked.answers]}


def _answer_as_data(answer: Answer) -> dict[str, Any]:
    data: dict[str, Any] = {
        "solver": answer.solver,
        "version": answer.version,
        "answer": answer.said,
        "queries": answer.queries,
        "seconds": round(answer.seconds, 6),
    }
    if answer.query is not None:
        data["query"] = answer.query
    if (found := answer.refutation) is not None:
        data["refutation"] = {
            "clauses": list(found.clauses),
            "before": dict(found.before),
            "after": None if found.after is None else dict(found.after),
        }
    return data


def _write(name: str, text: str) -> None:
    if name == "-":
        sys.stdout.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or "cannot be written").lower()
        raise click.UsageError(f"--json {name}: {reason}") from None
