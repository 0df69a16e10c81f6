"""A relation as BTOR2: bit vectors, signed and wide enough for every value on the way.

The format is that of Niemetz, Preiner, Wolf and Biere ("Btor2, BtorMC and Boolector 3.0", 2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.lowering.relation import Test, Tree, Update, Verdict
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.slicing import parts
from rackproof.checker.proof.terms import Stepped, Terms, Vector, is_truth

Line = int


def btor2(obligation: Obligation) -> str:
    """An obligation as BTOR2; where its ``bad`` becomes true, it is violated."""
    return _Writer(obligation).text()


class _Lines:
    """Lines that are the same are written once: the algebra of a text of BTOR2."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []
        self._known: dict[str, Line] = {}
        self.bit = self.line("sort bitvec 1")
        self.number = self.line(f"sort bitvec {width}")

    def line(self, text: str) -> Line:
        """The number of a line, a new one where there is none like it."""
        if text not in self._known:
            self.lines.append(f"{len(self.lines) + 1} {text}")
            self._known[text] = len(self.lines)
        return self._known[text]

    def constant(self, value: int) -> Line:
        return self.line(f"constd {self.number} {value}")

    def add(self, a: Line, b: Line) -> Line:
        return self.line(f"add {self.number} {a} {b}")

    def sub(self, a: Line, b: Line) -> Line:
        return self.line(f"sub {self.number} {a} {b}")

    def mul(self, a: Line, b: Line) -> Line:
        return self.line(f"mul {self.number} {a} {b}")

    def eq(self, a: Line, b: Line) -> Line:
        return self.line(f"eq {self.bit} {a} {b}")

    def lt(self, a: Line, b: Line) -> Line:
        return self.line(f"slt {self.bit} {a} {b}")

    def le(self, a: Line, b: Line) -> Line:
        return self.line(f"slte {self.bit} {a} {b}")

    def truth(self, value: bool) -> Line:
        return self.line(f"{'one' if value else 'zero'} {self.bit}")

    def not_(self, a: Line) -> Line:
        return self.line(f"not {self.bit} {a}")

    def and_(self, parts: Iterable[Line]) -> Line:
        return self._joined("and", parts, self.truth(True))

    def or_(self, parts: Iterable[Line]) -> Line:
        return self._joined("or", parts, self.truth(False))

    def choose(self, condition: Line, yes: Line, no: Line) -> Line:
        return self.line(f"ite {self.number} {condition} {yes} {no}")

    def choose_truth(self, condition: Line, yes: Line, no: Line) -> Line:
        return self.line(f"ite {self.bit} {condition} {yes} {no}")

    def _joined(self, operation: str, parts: Iterable[Line], neutral: Line) -> Line:
        found = neutral
        for part in dict.fromkeys(parts):
            if part != neutral:
                same = found == neutral
                found = part if same else self.line(f"{operation} {self.bit} {found} {part}")
        return found


class _Writer:
    def __init__(self, obligation: Obligation) -> None:
        self.obligation, self.relation = obligation, obligation.relation
        self.lines = _Lines(_width(obligation))
        self.index = max(len(self.relation.actions) - 1, 1).bit_length()

    def text(self) -> str:
        lines = self.lines
        action = lines.line(f"sort bitvec {self.index}")
        chosen = lines.line(f"input {action} action")
        state = self.state()
        terms: Terms[Line, Line] = Terms(self.relation, lines, state)
        numbers, truths = dict(state.numbers), dict(state.truths)
        for number, item in enumerate(self.relation.actions):
            stepped = terms.action(item)
            this = lines.eq(chosen, lines.line(f"constd {action} {number}"))
            self.take(lines.and_([this, stepped.enabled]), stepped, numbers, truths)
        for slot, line in sorted({**numbers, **truths}.items()):
            before = state.truths.get(slot) or state.numbers[slot]
            lines.line(f"next {self.sort(slot)} {before} {line}")
        lines.line(f"bad {self.obligation.bad(terms)} bad")
        return "".join(line + "\n" for line in [*self.comments(), *lines.lines])

    def state(self) -> Vector[Line, Line]:
        """The variables, each with what it begins with."""
        numbers, truths = {}, {}
        slots = self.relation.system.schema.slots
        for variable in self.relation.variables:
            slot, lines = variable.slot, self.lines
            label = "_".join(slots[slot].label.split())
            first = self.relation.initial[slot]
            if is_truth(self.relation, slot):
                value = lines.truth(bool(first))
                line = truths[slot] = lines.line(f"state {self.sort(slot)} {label}")
            else:
                value = lines.constant(first)
                line = numbers[slot] = lines.line(f"state {self.sort(slot)} {label}")
            lines.line(f"init {self.sort(slot)} {line} {value}")
        return Vector(numbers, truths)

    def sort(self, slot: int) -> Line:
        return self.lines.bit if is_truth(self.relation, slot) else self.lines.number

    def take(
        self,
        now: Line,
        stepped: Stepped[Line, Line],
        numbers: dict[int, Line],
        truths: dict[int, Line],
    ) -> None:
        """What an action writes, where it is the one that happens."""
        for slot, line in stepped.after.numbers.items():
            numbers[slot] = self.lines.choose(now, line, numbers[slot])
        for slot, line in stepped.after.truths.items():
            truths[slot] = self.lines.choose_truth(now, line, truths[slot])

    def comments(self) -> Iterator[str]:
        system = self.relation.system
        names = sorted({p.property.name for p in self.obligation.predicates})
        yield f"; {system.name}: bad is where one of these is false: {', '.join(names)}"
        yield "; A step is the action of the number that the input gives; what is not possible"
        yield "; changes nothing."
        for number, item in enumerate(self.relation.actions):
            chosen = item.firing.named(system).values()
            yield f"; action {number}: {' '.join([item.firing.transition.name, *chosen])}"


def _width(obligation: Obligation) -> int:
    """Bits that hold every number that comes up, with its sign."""
    relation = obligation.relation
    arena, ranges = relation.arena, {v.slot: (v.low, v.high) for v in relation.variables}
    trees = [action.tree for action in relation.actions]
    trees += [predicate.tree for predicate in obligation.predicates]
    greatest = max((abs(value) for pair in ranges.values() for value in pair), default=1)
    nodes = {node for tree in trees for part in parts(tree) for node in _nodes_of(part)}
    for node in _below(arena, nodes):
        low, high = arena.range(node, ranges.__getitem__)
        greatest = max(greatest, int(abs(low)), int(abs(high)))
    return greatest.bit_length() + 1


def _nodes_of(tree: Tree) -> Sequence[Node]:
    if isinstance(tree, Test):
        return [tree.condition]
    if isinstance(tree, Verdict):
        return [tree.value]
    return [node for _, node in tree.writes] if isinstance(tree, Update) else []


def _below(arena: Arena, nodes: Iterable[Node]) -> set[Node]:
    """The nodes and all that they are computed from."""
    found, pending = set[Node](), list(nodes)
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            op, operands = arena.part(node)
            pending += operands if op not in (Op.CONST, Op.VAR) else ()
    return found
