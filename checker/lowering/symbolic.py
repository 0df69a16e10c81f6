"""Symbolic field values: what plain functions compute with while they are lowered.

Each behaves as the plain value would. Comparisons give a symbolic truth value; asking for a truth
value, an index or a hash forks the run; what no fork can answer raises ``LoweringError`` and says
how to write it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, NoReturn

from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.paths import LoweringError, Run, here
from rackproof.model.kernel.domains import Enumeration, Identifier, Interval, Scalar, Truth


def refuse(what: str, instead: str) -> NoReturn:
    """Raise the error for Python that has no symbolic meaning."""
    raise LoweringError(f"{here()}: {what}; {instead}")


class Symbolic(ABC):
    """A scalar value: a node of the arena on the run that computes it."""

    __slots__ = ("node", "run")

    def __init__(self, run: Run, node: Node) -> None:
        """Wrap a node."""
        self.run, self.node = run, node

    @abstractmethod
    def plain(self) -> Any:
        """The plain value on this run, forking over those it can have."""

    @abstractmethod
    def operand(self, other: object) -> Node | None:
        """The node of a value this one can be compared with, None where they are never equal."""

    def __eq__(self, other: object) -> Any:
        node = self.operand(other)
        return False if node is None else Bool(self.run, self.run.arena.eq(self.node, node))

    def __ne__(self, other: object) -> Any:
        node = self.operand(other)
        if node is None:
            return True
        arena = self.run.arena
        return Bool(self.run, arena.not_(arena.eq(self.node, node)))

    def __hash__(self) -> int:
        return hash(self.plain())

    def __float__(self) -> float:
        refuse("a field is made a float", "states hold integers; costs belong to the cost model")

    def __str__(self) -> str:
        return refuse("a field is made text", "states hold values; a docstring tells them")

    def __format__(self, _spec: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.node}>"


class Number(Symbolic):
    """Arithmetic and order, shared by integers, truth values and ordered identifiers."""

    __slots__ = ()

    def plain(self) -> int:
        return self.run.choose(self.node)

    def operand(self, other: object) -> Node | None:
        if isinstance(other, Number):
            return other.node
        if isinstance(other, Id):
            return other.node if other.known() else None
        return self.run.arena.const(int(other)) if isinstance(other, int) else None

    def _number(self, other: object, what: str) -> Node:
        if isinstance(other, Id):
            return other.ordered(what)
        if isinstance(other, float):
            refuse(f"{what} with a float", "states hold integers")
        node = self.operand(other)
        if node is None:
            raise TypeError(f"{what} with {other!r}")
        return node

    def __lt__(self, other: object) -> Any:
        return Bool(self.run, self.run.arena.lt(self.node, self._number(other, "<")))

    def __le__(self, other: object) -> Any:
        return Bool(self.run, self.run.arena.le(self.node, self._number(other, "<=")))

    def __gt__(self, other: object) -> Any:
        return Bool(self.run, self.run.arena.lt(self._number(other, ">"), self.node))

    def __ge__(self, other: object) -> Any:
        return Bool(self.run, self.run.arena.le(self._number(other, ">="), self.node))

    def __add__(self, other: object) -> Any:
        return Int(self.run, self.run.arena.add(self.node, self._number(other, "+")))

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        return Int(self.run, self.run.arena.sub(self.node, self._number(other, "-")))

    def __rsub__(self, other: object) -> Any:
        return Int(self.run, self.run.arena.sub(self._number(other, "-"), self.node))

    def __mul__(self, other: object) -> Any:
        return Int(self.run, self.run.arena.mul(self.node, self._number(other, "*")))

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return Int(self.run, self.run.arena.sub(self.run.arena.const(0), self.node))

    def __floordiv__(self, other: Any) -> int:
        return self.plain() // int(other)

    def __rfloordiv__(self, other: Any) -> int:
        return int(other) // self.plain()

    def __mod__(self, other: Any) -> int:
        return self.plain() % int(other)

    def __rmod__(self, other: Any) -> int:
        return int(other) % self.plain()

    def __truediv__(self, _other: object) -> NoReturn:
        refuse("/ makes a float", "write // for whole numbers")

    __rtruediv__ = __truediv__

    def __abs__(self) -> int:
        return abs(self.plain())

    def __index__(self) -> int:
        return int(self.plain())

    __int__ = __index__


class Int(Number):
    """A bounded integer."""

    __slots__ = ()

    def __bool__(self) -> bool:
        arena = self.run.arena
        return self.run.decide(arena.not_(arena.eq(self.node, arena.const(0))))


class Bool(Number):
    """A truth value."""

    __slots__ = ()

    def plain(self) -> bool:
        return self.run.decide(self.node)

    __bool__ = plain

    __hash__ = Symbolic.__hash__

    def _truth(self, other: object) -> Node | None:
        if isinstance(other, Bool):
            return other.node
        return self.run.arena.const(int(other)) if isinstance(other, bool) else None

    def __and__(self, other: object) -> Any:
        node = self._truth(other)
        if node is None:
            return NotImplemented
        return Bool(self.run, self.run.arena.and_(self.node, node))

    __rand__ = __and__

    def __or__(self, other: object) -> Any:
        node = self._truth(other)
        if node is None:
            return NotImplemented
        return Bool(self.run, self.run.arena.or_(self.node, node))

    __ror__ = __or__

    def __xor__(self, other: object) -> Any:
        return self != other

    __rxor__ = __xor__

    def __invert__(self) -> NoReturn:
        refuse("~ on a truth value", "write `not`")


class Member(Symbolic):
    """A member of an enum; its attributes and methods are those of the member it is on the run."""

    __slots__ = ("domain",)

    def __init__(self, run: Run, node: Node, domain: Enumeration) -> None:
        """Wrap a node that holds a position in the enum."""
        super().__init__(run, node)
        self.domain = domain

    def plain(self) -> Enum:
        return self.domain.decode(self.run.choose(self.node))

    def operand(self, other: object) -> Node | None:
        if isinstance(other, Member):
            return other.node if other.domain == self.domain else None
        if isinstance(other, self.domain.enum):
            return self.run.arena.const(self.domain.encode(other))
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain(), name)


class Id(Symbolic):
    """An identifier, or none."""

    __slots__ = ("domain",)

    def __init__(self, run: Run, node: Node, domain: Identifier) -> None:
        """Wrap a node that holds an identifier, -1 for none."""
        super().__init__(run, node)
        self.domain = domain

    def known(self) -> bool:
        """Whether it is not none."""
        arena = self.run.arena
        return not self.run.decide(arena.eq(self.node, arena.const(-1)))

    def plain(self) -> int | None:
        value = self.run.choose(self.node)
        return None if value < 0 else value

    def operand(self, other: object) -> Node | None:
        if isinstance(other, Id):
            return other.node
        if isinstance(other, Number):
            return other.node if self.known() else None
        if other is None:
            return self.run.arena.const(-1)
        if isinstance(other, int) and not isinstance(other, bool) and other >= 0:
            return self.run.arena.const(other)
        return None

    def ordered(self, what: str) -> Node:
        """The node as a number, where the sort has an order."""
        if not self.domain.sort.ordered:
            sort = self.domain.sort
            refuse(
                f"{what} on a {sort}",
                f"{sort}s are interchangeable names; compare them with == only, or declare it "
                "ordered=True",
            )
        if not self.known():
            raise TypeError(f"{what} on None")
        return self.node

    def _number(self, what: str) -> Int:
        return Int(self.run, self.ordered(what))

    def __lt__(self, other: object) -> Any:
        return self._number("<") < other

    def __le__(self, other: object) -> Any:
        return self._number("<=") <= other

    def __gt__(self, other: object) -> Any:
        return self._number(">") > other

    def __ge__(self, other: object) -> Any:
        return self._number(">=") >= other

    def __add__(self, other: object) -> Any:
        return self._number("+") + other

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        return self._number("-") - other

    def __bool__(self) -> bool:
        return refuse(
            "an identifier is taken for a truth value", "identifier 0 is false: write `!= None`"
        )

    def __index__(self) -> int:
        value = self.plain()
        if value is None:
            raise TypeError("an index that is None")
        return value


class Members:
    """A set of identifiers: one truth value a member."""

    __slots__ = ("nodes", "run")

    def __init__(self, run: Run, nodes: tuple[Node, ...]) -> None:
        """Wrap one node per identifier."""
        self.run, self.nodes = run, nodes

    def _others(self, other: object, lenient: bool = False) -> tuple[Node, ...] | None:
        if isinstance(other, Members):
            return other.nodes
        if not isinstance(other, frozenset | set):
            return None
        plain = {m.plain() if isinstance(m, Symbolic) else m for m in other}
        arena = self.run.arena
        strange = any(not isinstance(m, int) or not 0 <= m < len(self.nodes) for m in plain)
        if strange and not lenient:
            raise TypeError(
                f"a set of identifiers below {len(self.nodes)} is combined with {other!r}"
            )
        return tuple(arena.const(int(i in plain)) for i in range(len(self.nodes)))

    def _combine(self, other: object, reflected: bool, op: str) -> Any:
        nodes = self._others(other, lenient=op in "&-" and not (op == "-" and reflected))
        if nodes is None:
            return NotImplemented
        left, right = (nodes, self.nodes) if reflected else (self.nodes, nodes)
        arena = self.run.arena
        makers: dict[str, Callable[[Node, Node], Node]] = {
            "|": arena.or_,
            "&": arena.and_,
            "-": lambda a, b: arena.and_(a, arena.not_(b)),
            "^": lambda a, b: arena.not_(arena.eq(a, b)),
        }
        make = makers[op]
        return Members(self.run, tuple(make(a, b) for a, b in zip(left, right, strict=True)))

    def __or__(self, other: object) -> Any:
        return self._combine(other, False, "|")

    def __and__(self, other: object) -> Any:
        return self._combine(other, False, "&")

    def __sub__(self, other: object) -> Any:
        return self._combine(other, False, "-")

    def __rsub__(self, other: object) -> Any:
        return self._combine(other, True, "-")

    def __xor__(self, other: object) -> Any:
        return self._combine(other, False, "^")

    __ror__, __rand__, __rxor__ = __or__, __and__, __xor__
    union, intersection, difference, symmetric_difference = __or__, __and__, __sub__, __xor__

    def _truth(self, node: Node) -> bool:
        return self.run.decide(node)

    def _every(self, other: object, relation: str) -> Any:
        nodes = self._others(other)
        if nodes is None:
            return NotImplemented
        arena, result = self.run.arena, self.run.arena.const(1)
        compare: Callable[[Node, Node], Node] = arena.eq if relation == "==" else arena.le
        pairs = zip(self.nodes, nodes, strict=True)
        for a, b in pairs:
            result = arena.and_(result, compare(b, a) if relation == ">=" else compare(a, b))
        return Bool(self.run, result)

    def __eq__(self, other: object) -> Any:
        return self._every(other, "==")

    def __ne__(self, other: object) -> Any:
        same = self._every(other, "==")
        return NotImplemented if same is NotImplemented else not same

    def __le__(self, other: object) -> Any:
        return self._every(other, "<=")

    def __ge__(self, other: object) -> Any:
        return self._every(other, ">=")

    def __lt__(self, other: object) -> Any:
        return bool(self <= other) and bool(self != other)

    def __gt__(self, other: object) -> Any:
        return bool(self >= other) and bool(self != other)

    issubset, issuperset = __le__, __ge__

    def isdisjoint(self, other: object) -> bool:
        """Whether the sets share no member."""
        return not (self & other)

    def __contains__(self, member: object) -> bool:
        if isinstance(member, Symbolic):
            member = member.plain()
        if not isinstance(member, int) or not 0 <= member < len(self.nodes):
            return False
        return self._truth(self.nodes[member])

    def __iter__(self) -> Iterator[int]:
        return (i for i, node in enumerate(self.nodes) if self._truth(node))

    def __len__(self) -> int:
        return self.run.choose(self.run.arena.total(self.nodes))

    def __bool__(self) -> bool:
        result = self.run.arena.const(0)
        for node in self.nodes:
            result = self.run.arena.or_(result, node)
        return self._truth(result)

    def __hash__(self) -> int:
        return hash(frozenset(self))


SYMBOLIC_NAMES = ("Int", "Bool", "Member", "Id", "Members")
"""How Python's own messages name these classes."""


def scalar(run: Run, node: Node, domain: Scalar) -> Symbolic:
    """The symbolic value of a slot."""
    match domain:
        case Interval():
            return Int(run, node)
        case Truth():
            return Bool(run, node)
        case Enumeration():
            return Member(run, node, domain)
        case Identifier():
            return Id(run, node, domain)


def node_for(run: Run, domain: Scalar, value: object) -> Node | None:
    """The node of a value that is given to a slot; None where it is not of the slot's kind."""
    if not isinstance(value, Symbolic):
        return run.arena.const(domain.encode(value))
    match domain, value:
        case (Interval(), Int()) | (Truth(), Bool()):
            return value.node
        case Enumeration(), Member():
            return value.node if value.domain == domain else None
        case Identifier(), Id():
            return value.node
        case Interval(), Id():
            return value.node if value.known() else None
        case Identifier(), Int():
            return value.node if bool(value >= 0) else None
    return None
