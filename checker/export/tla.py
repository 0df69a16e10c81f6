"""A relation as a TLA+ module, with the configuration that TLC needs."""

from __future__ import annotations

from rackproof.checker.export.guarded import (
    Command,
    Notation,
    commands,
    identifier,
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
    Op.NOT: "~",
    Op.AND: "/\\",
    Op.OR: "\\/",
}


def tla(relation: Relation, module: str, *, properties: bool = True) -> tuple[str, str]:
    """The module of this name, and the text of its .cfg."""
    return _Tla(relation).texts(module, properties)


class _Tla:
    def __init__(self, relation: Relation) -> None:
        self.relation, self.names = relation, names(relation)
        self.notation = Notation(
            arena=relation.arena,
            symbols=_SYMBOLS,
            variable=self.names.__getitem__,
            as_number=lambda truth: f"(IF {truth} THEN 1 ELSE 0)",
            true="TRUE",
            false="FALSE",
        )

    def texts(self, module: str, properties: bool) -> tuple[str, str]:
        everything = ", ".join(self.names.values())
        initial = self.relation.initial
        starts = [f"{name} = {initial[slot]}" for slot, name in self.names.items()]
        ways = [self.command(command) for command in commands(self.relation)]
        found = invariants(self.relation) if properties else {}
        lines = [
            f"---- MODULE {module} ----",
            "EXTENDS Integers, TLC",
            f"VARIABLES {everything}" if everything else "",
            f"vars == <<{everything}>>",
            f"Init == {_all(starts)}",
            "Next ==",
            *([f"  \\/ {way}" for way in ways] or ["  FALSE"]),
            "Spec == Init /\\ [][Next]_vars",
            *(f"{identifier(n)} == {self.notation.all_of(i)}" for n, i in found.items()),
            "====",
        ]
        config = ["SPECIFICATION Spec", *(f"INVARIANT {identifier(name)}" for name in found)]
        return "\n".join(lines) + "\n", "\n".join([*config, "CHECK_DEADLOCK FALSE"]) + "\n"

    def command(self, command: Command) -> str:
        if command.error:
            message = command.error.replace("\\", "/").replace('"', "'")
            return _all([self.notation.guard(command.guard), f'Assert(FALSE, "{message}")'])
        written = dict(command.writes)
        after = [f"{self.names[slot]}' = {self.notation.number(n)}" for slot, n in written.items()]
        same = [name for slot, name in self.names.items() if slot not in written]
        kept = [f"UNCHANGED <<{', '.join(same)}>>"] if same else []
        return _all([self.notation.guard(command.guard), *after, *kept])


def _all(parts: list[str]) -> str:
    return " /\\ ".join(parts) or "TRUE"
