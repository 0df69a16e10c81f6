"""Gates as clauses of a SAT solver, by Tseitin's encoding, only those that are asked for.

The latches of a circuit are the solver's variables one to their number in every solver, so that a
literal over a state means the same in all of them: the variable, negative where it is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pysat.solvers import Solver

from rackproof.checker.proof.circuit import TRUE, Graph, Literal


class Clauses:
    """A solver and the gates that it has so far."""

    def __init__(self, graph: Graph, latches: Sequence[Literal], name: str) -> None:
        """Start with the latches alone; name: of the solver, as python-sat has it."""
        self.graph, self.solver = graph, Solver(name=name)
        self._variables = {literal >> 1: i for i, literal in enumerate(latches, 1)}
        self.top = len(latches)

    def fresh(self) -> int:
        """A new variable."""
        self.top += 1
        return self.top

    def add(self, clause: Iterable[int]) -> None:
        """Add a clause."""
        self.solver.add_clause(clause)

    def literal(self, literal: Literal) -> int:
        """The solver's literal for one of the graph, which brings the gates behind it."""
        node = literal >> 1
        if node not in self._variables:
            for below in self.graph.cone([literal]) if node else [0]:
                if below not in self._variables:
                    self._gate(below)
        variable = self._variables[node]
        return -variable if literal & 1 else variable

    def _gate(self, node: int) -> None:
        variable = self._variables[node] = self.fresh()
        operands = self.graph.operands(node)
        if operands is not None:
            a, b = (self._known(operand) for operand in operands)
            self.add([-variable, a])
            self.add([-variable, b])
            self.add([variable, -a, -b])
        elif node == TRUE >> 1:
            self.add([-variable])

    def _known(self, literal: Literal) -> int:
        variable = self._variables[literal >> 1]
        return -variable if literal & 1 else variable
