"""The command ``conform``: from files to what came of each request in them."""

from __future__ import annotations

from rackproof.checker.conform.conformity import MOST_IN_FULL, Conformity, Told
from rackproof.checker.conform.outcome import Explained
from rackproof.checker.conform.tally import is_plain, status_of
from rackproof.checker.report.conform.data import case_as_data
from rackproof.checker.report.conform.words import lines, title


def told_of(found: Explained, conformity: Conformity) -> None:
    """Count a case in, and keep what is told of it where it is not plainly accepted."""
    conformity.tally.add(found)
    if is_plain(found):
        return
    conformity.not_plain += 1
    if len(conformity.in_full) < MOST_IN_FULL:
        known = conformity.tally.known
        status = status_of(found, known)
        conformity.in_full.append(
            Told(
                found.case.name,
                status,
                found.place,
                title(found, conformity.noun),
                lines(found, conformity.noun, known, every=True),
                case_as_data(found, status),
            )
        )
