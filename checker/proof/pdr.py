"""Property directed reachability: an inductive invariant found clause by clause.

After Bradley ("SAT-based model checking without unrolling", 2011) and Een, Mishchenko and Brayton
("Efficient implementation of property directed reachability", 2011). As a step is one action, each
action has a solver of its own, with only its gates: a cube is asked only of actions that write
something in it, what an action does not write is the same before and after, and an action that was
shown unable to lead into a cube by some of its literals is not asked again while these stay.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable

from attrs import frozen

from rackproof.checker.lowering.relation import Action
from rackproof.checker.proof.circuit import Circuit
from rackproof.checker.proof.fields import Cube, clause
from rackproof.checker.proof.minimal import minimal
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.outcomes import Budget, Invariant, Path, Unknown, path_of
from rackproof.checker.proof.ways import Way, bad_ways, step_ways


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
        found = minimal(circuit, search.invariant(), budget)
        return Invariant(tuple(clause(circuit, cube) for cube in found))
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


Cores = dict[int, Cube]
"""For the number of a way, the literals of a cube by which it does not lead into it."""


class Search:
    """The frames and what is done with them."""

    def __init__(self, circuit: Circuit, budget: Budget) -> None:
        """Start with the first state alone."""
        self.circuit, self.budget = circuit, budget
        self.first = tuple(i if bit else -i for i, bit in enumerate(circuit.first, 1))
        self.starts = frozenset(self.first)
        self.steps, self.bads = step_ways(circuit), bad_ways(circuit)
        self.writers: list[list[int]] = [[] for _ in range(len(self.first) + 1)]
        for number, step in enumerate(self.steps):
            for latch in sorted(step.latches):
                self.writers[latch].append(number)
        self.log = [(0, [literal]) for literal in self.first]
        self.frames: list[dict[Cube, None]] = [{}, {}]
        self.queries = 0
        self.hits = [0] * len(self.steps)
        self.serial = self.closed = 0
        self.culprit: dict[Cube, int] = {}
        self.uses = Counter[int]()

    @property
    def depth(self) -> int:
        """No path of so many steps, or of fewer, leads to a bad state."""
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

    def _relevant(self, cube: Cube) -> list[int]:
        """The steps that write something in a cube, those first that led into it or often into
        others.
        """
        found = {number for literal in cube for number in self.writers[abs(literal)]}
        last, hits = self.culprit.get(cube), self.hits
        return sorted(found, key=lambda number: (number != last, -hits[number], number))

    def _into(self, level: int, cube: Cube, cores: Cores) -> Way | None:
        """A step from a frame into a cube from outside of it; adds to the cores where none is.

        A step of which a literal of the cube is never so afterwards needs no core.
        """
        literals = frozenset(cube)
        for number in self._relevant(cube):
            step, known = self.steps[number], cores.get(number)
            if known is not None and literals.issuperset(known):
                continue
            if not step.never.isdisjoint(literals):
                continue
            self._check()
            step.load(self.log)
            core = step.leads(level, cube)
            if core is None:
                self.hits[number] += 1
                self.culprit[cube] = number
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
        """Literals of a cube that keep out all steps that write in it: their cores, and where any
        of some literals would do, few that do for many steps. Those that few lemmas have come
        first, and are the first that are tried to do without.
        """
        literals, needed, open_ = frozenset(cube), set[int](), []
        for number in self._relevant(cube):
            core = cores.get(number)
            if core is not None and literals.issuperset(core):
                needed.update(core)
            else:
                open_.append(self.steps[number].never & literals)
        while open_ := [choice for choice in open_ if needed.isdisjoint(choice)]:
            count = Counter(literal for choice in open_ for literal in choice)
            needed.add(max(count, key=lambda literal: (count[literal], -abs(literal))))
        if not self._is_apart(needed):
            needed.add(next(literal for literal in cube if literal not in self.starts))
        return tuple(sorted(needed, key=lambda literal: (self.uses[literal], abs(literal))))

    def _add(self, level: int, cube: Cube) -> None:
        literals = frozenset(cube)
        for frame in self.frames[1 : level + 1]:
            for lemma in [lemma for lemma in frame if literals.issubset(lemma)]:
                del frame[lemma]
        self.frames[level][cube] = None
        self.uses.update(cube)
        self.log.append((level, [-literal for literal in cube]))

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
