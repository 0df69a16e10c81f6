"""The inner loops of the search as code: expanding states, and storing what is new.

The table holds for each stored state its number plus one, in as many bits as numbers need; the
other bits of the 32 hold bits of the state's hash, which spare most visits to states that differ.
Zero is a free place; all ones in the number's bits mark a place whose state is being written. A
thread takes a free place by compare-and-exchange, so that several can insert at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from attrs import frozen

from rackproof.checker.native.assembly import Code, Label, Value
from rackproof.checker.native.canonical import less
from rackproof.checker.native.layout import Layout
from rackproof.checker.native.memory import BATCH, CHUNK, Own, Shared, Status, stride

DECLARATIONS: Final = """
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""
_MIX: Final = (0x9E3779B97F4A7C15 - (1 << 64), 0xD6E8FEB86659FD93 - (1 << 64))


def loop_functions(layout: Layout) -> list[str]:
    """Every function of this file."""
    loops = _Loops(layout.words, bool(layout.records or layout.changes))
    return [
        loops.hit(),
        loops.insert(),
        loops.expand("calm", is_calm=True),
        loops.expand("faults", is_calm=False),
        loops.judge(),
        loops.rehash(),
        loops.trace("calm"),
        loops.trace("faults"),
        loops.find(),
        loops.mark(),
        loops.trim(),
    ]


