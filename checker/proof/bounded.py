"""Bounded model checking: is there a run of so many steps that ends in a state that is sought?

After Biere, Cimatti, Clarke and Zhu ("Symbolic model checking without BDDs", 1999). The gates of a
step are copied for each step, from the first state on, and what is constant there is folded away.
"""

from __future__ import annotations

from collections.abc import Sequence

from rackproof.checker.lowering.relation import Action
from rackproof.checker.proof.circuit import FALSE, TRUE, Circuit, Graph, Literal, joined
from rackproof.checker.proof.cnf import Clauses
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.outcomes import Budget, Path, Unknown, effective, path_of

STRIDE = 8
"""The next depth is further away by one for each so many steps."""
CONFLICTS = 20_000
"""After how many conflicts of the solver the clock is looked at."""


def bounded(
    obligation: Obligation, most: int | None = None, budget: Budget | None = None
) -> Path | Unknown:
    """A shortest path to a bad state, or up to which depth (``most`` at last) there is none."""
    return _Unrolled(Circuit(obligation)).search(most, budget or Budget())


class _Unrolled:
    """A circuit, copied a step at a time into a graph that begins with the constants of the first
    state.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit, self.graph = circuit, Graph()
        self.inputs = [circuit.graph.input() for _ in circuit.moves]
        taken = [
            circuit.graph.and_(i, move.enabled)
            for i, move in zip(self.inputs, circuit.moves, strict=True)
        ]
        self.after = joined(circuit, taken)
        self.goal = circuit.gates.or_(circuit.bads)
        self.sought: list[Literal] = []
        self.cone = circuit.graph.cone([self.goal])
        self.whole = circuit.graph.cone([self.goal, *self.after])
        self.state = [TRUE if bit else FALSE for bit in circuit.first]
        self.clauses = Clauses(self.graph, ())
        self.chosen: list[list[Literal]] = []

    def search(self, most: int | None, budget: Budget) -> Path | Unknown:
        """Look deeper, by ever longer strides, until there is a path; then for a shorter one.

        A step may change nothing, so that no path of a length means that there is no shorter one.
        """
        without, found = -1, None
        while most is None or without < most:
            depth = without + 1 + max(without, 0) // STRIDE
            depth = depth if most is None else min(depth, most)
            if found is not None:
                if len(found) == without + 1:
                    return path_of(self.circuit.relation, found)
                depth = (without + len(found)) // 2
            answer = self._solve(depth, budget)
            if answer is None:
                return Unknown(budget.spent or "out of time", without)
            if answer:
                found = self._actions(depth)
            else:
                without = depth
        return Unknown(f"no path of up to {most} steps", without)

    def _solve(self, depth: int, budget: Budget) -> bool | None:
        """Whether there is a path of so many steps; None where the budget is used up."""
        while len(self.sought) <= depth:
            self._step()
        if self.sought[depth] == FALSE:
            return False
        literal = self.clauses.literal(self.sought[depth])
        solver = self.clauses.solver
        while not budget.spent:
            solver.conf_budget(CONFLICTS)
            found: bool | None = solver.solve_limited([literal])
            if found is not None:
                return found
        return None

    def _step(self) -> None:
        """One more state, and whether it is one that is sought."""
        if self.sought:
            chosen = [self.graph.input() for _ in self.inputs]
            self.state = self._copied(self.whole, self.after, chosen)
            self._at_most_one(chosen)
            self.chosen.append(chosen)
        self.sought += self._copied(self.cone, [self.goal], [])

    def _at_most_one(self, chosen: Sequence[Literal]) -> None:
        """By a row of variables that tell whether one came before (Sinz, 2005)."""
        before: int | None = None
        for literal in chosen:
            now, so_far = self.clauses.literal(literal), self.clauses.fresh()
            self.clauses.add([-now, so_far])
            if before is not None:
                self.clauses.add([-before, -now])
                self.clauses.add([-before, so_far])
            before = so_far

    def _copied(
        self, cone: Sequence[int], roots: Sequence[Literal], chosen: Sequence[Literal]
    ) -> list[Literal]:
        """Literals of the circuit over the latest state."""
        circuit, graph = self.circuit.graph, self.graph
        place = {0: FALSE}
        place.update(zip((i >> 1 for i in self.circuit.latches), self.state, strict=True))
        place.update(zip((i >> 1 for i in self.inputs), chosen, strict=False))
        for node in cone:
            operands = circuit.operands(node)
            if operands is not None:
                a, b = operands
                place[node] = graph.and_(place[a >> 1] ^ a & 1, place[b >> 1] ^ b & 1)
        return [place[root >> 1] ^ root & 1 for root in roots]

    def _actions(self, depth: int) -> list[Action]:
        """What was chosen at each step and has an effect."""
        model = self.clauses.solver.get_model()
        moves = self.circuit.moves
        chosen = [
            move.action
            for row in self.chosen[:depth]
            for literal, move in zip(row, moves, strict=True)
            if model[self.clauses.literal(literal) - 1] > 0
        ]
        return effective(self.circuit.relation, chosen)
