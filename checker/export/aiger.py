"""A circuit as AIGER: latches are the bits of the fields, inputs say which action is to happen.

The format is that of Biere, Heljanko and Wieringa ("AIGER 1.9 and beyond", 2011). What is bad is an
output, so that readers of the first version of the format find it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rackproof.checker.proof.circuit import Circuit, Literal, Machine, machine
from rackproof.checker.proof.obligations import Obligation


def aiger(obligation: Obligation) -> str:
    """An obligation as AIGER in ASCII (.aag); where its output becomes true, it is violated."""
    circuit = Circuit(obligation)
    return _Writer(circuit, machine(circuit), zeroed=False).ascii()


def aiger_binary(obligation: Obligation) -> bytes:
    """The same in the binary form (.aig)."""
    circuit = Circuit(obligation)
    return binary(circuit, machine(circuit))


def binary(circuit: Circuit, made: Machine, *, zeroed: bool = False) -> bytes:
    """A circuit in the binary form; zeroed: bits that are set at first are negated, so that all
    begin with zero.
    """
    return _Writer(circuit, made, zeroed).binary()


class _Writer:
    """Nodes under new numbers: inputs, then latches, then the gates that are needed."""

    def __init__(self, circuit: Circuit, made: Machine, zeroed: bool) -> None:
        self.circuit, self.made, self.zeroed = circuit, made, zeroed
        self.graph = circuit.graph
        leaves = [*made.inputs, *circuit.latches]
        roots = [*made.after, made.bad]
        self.gates = [n for n in self.graph.cone(roots) if self.graph.operands(n)]
        order = [*(leaf >> 1 for leaf in leaves), *self.gates]
        self.places = {0: 0, **{node: 2 * i for i, node in enumerate(order, 1)}}
        self.turned = set[int]()
        if zeroed:
            pairs = zip(circuit.latches, circuit.first, strict=True)
            self.turned = {latch >> 1 for latch, first in pairs if first}

    def ascii(self) -> str:
        """Every node with its number."""
        inputs = map(self.literal, self.made.inputs)
        latches = zip(map(self.literal, self.circuit.latches), self.latches(), strict=True)
        numbered = [f"{number ^ number & 1} {line}" for number, line in latches]
        gates = (" ".join(map(str, gate)) for gate in self.ands())
        output = self.literal(self.made.bad)
        return _lines([self.header("aag"), *inputs, *numbered, output, *gates, *self.symbols()])

    def binary(self) -> bytes:
        """Numbers where they do not follow from the order; gates as differences."""
        head = _lines([self.header("aig"), *self.latches(), self.literal(self.made.bad)])
        gates = b"".join(_packed(g - a) + _packed(a - b) for g, a, b in self.ands())
        return head.encode() + gates + _lines(self.symbols()).encode()

    def header(self, kind: str) -> str:
        inputs, latches = len(self.made.inputs), len(self.circuit.latches)
        gates = len(self.gates)
        return f"{kind} {inputs + latches + gates} {inputs} {latches} 1 {gates}"

    def latches(self) -> Iterator[str]:
        """What each becomes, and where it does not begin with zero."""
        rows = zip(self.circuit.latches, self.made.after, self.circuit.first, strict=True)
        for latch, after, first in rows:
            turned = latch >> 1 in self.turned
            yield f"{self.literal(after) ^ turned}{' 1' if first and not turned else ''}"

    def ands(self) -> Iterator[tuple[int, int, int]]:
        """Every gate with its operands, the greater one first."""
        for node in self.gates:
            a, b = (self.literal(operand) for operand in self.graph.operands(node) or ())
            yield self.places[node], max(a, b), min(a, b)

    def literal(self, literal: Literal) -> int:
        node = literal >> 1
        return self.places[node] ^ literal & 1 ^ (node in self.turned)

    def symbols(self) -> Iterator[str]:
        """Names of inputs and latches, and what they mean; numbers alone for what is zeroed."""
        if self.zeroed:
            yield from (f"l{latch} l{latch}" for latch in range(len(self.circuit.latches)))
            return
        for number in range(len(self.made.inputs)):
            yield f"i{number} action[{number}]"
        slots = self.circuit.relation.system.schema.slots
        for code in self.circuit.codes:
            label = "_".join(slots[code.variable.slot].label.split())
            for place, latch in enumerate(code.latches):
                yield f"l{latch} {label}{f'[{place}]' if code.width > 1 else ''}"
        yield "o0 bad"
        yield "c"
        yield f"{self.circuit.relation.system.name}: a step is the action of the number that the"
        yield "inputs give, lowest bit first; what is not possible changes nothing. A field is the"
        yield "number of its value above the lowest one, lowest bit first."
        names = sorted({p.property.name for p in self.circuit.obligation.predicates})
        yield f"The output is true where one of these is false: {', '.join(names)}"
        for number, move in enumerate(self.circuit.moves):
            firing = move.action.firing
            chosen = firing.named(self.circuit.relation.system).values()
            yield f"action {number}: {' '.join([firing.transition.name, *chosen])}"


def _lines(lines: Iterable[object]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _packed(number: int) -> bytes:
    """Seven bits a byte, the lowest first, the highest bit set where more follow."""
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
