"""Lowering: from a system of plain functions to a ``Relation`` of decision trees.

The values that each slot can take are found on the way: starting from the initial state alone, a
transition is lowered again whenever a slot it consulted gains a value, until nothing grows. A slot
that keeps one value is a constant and vanishes from every tree; a path that needs a value no slot
ever takes is pruned. Afterwards, slots that no guard, no kept update and no property reads are
dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from types import FunctionType
from typing import Any, Final

from attrs import define, field

from rackproof.checker.lowering.arena import Arena, Node, Op, Range
from rackproof.checker.lowering.paths import (
    NOWHERE,
    Fork,
    LoweringError,
    Place,
    Run,
    Trees,
    explore,
    place_of,
)
from rackproof.checker.lowering.relation import (
    Action,
    Disabled,
    Predicate,
    Raises,
    Relation,
    Test,
    Tree,
    Update,
    Variable,
    Verdict,
)
from rackproof.checker.lowering.source import check_source
from rackproof.checker.lowering.symbolic import (
    SYMBOLIC_NAMES,
    Bool,
    Members,
    Symbolic,
    node_for,
    scalar,
)
from rackproof.model.kernel import (
    Fairness,
    Firing,
    Kind,
    ModelError,
    OutOfDomain,
    Property,
    Scope,
    System,
)
from rackproof.model.kernel.schema import (
    FixedShape,
    RecordShape,
    ScalarShape,
    SetShape,
    Shape,
    TupleShape,
    parts,
)


def lower(
    system: System,
    places: bool = False,
    keep: Collection[int] = (),
    among: Collection[Sequence[int]] = (),
) -> Relation:
    """Lower a system; ``LoweringError`` names the file and line of what cannot be lowered.

    places: note at which lines of the model each test is made (which takes longer). keep: slots
    that are left in the state though nothing may read them. among: states, as the ordinals of all
    slots, that the trees are to be right for, instead of all that can be reached.
    """
    lowering = _Lowering(system, places, among)
    check_source(lowering.functions(), lowering.classes())
    actions = lowering.actions()
    predicates = lowering.predicates()
    relation = _Slicing(lowering, actions, predicates, lowering.given(), keep).relation()
    _check_width(relation)
    return relation


def _check_width(relation: Relation) -> None:
    """Refuse arithmetic that may not fit the words that engines compute with."""
    ranges: dict[int, Range] = {
        v.slot: (v.low, v.end) for v in relation.variables if v.end is not None
    }
    trees = [a.tree for a in relation.actions] + [p.tree for p in relation.predicates]
    nodes = {node for tree in trees for node in _nodes(tree)}
    for node in nodes:
        if not relation.arena.slots(node) <= ranges.keys():
            continue
        if not relation.arena.fits(node, ranges.__getitem__, WIDEST):
            labels = [relation.system.schema.slots[s].label for s in relation.arena.slots(node)]
            raise LoweringError(
                f"a computation with {', '.join(sorted(labels))} may exceed 62 bits; count coarser"
            )


def _nodes(tree: Tree) -> Iterator[Node]:
    """The expressions of a tree."""
    for part in _distinct(tree):
        if isinstance(part, Test):
            yield part.condition
        elif isinstance(part, Verdict):
            yield part.value
        elif isinstance(part, Update):
            yield from (node for _, node in part.writes)


WIDEST: Final = 1 << 62
"""Values beyond this are refused."""
ENDLESS: Final = -1
"""The mask of all values from the lowest on."""


@define
class _Lowered:
    """A firing or a property's instance, lowered under the values known at the time."""

    run: Callable[[], Tree]
    tree: Tree = field(factory=Disabled)
    consulted: set[int] = field(factory=set)
    paths: int = 0
    places: dict[Node, set[Place]] = field(factory=dict)


