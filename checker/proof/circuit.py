"""A relation as an and-inverter graph: a bit for each bit of each variable, gates for the trees.

Literals are written as in AIGER: twice a node's number, plus one where it is negated; 0 is false and
1 is true. A variable is the binary number of its ordinal above its lowest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from attrs import frozen

from rackproof.checker.lowering.relation import Action, Relation, Variable
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.terms import Stepped, Terms, Vector, is_truth

Literal = int
FALSE: Literal = 0
TRUE: Literal = 1


class Graph:
    """And-gates over inputs, hashed: the same function of the same literals is the same node."""

    def __init__(self) -> None:
        """Start with the constant, which is node 0."""
        self._operands: list[tuple[Literal, Literal] | None] = [None]
        self._index: dict[tuple[Literal, Literal], Literal] = {}

    def __len__(self) -> int:
        """How many nodes there are; operands come before what uses them."""
        return len(self._operands)

    def input(self) -> Literal:
        """A new node that is computed from nothing."""
        self._operands.append(None)
        return 2 * (len(self._operands) - 1)

    def operands(self, node: int) -> tuple[Literal, Literal] | None:
        """The literals that a gate joins; None for an input and the constant."""
        return self._operands[node]

    def and_(self, a: Literal, b: Literal) -> Literal:
        """The conjunction, simplified by what two levels of gates show."""
        if a > b:
            a, b = b, a
        if a == FALSE or a == b ^ 1:
            return FALSE
        if a in (TRUE, b):
            return b
        known = self._index.get((a, b))
        if known is None:
            known = self._simpler(a, b)
            if known is None:
                self._operands.append((a, b))
                known = 2 * (len(self._operands) - 1)
            self._index[a, b] = known
        return known

    def or_(self, a: Literal, b: Literal) -> Literal:
        """The disjunction."""
        return self.and_(a ^ 1, b ^ 1) ^ 1

    def choose(self, condition: Literal, yes: Literal, no: Literal) -> Literal:
        """One literal where the condition holds, the other where it does not."""
        return self.or_(self.and_(condition, yes), self.and_(condition ^ 1, no))

    def same(self, a: Literal, b: Literal) -> Literal:
        """Whether both have the same value."""
        return self.choose(a, b, b ^ 1)

    def _simpler(self, a: Literal, b: Literal) -> Literal | None:
        """A literal equal to ``a and b``, by the rules of Brummayer and Biere ("Local two-level
        And-Inverter Graph minimization without blowup", 2006).
        """
        for one, other in ((a, b), (b, a)):
            parts = self._operands[one >> 1]
            if parts is None:
                continue
            if one & 1 == 0:
                if other in parts:
                    return one
                if other ^ 1 in parts:
                    return FALSE
            elif other ^ 1 in parts:
                return other
            elif other in parts:
                rest = parts[0] if parts[1] == other else parts[1]
                return self.and_(other, rest ^ 1)
        return self._resolved(a, b)

    def _resolved(self, a: Literal, b: Literal) -> Literal | None:
        """``not (x and y) and not (x and not y)`` is ``not x``; opposites in two gates clash."""
        left, right = self._operands[a >> 1], self._operands[b >> 1]
        if left is None or right is None:
            return None
        clash = any(x ^ 1 in right for x in left)
        if not a & 1 and not b & 1:
            return FALSE if clash else None
        if a & 1 and b & 1 and clash:
            shared = [x for x in left if x in right]
            return shared[0] ^ 1 if shared else None
        if a & 1 and not b & 1 and clash:
            return b
        if b & 1 and not a & 1 and clash:
            return a
        return None

    def cone(self, roots: Iterable[Literal]) -> list[int]:
        """The nodes that some literals are computed from, operands first, without the constant."""
        seen: set[int] = set()
        pending = [literal >> 1 for literal in roots]
        while pending:
            node = pending.pop()
            if node and node not in seen:
                seen.add(node)
                pending += (literal >> 1 for literal in self._operands[node] or ())
        return sorted(seen)


@frozen
class Number:
    """A binary number: the lowest value it can have, and the bits of what it is above that.

    high: the highest value it can have.
    """

    low: int
    high: int
    bits: tuple[Literal, ...]


class Gates:
    """The operations of numbers and truth values, as gates."""

    def __init__(self, graph: Graph) -> None:
        """Take the graph that the gates are made in."""
        self.graph = graph

    def constant(self, value: int) -> Number:
        return Number(value, value, ())

    def add(self, a: Number, b: Number) -> Number:
        low, high = a.low + b.low, a.high + b.high
        width = (high - low).bit_length()
        return Number(low, high, self._sum(_wide(a.bits, width), _wide(b.bits, width), FALSE))

    def sub(self, a: Number, b: Number) -> Number:
        low, high = a.low - b.high, a.high - b.low
        width = (high - low).bit_length()
        span = b.high - b.low
        rest = self._sum(_bits(span, width), _not(_wide(b.bits, width)), TRUE)
        return Number(low, high, self._sum(_wide(a.bits, width), rest, FALSE))

    def mul(self, a: Number, b: Number) -> Number:
        """The sum of what each bit of one number contributes; the offset contributes as well."""
        total = self._scaled(a, b.low)
        for place, bit in enumerate(b.bits):
            scaled = self._scaled(a, 1 << place)
            total = self.add(total, self.choose(bit, scaled, self.constant(0)))
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return self.rebased(total, min(corners), max(corners))

    def eq(self, a: Number, b: Number) -> Literal:
        if a.high < b.low or b.high < a.low:
            return FALSE
        low, high = min(a.low, b.low), max(a.high, b.high)
        one, other = self.rebased(a, low, high).bits, self.rebased(b, low, high).bits
        return self.and_(self.graph.same(x, y) for x, y in zip(one, other, strict=True))

    def lt(self, a: Number, b: Number) -> Literal:
        return self.le(b, a) ^ 1

    def le(self, a: Number, b: Number) -> Literal:
        if a.high <= b.low:
            return TRUE
        if a.low > b.high:
            return FALSE
        low, high = min(a.low, b.low), max(a.high, b.high)
        one, other = self.rebased(a, low, high).bits, self.rebased(b, low, high).bits
        found = TRUE
        for x, y in zip(one, other, strict=True):
            found = self.graph.choose(self.graph.same(x, y), found, y)
        return found

    def truth(self, value: bool) -> Literal:
        return TRUE if value else FALSE

    def not_(self, a: Literal) -> Literal:
        return a ^ 1

    def and_(self, parts: Iterable[Literal]) -> Literal:
        """Sorted and halved, so that the gates are few levels deep and often the same."""
        found = sorted(set(parts))
        while len(found) > 1:
            pairs = zip(found[::2], found[1::2], strict=False)
            rest = found[len(found) & ~1 :]
            found = [*(self.graph.and_(a, b) for a, b in pairs), *rest]
        return found[0] if found else TRUE

    def or_(self, parts: Iterable[Literal]) -> Literal:
        return self.and_(part ^ 1 for part in parts) ^ 1

    def choose(self, condition: Literal, yes: Number, no: Number) -> Number:
        if condition in (TRUE, FALSE):
            return yes if condition else no
        low, high = min(yes.low, no.low), max(yes.high, no.high)
        one, other = self.rebased(yes, low, high).bits, self.rebased(no, low, high).bits
        pairs = zip(one, other, strict=True)
        return Number(low, high, tuple(self.graph.choose(condition, x, y) for x, y in pairs))

    def within(self, a: Number, variable: Variable) -> Literal:
        """Whether a number is one that a variable can have."""
        low, high = self.constant(variable.low), self.constant(variable.high)
        return self.and_([self.le(low, a), self.le(a, high)])

    def rebased(self, a: Number, low: int, high: int) -> Number:
        """The same number over another range, which has to hold its value (modulo a power of 2)."""
        width = (high - low).bit_length()
        if a.low == low:
            return Number(low, high, _wide(a.bits, width))
        offset = _bits((a.low - low) % (1 << width), width)
        return Number(low, high, self._sum(_wide(a.bits, width), offset, FALSE))

    def _scaled(self, a: Number, factor: int) -> Number:
        """A multiple, made of doubled and negated copies."""
        if factor < 0:
            return self.sub(self.constant(0), self._scaled(a, -factor))
        total = self.constant(0)
        for place in range(factor.bit_length()):
            if factor >> place & 1:
                bits = (FALSE,) * place + a.bits
                total = self.add(total, Number(a.low << place, a.high << place, bits))
        return total

    def _sum(
        self, a: Sequence[Literal], b: Sequence[Literal], carry: Literal
    ) -> tuple[Literal, ...]:
        graph, found = self.graph, []
        for x, y in zip(a, b, strict=True):
            odd = graph.same(x, y) ^ 1
            found.append(graph.same(odd, carry) ^ 1)
            carry = graph.choose(odd, carry, x)
        return tuple(found)


def _wide(bits: Sequence[Literal], width: int) -> tuple[Literal, ...]:
    """As many bits, with zeros in front or cut off."""
    return (*bits[:width], *(FALSE for _ in range(width - len(bits))))


def _bits(value: int, width: int) -> tuple[Literal, ...]:
    return tuple(value >> place & 1 for place in range(width))


def _not(bits: Iterable[Literal]) -> tuple[Literal, ...]:
    return tuple(bit ^ 1 for bit in bits)


@frozen
class Code:
    """The bits of a variable: latches ``start`` to ``start + width - 1``, lowest bit first."""

    variable: Variable
    start: int
    width: int

    @property
    def latches(self) -> range:
        """The numbers of its latches."""
        return range(self.start, self.start + self.width)

    def bits(self, ordinal: int) -> tuple[bool, ...]:
        """The bits of a value."""
        return tuple(bool(ordinal - self.variable.low >> i & 1) for i in range(self.width))

    def ordinal(self, bits: Sequence[bool]) -> int:
        """The value of these bits."""
        return self.variable.low + sum(bit << place for place, bit in enumerate(bits))


def codes(relation: Relation) -> tuple[Code, ...]:
    """The code of each variable of a relation, in order."""
    found, start = [], 0
    for variable in relation.variables:
        width = (variable.high - variable.low).bit_length()
        found.append(Code(variable, start, width))
        start += width
    return tuple(found)


def bits(relation: Relation) -> int:
    """How many bits a state has, each variable by itself."""
    return sum(code.width for code in codes(relation))


@frozen
class Move:
    """An action: whether it takes effect, and what each latch that it may write becomes then."""

    action: Action
    enabled: Literal
    after: Mapping[int, Literal]


class Circuit:
    """An obligation as gates.

    latches: the literals of the bits of a state. first: their values at the start. moves: the
    actions that can have an effect. bads: in a bad state, one of these holds; and where an action
    would take a variable out of its range, so that a state that is no code is never come to.
    """

    def __init__(self, obligation: Obligation) -> None:
        """Build it."""
        self.obligation, self.relation = obligation, obligation.relation
        self.graph = Graph()
        self.gates = Gates(self.graph)
        self.codes = codes(self.relation)
        self.latches = tuple(self.graph.input() for code in self.codes for _ in code.latches)
        self.first = tuple(
            bit
            for code in self.codes
            for bit in code.bits(self.relation.initial[code.variable.slot])
        )
        self.terms: Terms[Number, Literal] = Terms(self.relation, self.gates, self._state())
        found = (self._move(action) for action in self.relation.actions)
        self.moves = tuple(move for move in found if move.enabled != FALSE)
        found_bad = [*obligation.bads(self.terms), *map(self._leaves, self.relation.actions)]
        self.bads = tuple(dict.fromkeys(bad for bad in found_bad if bad != FALSE))

    @cached_property
    def excluded(self) -> tuple[tuple[int, ...], ...]:
        """Clauses over latches (numbered from one, negative where negated) that rule out codes of
        no value.
        """
        return tuple(clause for code in self.codes for clause in _excluded(code))

    def _state(self) -> Vector[Number, Literal]:
        numbers, truths = {}, {}
        for code in self.codes:
            variable = code.variable
            own = tuple(self.latches[i] for i in code.latches)
            if is_truth(self.relation, variable.slot):
                truths[variable.slot] = own[0] if own else self.gates.truth(bool(variable.low))
            else:
                numbers[variable.slot] = Number(variable.low, variable.high, own)
        return Vector(numbers, truths)

    def _move(self, action: Action) -> Move:
        stepped = self.terms.action(action)
        after = {
            latch: bit
            for code in self.codes
            for latch, bit in zip(code.latches, self._after(code, stepped), strict=False)
            if bit != self.latches[latch]
        }
        return Move(action, stepped.enabled, after)

    def _after(self, code: Code, stepped: Stepped[Number, Literal]) -> tuple[Literal, ...]:
        """What the bits of a variable become; none where it is not written."""
        slot, low, high = code.variable.slot, code.variable.low, code.variable.high
        if slot in stepped.after.truths:
            return (stepped.after.truths[slot],)
        if slot in stepped.after.numbers:
            return self.gates.rebased(stepped.after.numbers[slot], low, high).bits
        return ()

    def _leaves(self, action: Action) -> Literal:
        """Whether an action takes a variable out of its range, which a proof has to rule out."""
        stepped = self.terms.action(action)
        outside = [
            self.gates.within(stepped.after.numbers[slot], code.variable) ^ 1
            for code in self.codes
            if (slot := code.variable.slot) in stepped.after.numbers
        ]
        return self.gates.and_([stepped.enabled, self.gates.or_(outside)])


def _excluded(code: Code) -> Iterator[tuple[int, ...]]:
    """A number is not above the highest: where all higher ones of that are set, no zero is one."""
    span = code.variable.high - code.variable.low
    ones: list[int] = []
    for place in reversed(range(code.width)):
        latch = code.start + place + 1
        if span >> place & 1:
            ones.append(-latch)
        else:
            yield (*ones, -latch)


@frozen
class Machine:
    """A circuit as one function: the number of an action as inputs, what each latch becomes.

    Where the action is not enabled, or where there is none of this number, nothing changes.
    """

    inputs: tuple[Literal, ...]
    after: tuple[Literal, ...]
    bad: Literal


def machine(circuit: Circuit) -> Machine:
    """Join the moves of a circuit; more gates are made in its graph."""
    gates, graph = circuit.gates, circuit.graph
    width = max(len(circuit.moves) - 1, 0).bit_length()
    inputs = tuple(graph.input() for _ in range(width))
    ways: list[list[tuple[Literal, Literal]]] = [[] for _ in circuit.latches]
    for number, move in enumerate(circuit.moves):
        chosen = [i if number >> place & 1 else i ^ 1 for place, i in enumerate(inputs)]
        taken = gates.and_([gates.and_(chosen), move.enabled])
        for latch, bit in move.after.items():
            ways[latch].append((taken, bit))
    after = []
    for latch, own in zip(circuit.latches, ways, strict=True):
        kept = gates.and_([latch, *(taken ^ 1 for taken, _ in own)])
        after.append(gates.or_([kept, *(graph.and_(taken, bit) for taken, bit in own)]))
    return Machine(inputs, tuple(after), gates.or_(circuit.bads))
