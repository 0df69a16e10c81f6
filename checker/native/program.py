"""The whole native program of one relation and layout, and its compilation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

import llvmlite.binding as llvm
from attrs import evolve, frozen

from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import (
    Action,
    Disabled,
    Predicate,
    Raises,
    Test,
    Tree,
    Update,
    Verdict,
)
from rackproof.checker.native.assembly import Code, Value
from rackproof.checker.native.canonical import canonical_functions
from rackproof.checker.native.layout import Layout
from rackproof.checker.native.loops import DECLARATIONS, loop_functions
from rackproof.checker.native.memory import Own, stride
from rackproof.checker.native.monitors import Monitors, may_raise
from rackproof.checker.native.trees import Item, Writer
from rackproof.checker.native.values import Values
from rackproof.model.kernel import Kind, Scope

MOST_LEAVES: Final = 150
"""Trees are put into one function up to so many leaves: large functions compile slowly."""


DEEPEST: Final = 20_000
"""Nested calls that writing the deepest tree may need: a few for each of its tests."""


@contextmanager
def room_for_deep_trees() -> Iterator[None]:
    """Let Python nest its calls as deeply as trees are."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@frozen
class Local:
    """An action, by its number, that a search takes alone where a condition holds and it is
    possible: no other action is looked at there.
    """

    number: int
    condition: Node


def program(layout: Layout, monitors: Monitors, alone: Sequence[Local] = ()) -> str:
    """The program as LLVM assembly."""
    with room_for_deep_trees():
        return "\n".join(_internal(part) for part in _parts(layout, monitors, alone))


def _parts(layout: Layout, monitors: Monitors, alone: Sequence[Local]) -> Iterator[str]:
    relation = layout.relation
    actions = list(enumerate(relation.actions))
    calm = [a for a in actions if a[1].firing.transition.kind is not Kind.FAULT]
    faults = [a for a in actions if a[1].firing.transition.kind is Kind.FAULT]
    yield DECLARATIONS
    yield from _commits(layout)
    if alone:
        yield from _Moves(layout, monitors, "alone", one=True).functions(_guarded(layout, alone))
    yield from _Moves(layout, monitors, "calm", _Alone.TAKEN if alone else None).functions(calm)
    yield from _Moves(layout, monitors, "faults", _Alone.LEFT if alone else None).functions(faults)
    checked = {Scope.ALWAYS: _hit, Scope.SOMETIMES: _hit, Scope.EVENTUALLY: None}
    yield _Judgement(layout, monitors, "check", checked).function()
    rest = {Scope.AT_REST: _hit, Scope.EVENTUALLY: _hit}
    yield _Judgement(layout, monitors, "rest", rest).function()
    yield _Judgement(layout, monitors, "wait", {Scope.EVENTUALLY: _wait}).function()
    yield from canonical_functions(layout)
    yield from loop_functions(layout)


def _internal(text: str) -> str:
    """Keep a function to the program, unless Python calls it."""
    loops = ("expand_", "trace_", "judge", "rehash", "mark", "trim")
    exported = (*loops, "canonical", "calm(", "faults(")
    name = text.split("@", 1)[1] if text.startswith("define") else ""
    return text if name.startswith(exported) else text.replace("define ", "define internal ", 1)


def _guarded(layout: Layout, alone: Sequence[Local]) -> list[tuple[int, Action]]:
    """The actions that are taken alone, possible only where their conditions hold."""
    actions = layout.relation.actions
    return [
        (item.number, evolve(action, tree=_where(action.tree, item.condition, {})))
        for item in alone
        for action in [actions[item.number]]
    ]


def _where(tree: Tree, condition: Node, done: dict[int, Tree]) -> Tree:
    """A tree that updates only where a condition holds, which is asked last."""
    if id(tree) not in done:
        if isinstance(tree, Test):
            yes, no = (_where(way, condition, done) for way in (tree.yes, tree.no))
            done[id(tree)] = Test(tree.condition, yes, no)
        else:
            is_update = isinstance(tree, Update)
            done[id(tree)] = Test(condition, tree, Disabled()) if is_update else Disabled()
    return done[id(tree)]


