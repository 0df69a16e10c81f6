"""The words and colours of a verdict at a terminal."""

from __future__ import annotations

from typing import Final

from rackproof.checker.status import Status
from rackproof.checker.verdicts import Verdict

MARKS: Final = {
    Status.OK: ("ok", "green"),
    Status.VIOLATED: ("FAILED", "bold red"),
    Status.INCONCLUSIVE: ("open", "yellow"),
    Status.BAD_INPUT: ("error", "bold red"),
    Status.OUR_FAULT: ("crash", "bold red"),
}
COLOURS: Final = {
    Verdict.PROVED: "green",
    Verdict.HOLDS: "green",
    Verdict.VIOLATED: "red",
    Verdict.VACUOUS: "yellow",
    Verdict.INCONCLUSIVE: "yellow",
}
UNTESTED: Final = ("untested", "yellow")