class _Lowering:
    """One model's arena, trees and growing sets of values."""

    def __init__(self, system: System, places: bool, among: Collection[Sequence[int]] = ()) -> None:
        self.system, self.schema, self.places = system, system.schema, places
        self.grows = not among
        self.arena, self.trees = Arena(), Trees()
        self.lows = [slot.domain.low for slot in self.schema.slots]
        self.initial = self.schema.flatten(system.initial)
        slots = zip(self.initial, self.schema.slots, strict=True)
        self.masks = [ENDLESS if s.free else 1 << (v - s.domain.low) for v, s in slots]
        for state in among:
            for slot, ordinal in enumerate(state):
                self.masks[slot] |= 1 << (ordinal - self.lows[slot])
        self._variables = [self.arena.var(slot) for slot in range(len(self.schema.slots))]
        self.run = Run(self.arena, self.lows)
        self._grown = set[int]()
        self.state = self._symbolic()

    def functions(self) -> list[FunctionType]:
        """The functions of every transition and property, premises included."""
        functions: list[object] = [t.function for t in self.system.transitions]
        functions += [p.function for p in _with_premises(self.system.properties)]
        functions.append(self.system.given)
        return [function for function in functions if isinstance(function, FunctionType)]

    def classes(self) -> set[type]:
        """Every state class."""
        found: set[type] = set()

        def visit(shape: Shape) -> None:
            if isinstance(shape, RecordShape):
                found.add(shape.cls)
                for _, inner in shape.fields:
                    visit(inner)
            for element in getattr(shape, "elements", ()):
                visit(element)

        visit(self.schema.shape)
        return found

    def actions(self) -> list[tuple[Firing, _Lowered]]:
        """Lower every firing until no slot gains a value.

        Those with few paths come first: what they add is then there before the costly ones are
        lowered, and lowered again.
        """
        firings = list(self.system.firings())
        items = [_Lowered(self._transition(firing)) for firing in firings]
        pending = items
        while pending:
            cheap = 2 * min(item.paths for item in pending)
            now = [item for item in pending if item.paths <= cheap]
            later = [item for item in pending if item.paths > cheap]
            grown = set().union(*(self._lower(item) for item in now))
            woken = {id(item) for item in items if item.consulted & grown}
            woken |= {id(item) for item in later}
            pending = [item for item in items if id(item) in woken]
        return list(zip(firings, items, strict=True))

    def predicates(self) -> list[tuple[Property, tuple[int, ...], Tree]]:
        """Lower every instance of every property."""
        found = []
        for prop in _with_premises(self.system.properties):
            for arguments in self.system.choices(prop.parameters):
                item = _Lowered(self._predicate(prop, arguments))
                self._lower(item)
                found.append((prop, arguments, item.tree))
        return found

    def given(self) -> tuple[Node, ...]:
        """What initial states have in common, where any is left open, in its parts."""
        given = self.system.given
        if given is None or not any(slot.free for slot in self.schema.slots):
            return ()
        item = _Lowered(self._guarded(lambda: self._verdict(given(self.state)), "given"))
        self._lower(item)
        if _raises(item.tree):
            raise LoweringError(f"{self.system.name}: `given` raises an error for some values")
        return tuple(sorted(self.arena.terms(self._truth(item.tree))))

    def _truth(self, tree: Tree) -> Node:
        """A predicate's tree as one expression."""
        arena = self.arena
        match tree:
            case Test(condition, yes, no):
                one = arena.and_(condition, self._truth(yes))
                other = arena.and_(arena.not_(condition), self._truth(no))
                return arena.or_(one, other)
            case Verdict(value):
                return value
            case _:
                return arena.const(0)

    def _lower(self, item: _Lowered) -> set[int]:
        """Lower an item under the present values; return the slots that gained one."""
        before, consulted = list(self.masks), set[int]()
        self._grown = set[int]()
        item.paths, item.places = 0, {}

        def begin(choices: Sequence[Fork]) -> None:
            item.paths += 1
            self.run.places = item.places if self.places else None
            self.run.begin(before, choices, consulted)

        item.tree = explore(item.run, self.run, begin, self.trees)
        item.consulted = consulted
        return self._grown

    def _symbolic(self) -> Any:
        """A world whose every slot is symbolic."""
        slots = self.schema.slots

        def value(slot: int) -> object:
            return scalar(self.run, self._variables[slot], slots[slot].domain)

        def members(group: tuple[int, ...]) -> object:
            return Members(self.run, tuple(self._variables[slot] for slot in group))

        return self.schema.build(value, members)

    def _transition(self, firing: Firing) -> Callable[[], Tree]:
        function, arguments = firing.transition.function, firing.arguments

        def run() -> Tree:
            return self._after(function(self.state, *arguments))

        return self._guarded(run, firing.transition.where)

    def _predicate(self, prop: Property, arguments: tuple[int, ...]) -> Callable[[], Tree]:
        def run() -> Tree:
            return self._verdict(prop.function(self.state, *arguments))

        return self._guarded(run, prop.where)

    def _guarded(self, run: Callable[[], Tree], where: str) -> Callable[[], Tree]:
        """Turn what the model's own code raises into a leaf."""

        def guarded() -> Tree:
            LoweringError.latest = None
            try:
                tree = run()
            except LoweringError:
                raise
            except SystemExit as error:
                raise LoweringError(f"{place_of(error)}: the model exits Python") from error
            except RecursionError as error:
                raise LoweringError(f"{place_of(error)}: a loop or a call without end") from error
            except Exception as error:
                tree = self.trees.leaf(_raised(error, where))
            if LoweringError.latest is not None:
                raise LoweringError.latest  # the model's own code caught it
            return tree

        return guarded

    def _verdict(self, value: object) -> Tree:
        if isinstance(value, Bool):
            return self.trees.leaf(Verdict(self.run.facts.simplified(value.node)))
        if not isinstance(value, bool):
            raise TypeError(f"a property returns True or False, not {value!r}")
        return self.trees.leaf(Verdict(self.arena.const(int(value))))

    def _after(self, after: Any) -> Tree:
        """The leaf of a path: disabled, or the slots it changes."""
        self.run.places = None  # what is asked from here on is no guard of the model
        if after is None:
            return self.trees.leaf(Disabled())
        if type(after) is not type(self.system.initial):
            raise TypeError(f"a transition returns a world or None, not {after!r}")
        writes = []
        for slot, assigned in self._assigned(self.schema.shape, self.state, after):
            if assigned == self._variables[slot]:
                continue
            if self.schema.slots[slot].rigid:
                raise TypeError(f"a parameter was changed: {self.schema.slots[slot].label}")
            node = self._in_domain(slot, assigned)
            known = self.run.facts.mask(slot)
            value = self.arena.value(node)
            if value is not None and known == 1 << (value - self.lows[slot]):
                continue
            writes.append((slot, node))
        self._grow(writes)
        return self.trees.leaf(Update(tuple(writes)) if writes else Disabled())

    def _assigned(self, shape: Shape, before: Any, after: Any) -> Iterator[tuple[int, Node]]:
        """The slots that are not the very object they were, with their new node."""
        match shape:
            case ScalarShape():
                yield shape.slot, self._node(shape.slot, after)
            case SetShape():
                yield from zip(shape.slots, self._members(shape, after), strict=True)
            case FixedShape():
                if shape.value != after:
                    raise TypeError(f"a constant was changed from {shape.value!r} to {after!r}")
            case RecordShape() | TupleShape():
                for inner, old, new in parts(shape, before, after):
                    if old is not new:
                        yield from self._assigned(inner, old, new)

    def _node(self, slot: int, value: object) -> Node:
        declared = self.schema.slots[slot]
        try:
            node = node_for(self.run, declared.domain, value)
        except ValueError:
            node = None
        if node is None:
            raise OutOfDomain(declared.label, value, declared.domain)
        return node

    def _members(self, shape: SetShape, value: object) -> tuple[Node, ...]:
        if isinstance(value, Members):
            return value.nodes
        if not isinstance(value, frozenset):
            raise TypeError(f"a set of identifiers was replaced by {value!r}")
        plain = {m.plain() if isinstance(m, Symbolic) else m for m in value}
        if any(not isinstance(m, int) or not 0 <= m < len(shape.slots) for m in plain):
            label = self.schema.slots[shape.slots[0]].label if shape.slots else "a set"
            raise OutOfDomain(label, value, f"identifiers below {len(shape.slots)}")
        return tuple(self.arena.const(int(i in plain)) for i in range(len(shape.slots)))

    def _in_domain(self, slot: int, node: Node) -> Node:
        """Fork off the values outside the domain, which raise."""
        declared, arena, run = self.schema.slots[slot], self.arena, self.run
        domain = declared.domain
        node = run.facts.simplified(node)
        low, high = run.facts.range(node)
        end = math.inf if domain.high is None else domain.high
        if domain.low <= low and high <= end:
            return node
        above = domain.high is not None and run.decide(arena.lt(arena.const(domain.high), node))
        if above or run.decide(arena.lt(node, arena.const(domain.low))):
            raise ModelError(f"{declared.label} leaves its domain, {domain}")
        return run.facts.simplified(node)

    def _grow(self, writes: list[tuple[int, Node]]) -> None:
        for slot, node in writes if self.grows else ():
            domain = self.schema.slots[slot].domain
            if domain.high is None:  # one by one they would never be done
                if self.masks[slot] != ENDLESS:
                    self.masks[slot] = ENDLESS
                    self._grown.add(slot)
                continue
            for value in self.run.facts.values(node):
                bit = 1 << (value - domain.low) if domain.low <= value <= domain.high else 0
                if bit & ~self.masks[slot]:
                    self.masks[slot] |= bit
                    self._grown.add(slot)


