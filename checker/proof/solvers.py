"""Two solvers that have nothing in common, under one interface: SMT-LIB text in, answers out."""

from __future__ import annotations

import time
from typing import Final, Protocol

import cvc5
import z3

NAMES: Final = ("z3", "cvc5")

UNSAT, SAT, UNKNOWN = "unsat", "sat", "unknown"


class SolverError(Exception):
    """A solver could not make sense of the text."""


class Solver(Protocol):
    """A solver that keeps its state from one text to the next."""

    def run(self, text: str) -> str:
        """Execute commands, and return what they print; ``SolverError`` where it is an error."""
        ...


class Z3:
    """The z3 of the Python package, through its SMT-LIB front end."""

    def __init__(self, seconds: float | None) -> None:
        """Take the time that each query may take."""
        self.context = z3.Context()
        if seconds is not None:
            self.run(f"(set-option :timeout {_milliseconds(seconds)})")

    def run(self, text: str) -> str:
        try:
            return str(z3.Z3_eval_smtlib2_string(self.context.ref(), text))
        except z3.Z3Exception as error:
            raise SolverError(_said(error)) from error


class Cvc5:
    """The cvc5 of the Python package, through its own parser."""

    def __init__(self, seconds: float | None) -> None:
        """Take the time that each query may take."""
        self.manager = cvc5.TermManager()
        self.solver = cvc5.Solver(self.manager)
        self.solver.setOption("incremental", "true")
        self.solver.setOption("produce-models", "true")
        if seconds is not None:
            self.solver.setOption("tlimit-per", str(_milliseconds(seconds)))
        self.symbols = cvc5.SymbolManager(self.manager)
        self.parser = cvc5.InputParser(self.solver, self.symbols)

    def run(self, text: str) -> str:
        said = ""
        try:
            self.parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "text")
            while not (command := self.parser.nextCommand()).isNull():
                said += command.invoke(self.solver, self.symbols)
        except RuntimeError as error:
            raise SolverError(_said(error)) from error
        if "(error" in said:
            raise SolverError(said.strip())
        return said


def started(name: str, seconds: float | None) -> Solver:
    """A solver of this name, with the time that each of its queries may take."""
    return Z3(seconds) if name == "z3" else Cvc5(seconds)


def version(name: str) -> str:
    """The version of a solver."""
    return str(z3.get_version_string() if name == "z3" else cvc5.__version__)


def left(deadline: float | None) -> float | None:
    """The seconds until a time of ``time.monotonic``; None where there is no such time."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def _milliseconds(seconds: float) -> int:
    return max(1, round(1000 * seconds))


def _said(error: Exception) -> str:
    first = error.args[0] if error.args else error
    text = first.decode(errors="replace") if isinstance(first, bytes) else str(first)
    return " ".join(text.split())
