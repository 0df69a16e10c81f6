"""A relation as a Murphi model, for rumur or CMurphi: a rule for each command."""

from __future__ import annotations

from rackproof.checker.export.guarded import (
    Command,
    Notation,
    commands,
    in_order,
    invariants,
    names,
)
from rackproof.checker.lowering.arena import Op
from rackproof.checker.lowering.relation import Relation

_SYMBOLS = {
    Op.ADD: "+",
    Op.SUB: "-",
    Op.MUL: "*",
    Op.EQ: "=",
    Op.LT: "<",
    Op.LE: "<=",
    Op.NOT: "!",
    Op.AND: "&",
    Op.OR: "|",
}


def murphi(relation: Relation, *, properties: bool = True) -> str:
    """The model as Murphi; each ``always`` property becomes an invariant of its name."""
    return _Murphi(relation).text(properties)


class _Murphi:
    def __init__(self, relation: Relation) -> None:
        self.relation, self.names = relation, names(relation)
        self.ranges = {v.slot: f"{v.low}..{v.high}" for v in relation.variables}
        self.notation = Notation(
            relation.arena, _SYMBOLS, self.names.__getitem__, lambda truth: f"({truth} ? 1 : 0)"
        )

    def text(self, properties: bool) -> str:
        lines = ["var"]
        lines += [f"  {name}: {self.ranges[slot]};" for slot, name in self.names.items()]
        lines += ["startstate begin"]
        initial = self.relation.initial
        lines += [f"  {name} := {initial[slot]};" for slot, name in self.names.items()]
        lines += ["endstartstate;"]
        lines += [
            self.rule(number, command) for number, command in enumerate(commands(self.relation))
        ]
        if properties:
            lines += [
                f'invariant "{name}" {self.notation.all_of(instances)};'
                for name, instances in invariants(self.relation).items()
            ]
        return "\n".join(lines) + "\n"

    def rule(self, number: int, command: Command) -> str:
        kept, ordered = in_order(self.relation.arena, command.writes)
        declared = [f"kept_{slot}: {self.ranges[slot]};" for slot, _ in kept]
        number_of = self.notation.number
        steps = [f"kept_{slot} := {number_of(node)};" for slot, node in kept]
        steps += [f"{self.names[slot]} := {number_of(node)};" for slot, node in ordered]
        steps += [f"{self.names[slot]} := kept_{slot};" for slot, _ in kept]
        steps += [f"error {_quoted(command.error)};"] if command.error else []
        variables = f"var {' '.join(declared)} " if declared else ""
        guard = self.notation.guard(command.guard)
        return (
            f'rule "{command.name} {number}" {guard} ==> {variables}begin '
            f"{' '.join(steps)} endrule;"
        )


def _quoted(text: str) -> str:
    """A text as a Murphi string."""
    return '"' + text.replace('"', "'").replace("\\", "/") + '"'