@frozen
class _Loops:
    words: int
    symmetric: bool

    @property
    def stride(self) -> int:
        return stride(self.words)

    # Pieces.

    def hash(self, code: Code, words: list[Value]) -> Value:
        """Multiply to 128 bits and fold, word by word."""
        result = str(_MIX[0])
        for word in words:
            mixed = code.op("xor", result, word)
            wide = code.emit(f"zext i64 {mixed} to i128")
            product = code.op("mul", wide, _MIX[1] + (1 << 64), "i128")
            upper = code.emit(f"lshr i128 {product}, 64")
            halves = [code.emit(f"trunc i128 {half} to i64") for half in (product, upper)]
            result = code.op("xor", *halves)
        # The low bits, which go into the table, depend on all of the state's too.
        return code.op("xor", result, code.op("lshr", result, 29))

    def state(self, code: Code, shared: Value, number: Value) -> Value:
        """The address of a stored state."""
        base = _pointer(code, shared, Shared.STATES)
        return code.at(base, code.op("mul", number, self.words))

    def place(self, code: Code, shared: Value, hashed: Value) -> Value:
        """The place in the table where the search for a state begins."""
        return code.op("lshr", hashed, _field(code, shared, Shared.SHIFT))

    def prefetch(self, code: Code, address: Value, write: int) -> None:
        code.call("llvm.prefetch.p0", "void", f"ptr {address}", f"i32 {write}", "i32 3", "i32 1")

    @contextmanager
    def taking(self, code: Code, shared: Value, own: Value, end: Label) -> Iterator[Value]:
        """Take the next state's number from this thread's share; ``end`` where none is left."""
        position = code.at(own, Own.POSITION)
        limit = code.at(own, Own.END)
        with code.when(code.is_("uge", code.load(position), code.load(limit))):
            following = code.at(shared, Shared.NEXT)
            first = code.emit(f"atomicrmw add ptr {following}, i64 {CHUNK} monotonic")
            last = _field(code, shared, Shared.END)
            more = code.block()
            code.branch(code.is_("uge", first, last), end, more)
            code.begin(more)
            chunk = code.op("add", first, CHUNK)
            code.store(first, position)
            code.store(code.choose(code.is_("ult", chunk, last), chunk, last), limit)
        number = code.load(position)
        yield number
        code.store(code.op("add", number, 1), position)

    def halt(self, code: Code, shared: Value, full: bool) -> None:
        """Return where the search was told to stop, or (if it matters) the table is full."""
        with code.when(code.is_("ne", _atomic(code, shared, Shared.STOP), 0)):
            code.give(Status.STOPPED.value)
        if full:
            count, limit = _atomic(code, shared, Shared.COUNT), _field(code, shared, Shared.LIMIT)
            with code.when(code.is_("ugt", count, limit)):
                code.give(Status.FULL.value)

    # Functions.

    def hit(self) -> str:
        """Note that a monitor saw what it waits for; the least state is kept."""
        code = Code("hit", ["ptr", "i64", "ptr"], "void", "nounwind noinline")
        own, monitor, state = code.arguments
        flag = code.at(_pointer(code, own, Own.HIT), monitor, "i8")
        best = code.at(_pointer(code, own, Own.BEST), code.op("mul", monitor, self.words))
        words = code.words(state, self.words)
        first = code.is_("eq", code.load(flag, "i8"), 0, "i8")
        lower = less(code, words, code.words(best, self.words))
        with code.when(code.op("or", first, lower, "i1")):
            code.store(1, flag, "i8")
            code.put(words, best)
        code.give()
        return code.text()

    def insert(self) -> str:
        """Store a state unless it is stored already."""
        code = Code("insert", ["ptr", "ptr"], "void", "nounwind")
        shared, entry = code.arguments
        words = code.words(entry, self.words)
        hashed = code.load(code.at(entry, self.words + 1))
        table = _pointer(code, shared, Shared.TABLE)
        indices = code.narrow(_field(code, shared, Shared.INDICES))
        slots = _field(code, shared, Shared.SLOTS)
        tag = self._tag(code, hashed, indices)
        at = code.variable(self.place(code, shared, hashed))
        with code.forever() as (again, done):
            slot = code.load(at)
            address = code.at(table, slot, "i32")
            found = code.emit(f"load atomic i32, ptr {address} acquire, align 4")
            with code.when(code.is_("eq", found, 0, "i32")):
                taken = self._take(code, address, code.op("or", tag, indices, "i32"))
                store = code.block()
                code.branch(taken, store, again)
                code.begin(store)
                self._store(code, shared, words, address, tag)
                code.jump(done)
            with code.when(self._alike(code, found, tag, indices)):
                index = code.op("and", found, indices, "i32")
                written = code.block()
                code.branch(code.is_("eq", index, indices, "i32"), again, written)
                code.begin(written)
                differ = code.block()
                code.branch(self._same(code, shared, words, index), done, differ)
                code.begin(differ)
            code.store(code.op("and", code.op("add", slot, 1), slots), at)
        code.give()
        return code.text()

    def _same(self, code: Code, shared: Value, words: list[Value], index: Value) -> Value:
        """Whether a state is the one that an entry of the table stands for."""
        number = code.op("sub", code.widen(index, "i32"), 1)
        other = code.words(self.state(code, shared, number), self.words)
        return code.all_of([code.is_("eq", a, b) for a, b in zip(words, other, strict=True)])

    def _tag(self, code: Code, hashed: Value, indices: Value) -> Value:
        """The bits of a hash that an entry of the table has room for."""
        return code.op("and", code.narrow(hashed), code.op("xor", indices, -1, "i32"), "i32")

    def _alike(self, code: Code, found: Value, tag: Value, indices: Value) -> Value:
        """Whether an entry carries the same bits of the hash."""
        rest = code.op("and", found, code.op("xor", indices, -1, "i32"), "i32")
        return code.is_("eq", rest, tag, "i32")

    def _take(self, code: Code, address: Value, value: Value) -> Value:
        """Put a value into a free place, unless another thread was faster."""
        pair = code.emit(f"cmpxchg ptr {address}, i32 0, i32 {value} acquire monotonic, align 4")
        return code.emit(f"extractvalue {{ i32, i1 }} {pair}, 1")

    def _store(
        self, code: Code, shared: Value, words: list[Value], address: Value, tag: Value
    ) -> None:
        """Append a state and tell its number."""
        counter = code.at(shared, Shared.COUNT)
        number = code.emit(f"atomicrmw add ptr {counter}, i64 1 monotonic")
        code.put(words, self.state(code, shared, number))
        index = code.narrow(code.op("add", number, 1))
        self._publish(code, address, code.op("or", tag, index, "i32"))

    def _publish(self, code: Code, address: Value, value: Value) -> None:
        code.act(f"store atomic i32 {value}, ptr {address} release, align 4")

    def expand(self, kind: str, is_calm: bool) -> str:
        """Expand this thread's share of a cell, a batch of successors at a time."""
        code = Code(f"expand_{kind}", ["ptr", "ptr"], "i64", "nounwind")
        shared, own = code.arguments
        buffer = _pointer(code, own, Own.BUFFER)
        full = code.at(buffer, BATCH * self.stride)
        cursor = code.local("ptr")
        with code.forever():
            self.halt(code, shared, full=True)
            code.store(buffer, cursor, "ptr")
            with code.forever() as (_, gathered):
                with self.taking(code, shared, own, gathered) as number:
                    state = self.state(code, shared, number)
                    start = code.load(cursor, "ptr")
                    end = self._successors(code, kind, own, state, start, is_calm)
                    code.store(end, cursor, "ptr")
                    self._settle(code, shared, own, start, end)
                enough, more = code.is_("uge", end, full, "ptr"), code.block()
                code.branch(enough, gathered, more)
                code.begin(more)
            end = code.load(cursor, "ptr")
            with code.when(code.is_("eq", end, buffer, "ptr")):
                code.give(Status.DONE.value)
            self._look_up(code, shared, own, buffer, end)
        code.act("unreachable")
        return code.text()

    def _successors(
        self, code: Code, kind: str, own: Value, state: Value, start: Value, is_calm: bool
    ) -> Value:
        if is_calm:
            code.store(0, code.at(own, Own.PROGRESS))
        end = code.call(kind, "ptr", f"ptr {own}", f"ptr {state}", f"ptr {start}")
        if is_calm:
            with code.when(code.is_("eq", _field(code, own, Own.PROGRESS), 0)):
                code.increase(code.at(own, Own.RESTS))
                code.call("rest", "void", f"ptr {own}", f"ptr {state}")
        return end

    @contextmanager
    def _each(self, code: Code, start: Value, end: Value) -> Iterator[Value]:
        """Every entry of the buffer."""
        at = code.variable(start, "ptr")
        with code.forever() as (_, after):
            entry, inside = code.load(at, "ptr"), code.block()
            code.branch(code.is_("eq", entry, end, "ptr"), after, inside)
            code.begin(inside)
            yield entry
            code.store(code.at(entry, self.stride), at, "ptr")

    def _settle(self, code: Code, shared: Value, own: Value, start: Value, end: Value) -> None:
        """Make successors canonical, hash them, and ask for their places in the table."""
        fired = _pointer(code, own, Own.FIRED)
        with self._each(code, start, end) as entry:
            action = code.load(code.at(entry, self.words))
            code.store(1, code.at(fired, action, "i8"), "i8")
            self._locate(code, shared, entry)

    def _locate(self, code: Code, shared: Value, entry: Value) -> None:
        """Make a successor canonical, hash it, and ask for its place in the table."""
        table = _pointer(code, shared, Shared.TABLE)
        if self.symmetric:
            code.call("canonical", "void", f"ptr {entry}")
        hashed = self.hash(code, code.words(entry, self.words))
        code.store(hashed, code.at(entry, self.words + 1))
        self.prefetch(code, code.at(table, self.place(code, shared, hashed), "i32"), write=1)

    def _look_up(self, code: Code, shared: Value, own: Value, start: Value, end: Value) -> None:
        """Ask for the states that the table points to, then insert."""
        table = _pointer(code, shared, Shared.TABLE)
        indices = code.narrow(_field(code, shared, Shared.INDICES))
        transitions = code.at(own, Own.TRANSITIONS)
        with self._each(code, start, end) as entry:
            code.increase(transitions)
            place = self.place(code, shared, code.load(code.at(entry, self.words + 1)))
            found = code.load(code.at(table, place, "i32"), "i32")
            index = code.widen(code.op("and", found, indices, "i32"), "i32")
            self.prefetch(code, self.state(code, shared, code.op("sub", index, 1)), write=0)
        with self._each(code, start, end) as entry:
            code.call("insert", "void", f"ptr {shared}", f"ptr {entry}")

    def judge(self) -> str:
        """Ask the predicates of this thread's share of a cell."""
        code = Code("judge", ["ptr", "ptr"], "i64", "nounwind")
        shared, own = code.arguments
        with code.forever() as (_, done):
            with self.taking(code, shared, own, done) as number:
                state = self.state(code, shared, number)
                code.call("check", "void", f"ptr {own}", f"ptr {state}")
            self.halt(code, shared, full=False)
        code.give(Status.DONE.value)
        return code.text()

    def rehash(self) -> str:
        """Enter this thread's share of the stored states into a new table."""
        code = Code("rehash", ["ptr", "ptr"], "i64", "nounwind")
        shared, own = code.arguments
        table = _pointer(code, shared, Shared.TABLE)
        hashes = _pointer(code, own, Own.BUFFER)
        with code.forever() as (_, done):
            with self.taking(code, shared, own, done) as first:
                last = _field(code, own, Own.END)
                count = code.op("sub", last, first)
                with code.counting(count) as i:
                    state = self.state(code, shared, code.op("add", first, i))
                    hashed = self.hash(code, code.words(state, self.words))
                    code.store(hashed, code.at(hashes, i))
                    place = code.at(table, self.place(code, shared, hashed), "i32")
                    self.prefetch(code, place, write=1)
                with code.counting(count) as i:
                    hashed = code.load(code.at(hashes, i))
                    self._enter(code, shared, hashed, code.op("add", first, i))
            code.store(last, code.at(own, Own.POSITION))
        code.give(Status.DONE.value)
        return code.text()

    def _enter(self, code: Code, shared: Value, hashed: Value, number: Value) -> None:
        """Enter a state that no other equals."""
        table = _pointer(code, shared, Shared.TABLE)
        indices = code.narrow(_field(code, shared, Shared.INDICES))
        index = code.narrow(code.op("add", number, 1))
        value = code.op("or", self._tag(code, hashed, indices), index, "i32")
        at = code.variable(self.place(code, shared, hashed))
        with code.forever() as (_, done):
            slot = code.load(at)
            address = code.at(table, slot, "i32")
            following = code.block()
            code.branch(self._take(code, address, value), done, following)
            code.begin(following)
            slots = _field(code, shared, Shared.SLOTS)
            code.store(code.op("and", code.op("add", slot, 1), slots), at)

    def trace(self, kind: str) -> str:
        """Find the least state of a range that has the target as a successor."""
        code = Code(f"trace_{kind}", ["ptr", "ptr"], "i64", "nounwind")
        shared, own = code.arguments
        buffer, target, witness = (
            _pointer(code, own, field) for field in (Own.BUFFER, Own.TARGET, Own.WITNESS)
        )
        position = code.at(own, Own.POSITION)
        found = code.at(own, Own.FOUND)
        with code.forever() as (again, done):
            number, more = code.load(position), code.block()
            code.branch(code.is_("uge", number, _field(code, own, Own.END)), done, more)
            code.begin(more)
            code.store(code.op("add", number, 1), position)
            state = self.state(code, shared, number)
            words = code.words(state, self.words)
            better = less(code, words, code.words(witness, self.words))
            unseen = code.is_("eq", code.load(found), 0)
            look = code.block()
            code.branch(code.op("or", better, unseen, "i1"), look, again)
            code.begin(look)
            end = code.call(kind, "ptr", f"ptr {own}", f"ptr {state}", f"ptr {buffer}")
            with self._each(code, buffer, end) as entry:
                if self.symmetric:
                    code.call("canonical", "void", f"ptr {entry}")
                ours, theirs = code.words(entry, self.words), code.words(target, self.words)
                pairs = zip(ours, theirs, strict=True)
                with code.when(code.all_of([code.is_("eq", a, b) for a, b in pairs])):
                    code.store(1, found)
                    code.put(words, witness)
        code.give(Status.DONE.value)
        return code.text()

    # Which states can go on for ever without a property becoming true.

    def find(self) -> str:
        """The number of a stored state, counted from one; zero where it is not stored."""
        code = Code("find", ["ptr", "ptr"], "i64", "nounwind")
        shared, entry = code.arguments
        words = code.words(entry, self.words)
        hashed = code.load(code.at(entry, self.words + 1))
        table = _pointer(code, shared, Shared.TABLE)
        indices = code.narrow(_field(code, shared, Shared.INDICES))
        tag = self._tag(code, hashed, indices)
        at = code.variable(self.place(code, shared, hashed))
        with code.forever():
            slot = code.load(at)
            found = code.load(code.at(table, slot, "i32"), "i32")
            with code.when(code.is_("eq", found, 0, "i32")):
                code.give(0)
            with code.when(self._alike(code, found, tag, indices)):
                index = code.op("and", found, indices, "i32")
                with code.when(self._same(code, shared, words, index)):
                    code.give(code.widen(index, "i32"))
            following = code.op("add", slot, 1)
            code.store(code.op("and", following, _field(code, shared, Shared.SLOTS)), at)
        code.act("unreachable")
        return code.text()

    def mark(self) -> str:
        """Let those states live in which an open property is false for some identifiers."""
        code = Code("mark", ["ptr", "ptr"], "i64", "nounwind")
        shared, own = code.arguments
        waiting = code.at(own, Own.WAITING)
        with code.forever() as (_, done):
            with self.taking(code, shared, own, done) as number:
                code.store(0, waiting)
                state = self.state(code, shared, number)
                code.call("wait", "void", f"ptr {own}", f"ptr {state}")
                self._let_live(code, shared, code.op("add", number, 1), code.load(waiting))
            self.halt(code, shared, full=False)
        code.give(Status.DONE.value)
        return code.text()

    def trim(self) -> str:
        """Kill those states all of whose calm successors are dead, the last stored first.

        Whether a thread sees what another has just killed does not matter: the passes are repeated
        until one kills nothing.
        """
        code = Code("trim", ["ptr", "ptr"], "i64", "nounwind")
        shared, own = code.arguments
        with code.forever() as (_, done):
            with self.taking(code, shared, own, done) as turn:
                number = code.op("sub", _field(code, shared, Shared.LAST), turn)
                index = code.op("add", number, 1)
                with code.when(code.is_("ne", self._lives(code, shared, index), 0)):
                    state = self.state(code, shared, number)
                    some = self._some_successor_lives(code, shared, own, state)
                    with code.when(code.is_("eq", some, 0)):
                        self._let_live(code, shared, index, "0")
                        code.increase(code.at(own, Own.KILLED))
            self.halt(code, shared, full=False)
        code.give(Status.DONE.value)
        return code.text()

    def _some_successor_lives(self, code: Code, shared: Value, own: Value, state: Value) -> Value:
        buffer = _pointer(code, own, Own.BUFFER)
        end = code.call("calm", "ptr", f"ptr {own}", f"ptr {state}", f"ptr {buffer}")
        with self._each(code, buffer, end) as entry:
            self._locate(code, shared, entry)
        found = code.variable(0)
        with self._each(code, buffer, end) as entry, code.when(code.is_("eq", code.load(found), 0)):
            index = code.call("find", "i64", f"ptr {shared}", f"ptr {entry}")
            code.store(self._lives(code, shared, index), found)
        return code.load(found)

    def _lives(self, code: Code, shared: Value, index: Value) -> Value:
        """Whether a state, by its number from one on, is alive."""
        flag = code.at(_pointer(code, shared, Shared.ALIVE), index, "i8")
        return code.widen(code.emit(f"load atomic i8, ptr {flag} monotonic, align 1"), "i8")

    def _let_live(self, code: Code, shared: Value, index: Value, value: Value) -> None:
        flag = code.at(_pointer(code, shared, Shared.ALIVE), index, "i8")
        byte = code.narrow(value, "i8")
        code.act(f"store atomic i8 {byte}, ptr {flag} monotonic, align 1")


def _field(code: Code, block: Value, number: int) -> Value:
    return code.load(code.at(block, int(number)))


def _pointer(code: Code, block: Value, number: int) -> Value:
    return code.load(code.at(block, int(number)), "ptr")


def _atomic(code: Code, block: Value, number: int) -> Value:
    address = code.at(block, int(number))
    return code.emit(f"load atomic i64, ptr {address} monotonic, align 8")
