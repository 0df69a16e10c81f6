"""A relation as a SPIN model: one process that takes any command whose guard holds."""

from __future__ import annotations

from rackproof.checker.export.guarded import (
    Command,
    Notation,
    commands,
    identifier,
    in_order,
    invariants,
    names,
)
from rackproof.checker.lowering.arena import Op
from rackproof.checker.lowering.relation import Relation, Variable

_SYMBOLS = {
    Op.ADD: "+",
    Op.SUB: "-",
    Op.MUL: "*",
    Op.EQ: "==",
    Op.LT: "<",
    Op.LE: "<=",
    Op.NOT: "!",
    Op.AND: "&&",
    Op.OR: "||",
}


def promela(relation: Relation, *, properties: bool = True) -> str:
    """The model as Promela; each ``always`` property becomes an LTL formula of its name."""
    return _Promela(relation).text(properties)


class _Promela:
    def __init__(self, relation: Relation) -> None:
        self.relation, self.names = relation, names(relation)
        self.lows = {v.slot: v.low for v in relation.variables}
        self.notation = Notation(relation.arena, _SYMBOLS, self.variable, lambda truth: truth)

    def text(self, properties: bool) -> str:
        found = list(commands(self.relation))
        kept = max((len(in_order(self.relation.arena, c.writes)[0]) for c in found), default=0)
        lines = [self.declared(variable) for variable in self.relation.variables]
        lines += [f"hidden int kept_{i};" for i in range(kept)]
        lines += ["active proctype world() {", "end:", "  do"]
        lines += [self.command(command) for command in found]
        lines += ["  od", "}"] if found else ["  :: false", "  od", "}"]
        if properties:
            lines += self.properties()
        return "\n".join(lines) + "\n"

    def declared(self, variable: Variable) -> str:
        """Ordinals are stored less the lowest one, so that they fit into a byte."""
        size = variable.high - variable.low
        kind = "bit" if size == 1 else "byte" if size < 256 else "int"
        initial = self.relation.initial[variable.slot] - variable.low
        return f"{kind} {self.names[variable.slot]} = {initial};"

    def variable(self, slot: int) -> str:
        name, low = self.names[slot], self.lows[slot]
        return name if low == 0 else f"({name} + {low})" if low > 0 else f"({name} - {-low})"

    def command(self, command: Command) -> str:
        kept, ordered = in_order(self.relation.arena, command.writes)
        steps = [f"kept_{i} = {self.value(*write)}" for i, write in enumerate(kept)]
        steps += [f"{self.names[slot]} = {self.value(slot, node)}" for slot, node in ordered]
        steps += [f"{self.names[slot]} = kept_{i}" for i, (slot, _) in enumerate(kept)]
        steps += ["assert(false)"] if command.error else []
        guard = self.notation.guard(command.guard)
        return f"  :: d_step {{ ({guard}) -> {'; '.join(steps)} }} /* {command.name} */"

    def value(self, slot: int, node: int) -> str:
        constant, low = self.relation.arena.value(node), self.lows[slot]
        if constant is not None:
            return str(constant - low)
        number = self.notation.number(node)
        return number if low == 0 else f"{number} - ({low})"

    def properties(self) -> list[str]:
        return [
            f"ltl {identifier(name)} {{ [] ({self.notation.all_of(instances)}) }}"
            for name, instances in invariants(self.relation).items()
        ]
