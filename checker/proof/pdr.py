"""Property directed reachability: an inductive invariant found clause by clause.

After Bradley ("SAT-based model checking without unrolling", 2011) and Een, Mishchenko and Brayton
("Efficient implementation of property directed reachability", 2011). As a step is one action, each
action has a solver of its own, with only its gates: a cube is asked only of actions that write
something in it, what an action does not write is the same before and after, and an action that was
shown unable to lead into a cube by some of its literals is not asked again while these stay.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from attrs import frozen

from rackproof.checker.lowering.relation import Action
from rackproof.checker.proof.circuit import Circuit, Literal
from rackproof.checker.proof.cnf import Clauses
from rackproof.checker.proof.fields import Cube, clause
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.outcomes import Budget, Invariant, Path, Unknown, path_of

SOLVER = "minisat22"


class OutOfBudgetError(Exception):
    """Time or memory is used up."""


def pdr(obligation: Obligation, budget: Budget | None = None) -> Invariant | Path | Unknown:
    """Find an invariant that shows an obligation, or a path to a bad state (not the shortest)."""
    return cubes(Circuit(obligation), budget or Budget())


def cubes(circuit: Circuit, budget: Budget) -> Invariant | Path | Unknown:
    """The same for a circuit that is there already."""
    search = Search(circuit, budget)
    try:
        actions = search.run()
        if actions is not None:
            return path_of(circuit.relation, actions)
        return Invariant(tuple(clause(circuit, cube) for cube in search.invariant()))
    except OutOfBudgetError as error:
        return Unknown(str(error), search.depth)


@frozen
class Task:
    """A cube from whose states an action leads into the cube of the next task, or which is bad.

    A counterexample if a state of it can be reached.
    """

    cube: Cube
    action: Action | None
    onward: Task | None

    def actions(self) -> list[Action]:
        """What leads from here to a bad state."""
        task: Task | None = self
        found = []
        while task is not None and task.action is not None:
            found.append(task.action)
            task = task.onward
        return found


class Way:
    """One way to go wrong or to go on: a condition on a state, and what latches become under it."""

    def __init__(
        self, circuit: Circuit, enabled: Literal, after: dict[int, Literal], action: Action | None
    ) -> None:
        """after: by the number of the latch, from one on."""
        self.after, self.action, self.enabled = after, action, enabled
        self.width = len(circuit.latches)
        self.gates = Clauses(circuit.graph, circuit.latches, SOLVER)
        self.go = self.gates.literal(enabled)
        self.next = {latch: self.gates.literal(bit) for latch, bit in after.items()}
        self.frames: list[int] = []
        self.loaded = 0
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

    def load(self, log: Sequence[tuple[int, Cube]]) -> None:
        """Take the lemmas that came since."""
        solver = self.gates.solver
        for level, cube in log[self.loaded :]:
            solver.add_clause([-self._frame(level), *(-literal for literal in cube)])
        self.loaded = len(log)

    def _frame(self, level: int) -> int:
        while level >= len(self.frames):
            self.frames.append(self.gates.fresh())
        return self.frames[level]

    def leads(self, level: int, cube: Cube) -> Cube | None:
        """The literals of a cube by which no state of a frame that is outside of it leads into it;
        None where one does, which ``state`` then tells.
        """
        wanted: dict[int, int] = {}
        written, own = [], self.next
        for literal in cube:
            bit = own.get(abs(literal))
            if bit is None:
                wanted.setdefault(literal, literal)
            else:
                wanted.setdefault(bit if literal > 0 else -bit, literal)
                written.append(literal)
        self._frame(level)
        assumed = [self.go, *self.frames[level:]]
        if written:
            assumed.append(self._changes(tuple(written)))
        solver = self.gates.solver
        if solver.solve([*assumed, *wanted]):
            return None
        core = solver.get_core() or ()
        return tuple(wanted[literal] for literal in core if literal in wanted)

    def state(self) -> list[int]:
        """The state that was found last."""
        model: list[int] = self.gates.solver.get_model()
        return model[: self.width]

    def lifted(self, state: Sequence[int], cube: Cube) -> Cube:
        """A part of a state by which every state with it is led into the cube."""
        own = self.next
        stays = [literal for literal in cube if abs(literal) not in own]
        fails = self._fails(tuple(literal for literal in cube if abs(literal) in own))
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
            bits = [self.next[abs(w)] if w > 0 else -self.next[abs(w)] for w in written]
            self.gates.add([-known, -self.go, *(-bit for bit in bits)])
        return known


Cores = dict[int, Cube]
"""For the number of a way, the literals of a cube by which it does not lead into it."""


class Search:
    """The frames and what is done with them."""

    def __init__(self, circuit: Circuit, budget: Budget) -> None:
        """Start with the first state alone."""
        self.circuit, self.budget = circuit, budget
        self.first = tuple(i if bit else -i for i, bit in enumerate(circuit.first, 1))
        self.starts = frozenset(self.first)
        self.steps = [
            Way(circuit, move.enabled, {i + 1: bit for i, bit in move.after.items()}, move.action)
            for move in circuit.moves
        ]
        self.bads = [Way(circuit, bad, {}, None) for bad in circuit.bads]
        self.writers: list[list[int]] = [[] for _ in range(len(self.first) + 1)]
        for number, step in enumerate(self.steps):
            for latch in step.after:
                self.writers[latch].append(number)
        self.log: list[tuple[int, Cube]] = [(0, (-literal,)) for literal in self.first]
        self.frames: list[dict[Cube, None]] = [{}, {}]
        self.queries = 0
        self.hits = [0] * len(self.steps)
        self.serial = 0

    @property
    def depth(self) -> int:
        """No path with fewer steps than there are frames leads to a bad state."""
        return len(self.frames) - 2

    def run(self) -> list[Action] | None:
        """The actions that lead to a bad state, or None: then there is an invariant."""
        for bad in self.bads:
            if self._state_of(bad, 0) is not None:
                return []
        while True:
            for bad in self.bads:
                while (state := self._state_of(bad, len(self.frames) - 1)) is not None:
                    task = Task(bad.lifted(state, ()), None, None)
                    found = self._block(task, len(self.frames) - 1)
                    if found is not None:
                        return found
            self.frames.append({})
            if self._propagate():
                return None

    def _state_of(self, way: Way, level: int) -> list[int] | None:
        self._check()
        way.load(self.log)
        return way.state() if way.leads(level, ()) is None else None

    def _check(self) -> None:
        self.queries += 1
        if self.queries & 127 == 0 and (reason := self.budget.spent):
            raise OutOfBudgetError(reason)

    def _block(self, task: Task, level: int) -> list[Action] | None:
        """Show that the states of a task are reached in no frame up to the last one."""
        pending = [(level, 0, task)]
        while pending:
            level, _, task = heapq.heappop(pending)
            if not self._is_apart(task.cube):
                return task.actions()
            if self._is_blocked(level, task.cube):
                continue
            cores: Cores = {}
            way = self._into(level - 1, task.cube, cores)
            self.serial += 1
            if way is not None:
                before = Task(way.lifted(way.state(), task.cube), way.action, task)
                heapq.heappush(pending, (level - 1, -self.serial, before))
                heapq.heappush(pending, (level, -self.serial, task))
                continue
            level = self._learn(level, task.cube, cores)
            if level < len(self.frames) - 1:
                heapq.heappush(pending, (level + 1, -self.serial, task))
        return None

    def _is_apart(self, cube: Iterable[int]) -> bool:
        """Whether the first state is not in a cube."""
        return not self.starts.issuperset(cube)

    def _is_blocked(self, level: int, cube: Cube) -> bool:
        literals = frozenset(cube)
        return any(literals.issuperset(lemma) for frame in self.frames[level:] for lemma in frame)

    def _relevant(self, cube: Iterable[int]) -> list[int]:
        """The steps that write something in a cube, those first that often led into one."""
        found = {number for literal in cube for number in self.writers[abs(literal)]}
        return sorted(found, key=lambda number: (-self.hits[number], number))

    def _into(self, level: int, cube: Cube, cores: Cores) -> Way | None:
        """A step from a frame into a cube from outside of it; adds to the cores where none is."""
        literals = frozenset(cube)
        for number in self._relevant(cube):
            known = cores.get(number)
            if known is not None and literals.issuperset(known):
                continue
            self._check()
            step = self.steps[number]
            step.load(self.log)
            core = step.leads(level, cube)
            if core is None:
                self.hits[number] += 1
                return step
            cores[number] = core
        return None

    def _learn(self, level: int, cube: Cube, cores: Cores) -> int:
        """Add a lemma that blocks a cube to a frame, or to a later one, which is told."""
        cube = self._generalised(level, cube, cores)
        while level < len(self.frames) - 1 and self._into(level, cube, {}) is None:
            level += 1
        self._add(level, cube)
        return level

    def _generalised(self, level: int, cube: Cube, cores: Cores) -> Cube:
        """Fewer literals that no state of the frame before is led into."""
        cube = self._needed(cube, cores)
        tried: set[int] = set()
        while True:
            literal = next((x for x in cube if x not in tried), None)
            if literal is None:
                return cube
            tried.add(literal)
            smaller = tuple(x for x in cube if x != literal)
            if not self._is_apart(smaller):
                continue
            found = dict(cores)
            if self._into(level - 1, smaller, found) is None:
                cores = found
                cube = self._needed(smaller, cores)

    def _needed(self, cube: Cube, cores: Cores) -> Cube:
        """The literals of a cube that the cores of all steps that write in it have."""
        needed = {literal for n in self._relevant(cube) for literal in cores[n]}
        if not self._is_apart(needed):
            needed.add(next(literal for literal in cube if literal not in self.starts))
        return tuple(literal for literal in cube if literal in needed)

    def _add(self, level: int, cube: Cube) -> None:
        literals = frozenset(cube)
        for frame in self.frames[1 : level + 1]:
            for lemma in [lemma for lemma in frame if literals.issubset(lemma)]:
                del frame[lemma]
        self.frames[level][cube] = None
        self.log.append((level, cube))

    def _propagate(self) -> bool:
        """Move lemmas to the next frame where they hold there too; whether a frame is like its
        next then.
        """
        for level in range(1, len(self.frames) - 1):
            for cube in sorted(self.frames[level], key=lambda c: (len(c), c)):
                if cube in self.frames[level] and self._into(level, cube, {}) is None:
                    self._add(level + 1, cube)
            if not self.frames[level]:
                self.closed = level
                return True
        return False

    def invariant(self) -> list[Cube]:
        """The cubes that the invariant rules out."""
        return [cube for frame in self.frames[self.closed + 1 :] for cube in frame]
