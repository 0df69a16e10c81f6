"""Actions, each with a solver of its own: what they lead into, from which states.

A cube is a conjunction of literals over the latches of a circuit. Lemmas, which rule out cubes, are
loaded under a number each, and are in force where that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rackproof.checker.lowering.relation import Action
from rackproof.checker.proof.circuit import Circuit, Literal
from rackproof.checker.proof.cnf import Clauses
from rackproof.checker.proof.fields import Cube


def step_ways(circuit: Circuit) -> list[Way]:
    """A way for each move of a circuit."""
    return [
        Way(circuit, move.enabled, {i + 1: bit for i, bit in move.after.items()}, move.action)
        for move in circuit.moves
    ]


def bad_ways(circuit: Circuit) -> list[Way]:
    """A way for each way to be bad; it leads nowhere."""
    return [Way(circuit, bad, {}, None) for bad in circuit.bads]


class Way:
    """One way to go wrong or to go on: a condition on a state, and what latches become under it."""

    def __init__(
        self,
        circuit: Circuit,
        enabled: Literal,
        after: Mapping[int, Literal],
        action: Action | None,
    ) -> None:
        """after: by the number of the latch, from one on."""
        self.latches, self.action = frozenset(after), action
        self.width = len(circuit.latches)
        self.gates = Clauses(circuit.graph, circuit.latches)
        self.go = self.gates.literal(enabled)
        self.own: dict[int, int] = {}
        for latch, bit in after.items():
            self.own[latch] = self.gates.literal(bit)
            self.own[-latch] = -self.own[latch]
        self.frames: list[int] = []
        self.loaded = 0
        self._never: frozenset[int] | None = None
        self._changing: dict[Cube, int] = {}
        self._failing: dict[Cube, int] = {}
        graph = circuit.graph
        nodes = {literal >> 1: i for i, literal in enumerate(circuit.latches, 1)}
        cone = graph.cone([enabled, *after.values()])
        self.support = sorted(nodes[node] for node in cone if node in nodes)
        inside = set(self.support)
        for rule in circuit.excluded:
            if any(abs(literal) in inside for literal in rule):
                self.gates.add(rule)

    @property
    def never(self) -> frozenset[int]:
        """The literals that are not so after it, whatever was before."""
        if self._never is None:
            tried = [x for latch in {*self.support, *self.latches} for x in (latch, -latch)]
            solver = self.gates.solver
            self._never = frozenset(
                x for x in tried if not solver.solve([self.go, self.own.get(x, x)])
            )
        return self._never

    def load(self, log: Sequence[tuple[int, list[int]]]) -> None:
        """Take the lemmas that came since: clauses, each under its number."""
        if self.loaded < len(log):
            add = self.gates.solver.add_clause
            for number, lemma in log[self.loaded :]:
                add([-self._frame(number), *lemma])
            self.loaded = len(log)

    def _frame(self, level: int) -> int:
        while level >= len(self.frames):
            self.frames.append(self.gates.fresh())
        return self.frames[level]

    def leads(self, level: int, cube: Cube) -> Cube | None:
        """The literals of a cube by which no state of a frame that is outside of it leads into it;
        None where one does, which ``state`` then tells.
        """
        self._frame(level)
        own = self.own
        wanted = [own.get(literal, literal) for literal in cube]
        core = self._core(self.frames[level:], wanted, cube)
        if core is None:
            return None
        meant = dict(zip(wanted, cube, strict=True))
        return tuple([meant[literal] for literal in core if literal in meant])

    def ruled_out(self, lemmas: Iterable[int], cube: Cube) -> frozenset[int] | None:
        """Those of some lemmas (by what they were loaded as) by which no state that they allow,
        outside of a cube, leads into it; None where one does.
        """
        assumed = {self.frames[number]: number for number in lemmas}
        wanted = [self.own.get(literal, literal) for literal in cube]
        core = self._core([*assumed], wanted, cube)
        if core is None:
            return None
        return frozenset(assumed[literal] for literal in core if literal in assumed)

    def _core(self, assumed: Sequence[int], wanted: Sequence[int], cube: Cube) -> Cube | None:
        own = self.own
        written = tuple([literal for literal in cube if literal in own])
        changes = [self._changes(written)] if written else []
        solver = self.gates.solver
        if solver.solve([self.go, *changes, *assumed, *wanted]):
            return None
        core: Sequence[int] = solver.get_core() or ()
        return tuple(core)

    def state(self) -> list[int]:
        """The state that was found last."""
        model: list[int] = self.gates.solver.get_model()
        return model[: self.width]

    def lifted(self, state: Sequence[int], cube: Cube) -> Cube:
        """A part of a state by which every state with it is led into the cube."""
        own = self.own
        stays = [literal for literal in cube if literal not in own]
        fails = self._fails(tuple(literal for literal in cube if literal in own))
        have = set(stays)
        free = [state[latch - 1] for latch in self.support if state[latch - 1] not in have]
        solver, needed = self.gates.solver, free
        for _ in range(2):
            solver.solve([fails, *stays, *reversed(needed)])
            core = set(solver.get_core() or ())
            needed = [literal for literal in needed if literal in core]
        return tuple(sorted([*stays, *needed], key=abs))

    def _changes(self, written: Cube) -> int:
        """A variable under which the state before is none of those that agree with these."""
        if len(written) == 1:
            return -written[0]
        known = self._changing.get(written)
        if known is None:
            known = self._changing[written] = self.gates.fresh()
            self.gates.add([-known, *(-literal for literal in written)])
        return known

    def _fails(self, written: Cube) -> int:
        """A variable under which it is not possible, or leads to something else than these."""
        known = self._failing.get(written)
        if known is None:
            known = self._failing[written] = self.gates.fresh()
            self.gates.add([-known, -self.go, *(-self.own[literal] for literal in written)])
        return known