def _raised(error: Exception, function: str) -> Raises:
    where, text = place_of(error), str(error)
    if where == NOWHERE:
        where = function
    if isinstance(error, TypeError) and any(f"'{name}'" in text for name in SYMBOLIC_NAMES):
        raise LoweringError(
            f"{where}: {text}: this operation has no meaning on a field's value here; "
            "compare fields, or look the value up in a tuple"
        ) from error
    return Raises(f"{type(error).__name__}: {text}", where)


def _with_premises(properties: Sequence[Property]) -> list[Property]:
    found: list[Property] = []
    for prop in properties:
        for item in (prop, prop.premise):
            if item is not None and item not in found:
                found.append(item)
    return found


class _Slicing:
    """Dropping the slots that nothing needs."""

    def __init__(
        self,
        lowering: _Lowering,
        actions: list[tuple[Firing, _Lowered]],
        predicates: list[tuple[Property, tuple[int, ...], Tree]],
        given: tuple[Node, ...],
        keep: Collection[int],
    ) -> None:
        self.given, self.keep = given, keep
        self.lowering, self.arena = lowering, lowering.arena
        self.actions, self.predicates = actions, predicates
        self.varying = {s for s, mask in enumerate(lowering.masks) if mask & (mask - 1)}
        self.scopes = {p.scope for p, _, _ in predicates}

    def relation(self) -> Relation:
        """Assemble the relation over the slots that are needed."""
        lowering = self.lowering
        needed = self._needed()
        kept = sorted(self.varying & needed)
        done: dict[int, Tree] = {}
        actions, never, places = [], [], []
        for firing, item in self.actions:
            sliced = self._sliced(item.tree, needed, done)
            if _updates(sliced) or _raises(sliced):
                actions.append(Action(firing, sliced, self._reads(sliced), _written(sliced)))
                places.append(self._places(item))
            if not _updates(item.tree):
                never.append(firing)
        return Relation(
            system=lowering.system,
            arena=self.arena,
            variables=tuple(self._variable(slot) for slot in kept),
            constants={s: v for s, v in enumerate(lowering.initial) if s not in self.varying},
            unread=tuple(sorted(self.varying - needed)),
            initial=lowering.initial,
            actions=tuple(actions),
            never=tuple(never),
            places=tuple(places),
            given=tuple(node for node in map(self._folded, self.given) if self.arena.slots(node)),
            predicates=tuple(
                self._sliced_predicate(prop, arguments, self._sliced(tree, needed, done))
                for prop, arguments, tree in self.predicates
            ),
        )

    def _places(self, item: _Lowered) -> dict[Node, frozenset[Place]]:
        found: dict[Node, frozenset[Place]] = {}
        for node, lines in item.places.items():
            folded = self._folded(node)
            found[folded] = found.get(folded, frozenset()) | lines
        return found

    def _sliced_predicate(
        self, prop: Property, arguments: tuple[int, ...], tree: Tree
    ) -> Predicate:
        return Predicate(prop, arguments, tree, self._reads(tree))

    def _variable(self, slot: int) -> Variable:
        mask, low = self.lowering.masks[slot], self.lowering.lows[slot]
        end = None if mask < 0 else low + mask.bit_length() - 1
        return Variable(slot, low + (mask & -mask).bit_length() - 1, end)

    def _needed(self) -> set[int]:
        """The slots that tests and properties read, and what updates of those read, to a fixed
        point.
        """
        trees = [item.tree for _, item in self.actions]
        needed: set[int] = set(self.keep)
        for node in self.given:
            needed |= self._parameters(node)
        for _, _, tree in self.predicates:
            needed |= self._reads(tree)
        for tree in trees:
            needed |= self._tested(tree)
        leaves = [leaf for tree in trees for leaf in _leaves(tree) if isinstance(leaf, Update)]
        for firing, item in self.actions:
            needed |= _written(item.tree) if self._is_felt(firing) else set()
        while True:
            more = set[int]()
            for leaf in leaves:
                for slot, node in leaf.writes:
                    if slot in needed:
                        more |= self.arena.slots(node)
            if more <= needed:
                return needed
            needed |= more

    def _parameters(self, node: Node) -> frozenset[int]:
        """The slots of a given that speaks of nothing else than parameters."""
        slots = self.arena.slots(node) & self.varying
        schema = self.lowering.schema
        return slots if all(schema.slots[slot].rigid for slot in slots) else frozenset()

    def _is_felt(self, firing: Firing) -> bool:
        """Whether it matters that a transition changes something, be it read or not.

        A step keeps a state from being at rest. A loop must close in everything that its
        transitions change, and owes them what their fairness promises.
        """
        is_fault = firing.transition.kind is Kind.FAULT
        loops = not is_fault or firing.transition.fairness is not Fairness.NONE
        rests = Scope.AT_REST in self.scopes and firing.is_progress
        return rests or (Scope.EVENTUALLY in self.scopes and loops)

    def _sliced(self, tree: Tree, needed: set[int], done: dict[int, Tree]) -> Tree:
        """The tree without writes to dropped slots, and constants for constant slots."""
        known = done.get(id(tree))
        if known is not None:
            return known
        trees = self.lowering.trees
        result = tree
        match tree:
            case Test(condition, yes, no):
                result = trees.test(
                    self._folded(condition),
                    self._sliced(yes, needed, done),
                    self._sliced(no, needed, done),
                )
            case Update(writes):
                kept = tuple((slot, self._folded(n)) for slot, n in writes if slot in needed)
                result = trees.leaf(Update(kept) if kept else Disabled())
            case Verdict(value):
                result = trees.leaf(Verdict(self._folded(value)))
            case _:
                pass
        done[id(tree)] = result
        return result

    def _folded(self, node: Node) -> Node:
        if self.arena.slots(node) <= self.varying:
            return node
        initial = self.lowering.initial

        def constant(op: Op, operand: int) -> Node | None:
            is_constant = op is Op.VAR and operand not in self.varying
            return self.arena.const(initial[operand]) if is_constant else None

        return self.arena.rename(node, constant)

    def _tested(self, tree: Tree) -> frozenset[int]:
        return frozenset().union(*(self.arena.slots(t.condition) for t in _tests(tree)))

    def _reads(self, tree: Tree) -> frozenset[int]:
        found = set(self._tested(tree))
        for leaf in _leaves(tree):
            if isinstance(leaf, Verdict):
                found |= self.arena.slots(leaf.value)
            elif isinstance(leaf, Update):
                for _, node in leaf.writes:
                    found |= self.arena.slots(node)
        return frozenset(found)


def _distinct(tree: Tree) -> list[Tree]:
    """Every distinct subtree once."""
    seen: dict[int, Tree] = {}
    pending = [tree]
    while pending:
        item = pending.pop()
        if id(item) not in seen:
            seen[id(item)] = item
            if isinstance(item, Test):
                pending += (item.yes, item.no)
    return list(seen.values())


def _tests(tree: Tree) -> list[Test]:
    return [item for item in _distinct(tree) if isinstance(item, Test)]


def _leaves(tree: Tree) -> list[Tree]:
    return [item for item in _distinct(tree) if not isinstance(item, Test)]


def _updates(tree: Tree) -> bool:
    return any(isinstance(leaf, Update) for leaf in _leaves(tree))


def _raises(tree: Tree) -> bool:
    return any(isinstance(leaf, Raises) for leaf in _leaves(tree))


def _written(tree: Tree) -> frozenset[int]:
    return frozenset(
        slot for leaf in _leaves(tree) if isinstance(leaf, Update) for slot, _ in leaf.writes
    )