class _Alone(Enum):
    """What becomes of a state's successors where an action is taken alone."""

    TAKEN = "there is that one"
    LEFT = "there is none of these"


@frozen
class _Moves:
    """The successors of a state by some actions: ``(own, state, out) -> out``.

    alone: what there is where an action is taken alone; None where none ever is. one: whether to
    end with the first successor.
    """

    layout: Layout
    monitors: Monitors
    name: str
    alone: _Alone | None = None
    one: bool = False

    def functions(self, actions: Sequence[tuple[int, Action]]) -> Iterator[str]:
        """One function for each handful of actions, and one that calls them all."""
        parts = list(self._parts(actions))
        whole = Code(self.name, ["ptr", "ptr", "ptr"], "ptr", "nounwind")
        own, state, out = whole.arguments
        whole.put(whole.words(state, self.layout.words), out)
        if self.alone is not None:
            self._end_alone(whole, *whole.arguments)
        for number, part in enumerate(parts):
            code = Code(f"{self.name}{number}", ["ptr", "ptr", "ptr"], "ptr", "nounwind")
            yield self._function(code, part)
            begin, out = out, whole.call(code.name, "ptr", *_three(own, state, out))
            if self.one:
                _end_at(whole, begin, out, out)
        whole.give(out)
        yield whole.text()

    def _end_alone(self, code: Code, own: Value, state: Value, out: Value) -> None:
        """Where an action is taken alone, look at no other."""
        found = code.call("alone", "ptr", *_three(own, state, out))
        _end_at(code, out, found, found if self.alone is _Alone.TAKEN else out)

    def _parts(self, actions: Sequence[tuple[int, Action]]) -> Iterator[list[tuple[int, Action]]]:
        """Actions that begin with a test on the same variable stay together."""
        code = Code("none", [], "void")
        writer = Writer(code, Values(self.layout, code, []))
        items = {number: Item(action.tree, _nothing) for number, action in actions}
        by_tree = {id(items[number]): (number, action) for number, action in actions}
        part: list[tuple[int, Action]] = []
        leaves = 0
        for group in writer.groups(list(items.values())):
            size = sum(writer.size(item.tree) for item in group)
            if part and leaves + size > MOST_LEAVES:
                yield part
                part, leaves = [], 0
            part += [by_tree[id(item)] for item in group]
            leaves += size
        if part:
            yield part

    def _function(self, code: Code, actions: Sequence[tuple[int, Action]]) -> str:
        _, state, out = code.arguments
        values = Values(self.layout, code, code.words(state, self.layout.words))
        cursor = code.variable(out, "ptr")
        items = [
            Item(action.tree, self._leaf(code, values, number, action, cursor))
            for number, action in actions
        ]
        Writer(code, values).write(items)
        code.give(code.load(cursor, "ptr"))
        return code.text()

    def _leaf(
        self, code: Code, values: Values, number: int, action: Action, cursor: Value
    ) -> Callable[[Tree], None]:
        own, state, _ = code.arguments
        commit = "commit_progress" if action.firing.is_progress else "commit"

        def write(leaf: Tree) -> None:
            if isinstance(leaf, Raises):
                _hit(code, own, self.monitors.raised(action, leaf), state)
            elif isinstance(leaf, Update):
                out = code.load(cursor, "ptr")
                for word, value in values.after(leaf.writes).items():
                    code.store(value, code.at(out, word) if word else out)
                arguments = (f"ptr {own}", f"ptr {state}", f"ptr {out}", f"i64 {number}")
                following = code.call(commit, "ptr", *arguments)
                code.store(following, cursor, "ptr")
                if self.one:
                    _end_at(code, out, following, following)

        return write


def _three(own: Value, state: Value, out: Value) -> tuple[str, str, str]:
    return f"ptr {own}", f"ptr {state}", f"ptr {out}"


def _end_at(code: Code, begin: Value, end: Value, result: Value) -> None:
    """Give a result where something was put between two places."""
    with code.when(code.is_("ne", begin, end, "ptr")):
        code.give(result)


