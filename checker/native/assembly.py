"""Writing LLVM assembly: functions as text, with the few structured forms that loops need.

Text is much faster to make than objects, and the assembler checks the types. A value is the text of
an operand, ``%12`` or ``-1``; unless told otherwise it is an i64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

Value = str
Label = str


class Code:
    """The body of one function under construction.

    name: the function's. parameters: types, the values are then ``arguments``. result: its type.
    """

    def __init__(
        self, name: str, parameters: Sequence[str], result: str, attributes: str = ""
    ) -> None:
        """Start in the entry block."""
        self.name, self.result, self.attributes = name, result, attributes
        self.arguments = [f"%a{i}" for i in range(len(parameters))]
        self._parameters = parameters
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._open = True

    def text(self) -> str:
        """The function as it is to be assembled."""
        pairs = zip(self._parameters, self.arguments, strict=True)
        parameters = ", ".join(f"{kind} {argument}" for kind, argument in pairs)
        head = f"define {self.result} @{self.name}({parameters}) {self.attributes} {{\nentry:"
        return "\n".join([head, *self._entry, *self._lines, "}\n"])

    # Instructions.

    def emit(self, instruction: str) -> Value:
        """Write an instruction that has a value."""
        self._count += 1
        value = f"%v{self._count}"
        self._lines.append(f"  {value} = {instruction}")
        return value

    def act(self, instruction: str) -> None:
        """Write an instruction that has none."""
        self._lines.append(f"  {instruction}")

    def op(self, name: str, a: Value, b: Value | int, kind: str = "i64") -> Value:
        """An arithmetic or bit operation."""
        return self.emit(f"{name} {kind} {a}, {b}")

    def is_(self, relation: str, a: Value, b: Value | int, kind: str = "i64") -> Value:
        """A comparison: eq, ne, ult, slt, ..."""
        return self.emit(f"icmp {relation} {kind} {a}, {b}")

    def any_of(self, conditions: Sequence[Value]) -> Value:
        """Whether one of the truth values holds."""
        return self._fold("or", conditions, "false")

    def all_of(self, conditions: Sequence[Value]) -> Value:
        """Whether every one of the truth values holds."""
        return self._fold("and", conditions, "true")

    def _fold(self, name: str, conditions: Sequence[Value], empty: str) -> Value:
        result = conditions[0] if conditions else empty
        for condition in conditions[1:]:
            result = self.op(name, result, condition, "i1")
        return result

    def widen(self, value: Value, kind: str = "i1") -> Value:
        """A narrower value as i64, zeros above it."""
        return self.emit(f"zext {kind} {value} to i64")

    def narrow(self, value: Value, kind: str = "i32") -> Value:
        """The low bits of an i64."""
        return self.emit(f"trunc i64 {value} to {kind}")

    def choose(self, condition: Value, yes: Value, no: Value, kind: str = "i64") -> Value:
        """One of two values."""
        return self.emit(f"select i1 {condition}, {kind} {yes}, {kind} {no}")

    def call(self, name: str, result: str, *arguments: str) -> Value:
        """Call a function; each argument is given with its type."""
        text = f"call {result} @{name}({', '.join(arguments)})"
        if result == "void":
            self.act(text)
            return ""
        return self.emit(text)

    # Memory.

    def at(self, base: Value, index: Value | int, kind: str = "i64") -> Value:
        """The address of an element."""
        return self.emit(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def load(self, address: Value, kind: str = "i64") -> Value:
        """The value at an address."""
        return self.emit(f"load {kind}, ptr {address}")

    def store(self, value: Value | int, address: Value, kind: str = "i64") -> None:
        """Put a value at an address."""
        self.act(f"store {kind} {value}, ptr {address}")

    def words(self, address: Value, count: int) -> list[Value]:
        """Adjacent words."""
        return [self.load(self.at(address, i) if i else address) for i in range(count)]

    def put(self, words: Sequence[Value], address: Value) -> None:
        """Store adjacent words."""
        for i, word in enumerate(words):
            self.store(word, self.at(address, i) if i else address)

    def local(self, kind: str = "i64", count: int = 1) -> Value:
        """The address of a variable of the function's own."""
        self._count += 1
        value = f"%l{self._count}"
        self._entry.append(f"  {value} = alloca {kind}, i64 {count}")
        return value

    def variable(self, initial: Value | int, kind: str = "i64") -> Value:
        """A local variable with a first value."""
        address = self.local(kind)
        self.store(initial, address, kind)
        return address

    def increase(self, address: Value, by: Value | int = 1) -> None:
        """Add to a variable."""
        self.store(self.op("add", self.load(address), by), address)

    # Blocks.

    def block(self) -> Label:
        """A new label, to be begun later."""
        self._count += 1
        return f"b{self._count}"

    def begin(self, label: Label) -> None:
        """Go on in another block, which the present one falls into if it is still open."""
        self.jump(label)
        self._lines.append(f"{label}:")
        self._open = True

    def jump(self, label: Label) -> None:
        """Go to a block, unless the present one has ended."""
        if self._open:
            self.act(f"br label %{label}")
            self._open = False

    def branch(self, condition: Value, yes: Label, no: Label) -> None:
        """Go one of two ways."""
        self.act(f"br i1 {condition}, label %{yes}, label %{no}")
        self._open = False

    def switch(self, value: Value, default: Label, cases: Mapping[int, Label]) -> None:
        """Go one of several ways."""
        ways = " ".join(f"i64 {case}, label %{label}" for case, label in cases.items())
        self.act(f"switch i64 {value}, label %{default} [ {ways} ]")
        self._open = False

    def give(self, value: Value | int = "") -> None:
        """Return from the function."""
        self.act(f"ret {self.result} {value}")
        self._open = False

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Do something only where a condition holds."""
        inside, after = self.block(), self.block()
        self.branch(condition, inside, after)
        self.begin(inside)
        yield
        self.begin(after)

    @contextmanager
    def forever(self) -> Iterator[tuple[Label, Label]]:
        """Repeat; jump to the first label to go on with the next round, to the second to end."""
        again, after = self.block(), self.block()
        self.begin(again)
        yield again, after
        self.jump(again)
        self._lines.append(f"{after}:")
        self._open = True

    @contextmanager
    def counting(self, end: Value | int) -> Iterator[Value]:
        """Do something for 0, 1, ... up to ``end``, not included."""
        counter = self.variable(0)
        with self.forever() as (_, after):
            index = self.load(counter)
            inside = self.block()
            self.branch(self.is_("ult", index, end), inside, after)
            self.begin(inside)
            yield index
            self.increase(counter)