def _commits(layout: Layout) -> Iterator[str]:
    """What follows an update: ``(own, state, out, action) -> out``.

    An entry begins as a copy of the state, of which an update overwrites some words. Where that
    changed anything the entry is kept, and the next one begun.
    """
    for name in ("commit", "commit_progress"):
        code = Code(name, ["ptr", "ptr", "ptr", "i64"], "ptr", "nounwind alwaysinline")
        own, state, out, action = code.arguments
        before, after = code.words(state, layout.words), code.words(out, layout.words)
        pairs = zip(before, after, strict=True)
        changed = code.widen(code.any_of([code.is_("ne", a, b) for a, b in pairs]))
        code.store(action, code.at(out, layout.words))
        if name == "commit_progress":
            progress = code.at(own, Own.PROGRESS)
            code.store(code.op("or", code.load(progress), changed), progress)
        following = code.at(out, code.op("mul", changed, stride(layout.words)))
        code.put(before, following)
        code.give(following)
        yield code.text()


Note = Callable[[Code, Value, int, Value], None]
"""Writes what happens where a property has the value that it is watched for."""


@frozen
class _Judgement:
    """The predicates of some scopes on a state: ``(own, state)``.

    notes: what to do by scope; None: only note where the plain function would raise.
    """

    layout: Layout
    monitors: Monitors
    name: str
    notes: Mapping[Scope, Note | None]

    def function(self) -> str:
        """Ask the properties that are still open."""
        code = Code(self.name, ["ptr", "ptr"], "void", "nounwind")
        own, state = code.arguments
        values = Values(self.layout, code, code.words(state, self.layout.words))
        opened = code.load(code.at(own, Own.OPEN), "ptr")
        for number, predicates in self._asked():
            is_open = code.load(code.at(opened, number, "i8"), "i8")
            with code.when(code.is_("ne", is_open, 0, "i8")), values.scope():
                self._property(code, values, number, predicates)
        code.give()
        return code.text()

    def _asked(self) -> Iterator[tuple[int, list[Predicate]]]:
        for number, predicates in self.monitors.instances():
            scope = predicates[0].property.scope
            if scope in self.notes:
                matters = self.notes[scope] is not None
                asked = predicates if matters else list(filter(may_raise, predicates))
                yield from [(number, asked)] if asked else []

    def _property(
        self, code: Code, values: Values, number: int, predicates: Sequence[Predicate]
    ) -> None:
        own, state = code.arguments
        scope = predicates[0].property.scope
        wanted, note = scope is Scope.SOMETIMES, self.notes[scope]
        arena = self.layout.relation.arena

        def silent(leaf: Tree) -> bool:
            if not isinstance(leaf, Verdict):
                return False
            return note is None or arena.value(leaf.value) == int(not wanted)

        def leaf_of(predicate: Predicate) -> Callable[[Tree], None]:
            def write(leaf: Tree) -> None:
                if isinstance(leaf, Raises):
                    _hit(code, own, self.monitors.raised(predicate, leaf), state)
                elif isinstance(leaf, Verdict) and note is not None:
                    truth = values.truth(leaf.value)
                    noteworthy = truth if wanted else code.op("xor", truth, "true", "i1")
                    with code.when(noteworthy):
                        note(code, own, number, state)

            return write

        Writer(code, values).write([Item(p.tree, leaf_of(p), silent) for p in predicates])


def _hit(code: Code, own: Value, monitor: int, state: Value) -> None:
    code.call("hit", "void", f"ptr {own}", f"i64 {monitor}", f"ptr {state}")


def _wait(code: Code, own: Value, _monitor: int, _state: Value) -> None:
    code.store(1, code.at(own, Own.WAITING))


def _nothing(leaf: Tree) -> None:
    raise AssertionError(leaf)


@frozen
class Compiled:
    """Machine code; it lives as long as this object."""

    engine: Any
    machine: Any

    def address(self, name: str) -> int:
        """Where a function begins."""
        address: int = self.engine.get_function_address(name)
        return address


def compiled(text: str, thorough: bool) -> Compiled:
    """Assemble and compile a program for this machine.

    What is quickly compiled runs a third slower at most: memory is what a search waits for.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=2 if thorough else 0,
    )
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    if thorough:
        _optimise(module, machine)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return Compiled(engine, machine)


def _optimise(module: Any, machine: Any) -> None:
    """Only what pays: the whole pipeline takes far longer than it saves."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.run(module, builder)
