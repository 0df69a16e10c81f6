"""Where the bits of each variable are in the words of a packed state.

A variable takes as many bits as its range needs. An identifier of a sort that symmetry permutes is
stored one-hot instead, one bit for each identifier it may be and none for no one: permuting
identifiers then merely permutes bits. The bits that lie in the lanes of a bundle make up its
*record*; the records of one class are laid out alike, so that the canonical order of
interchangeable bundles is their records' order as integers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

from rackproof.checker.lowering.relation import Relation, Variable
from rackproof.checker.native.classes import Division, divide, plain_changes
from rackproof.checker.symmetry import Class, Permutation, exchange
from rackproof.model.kernel.domains import Identifier, Identifiers
from rackproof.model.kernel.schema import Lane, Path

WORD: Final = 64


@frozen(order=True)
class Atom:
    """Bits that move together: a whole variable, or the one-hot bit of an identifier."""

    slot: int
    member: int = -1


@frozen
class Place:
    """Adjacent bits of one word."""

    word: int
    shift: int
    width: int

    @property
    def mask(self) -> int:
        """The bits, where they are in the word."""
        return ((1 << self.width) - 1) << self.shift

    def within(self, shift: int, width: int) -> Place:
        """A part of these bits."""
        return Place(self.word, self.shift + shift, width)


@frozen
class Binary:
    """A variable stored as its ordinal less ``low``."""

    low: int
    high: int
    place: Place


@frozen
class OneHot:
    """A variable stored as one bit for each identifier it may be."""

    bits: Mapping[int, Place]
    low: int
    high: int

    def masks(self) -> dict[int, int]:
        """All its bits, by word."""
        found: dict[int, int] = defaultdict(int)
        for place in self.bits.values():
            found[place.word] |= place.mask
        return dict(found)


Stored = Binary | OneHot
Record = tuple[Place, ...]


@frozen
class Move:
    """Bits of one word (mask) that trade places with those ``distance`` lower in the other."""

    word: int
    other: int
    distance: int
    mask: int


Swap = tuple[Move, ...]


@frozen
class Layout:
    """The packing of a relation's states, and what symmetry does to them.

    stored: where each variable is. records: for each class that is sorted, the pieces of each
    bundle's record, the most significant first. swaps: exchanges of adjacent bundles in the classes
    that are enumerated; ``changes`` applies them one after another so as to meet every order once.
    reduced: the classes whose bundles are not all exchanged, as that would need too many orders.
    """

    relation: Relation
    words: int
    bits: int
    stored: Mapping[int, Stored]
    records: tuple[tuple[Record, ...], ...]
    swaps: tuple[Swap, ...]
    changes: tuple[int, ...]
    reduced: tuple[Class, ...]

    @classmethod
    def of(cls, relation: Relation, classes: Sequence[Class] = ()) -> Layout:
        """Lay out the states of a relation for some classes of interchangeable bundles."""
        everything = _Atoms(relation, tuple(classes))
        division = everything.division
        atoms = _Atoms(relation, division.sorted + division.enumerated)
        return _Packing(atoms, division).layout()

    def pack(self, ordinals: Sequence[int] | Mapping[int, int]) -> tuple[int, ...]:
        """The words of a state, from its ordinals by slot."""
        words = [0] * self.words
        for slot, stored in self.stored.items():
            if not stored.low <= ordinals[slot] <= stored.high:
                label = self.relation.system.schema.slots[slot].label
                raise ValueError(f"{label} never is {ordinals[slot]}, so it cannot be packed")
            for place, value in _written(stored, ordinals[slot]):
                words[place.word] |= value << place.shift
        return tuple(words)

    def unpack(self, words: Sequence[int]) -> dict[int, int]:
        """The ordinals of the variables, by slot."""
        return {slot: _read(stored, words) for slot, stored in self.stored.items()}


def _written(stored: Stored, ordinal: int) -> Iterator[tuple[Place, int]]:
    if isinstance(stored, Binary):
        yield stored.place, ordinal - stored.low
    elif ordinal >= 0:
        yield stored.bits[ordinal], 1


def _read(stored: Stored, words: Sequence[int]) -> int:
    if isinstance(stored, Binary):
        return stored.low + ((words[stored.place.word] & stored.place.mask) >> stored.place.shift)
    held = (member for member, place in stored.bits.items() if words[place.word] & place.mask)
    return next(held, -1)


class _Atoms:
    """What there is to lay out, and how permutations move it."""

    def __init__(self, relation: Relation, classes: tuple[Class, ...]) -> None:
        self.relation, self.classes = relation, classes
        self.slots = relation.system.schema.slots
        self.variables = {v.slot: v for v in relation.variables}
        self.by_path: dict[Path, int] = {s.path: i for i, s in enumerate(self.slots)}
        self.home: dict[Lane, tuple[int, int]] = {
            lane: (number, at)
            for number, bundles in enumerate(classes)
            for at, bundle in enumerate(bundles)
            for lane in bundle
        }
        self.sorts = {sort for sort, _ in self.home}

    @cached_property
    def all(self) -> list[Atom]:
        """Every atom, closed under the exchange of bundles."""
        found = {atom for variable in self.relation.variables for atom in self._of(variable)}
        pending = list(found)
        exchanges = [
            exchange(bundles[0], other) for bundles in self.classes for other in bundles[1:]
        ]
        while pending:
            atom = pending.pop()
            images = {self.moved(atom, permutation) for permutation in exchanges} - found
            found |= images
            pending += images
        return sorted(found)

    @property
    def division(self) -> Division:
        """Which classes can be sorted, and which must be enumerated."""
        touched = {frozenset(self.homes(atom)) for atom in self.all}
        return divide(self.classes, touched)

    def sort(self, slot: int) -> Identifiers | None:
        """The sort of a one-hot variable, None for any other."""
        domain = self.slots[slot].domain
        return domain.sort if isinstance(domain, Identifier) and domain.sort in self.sorts else None

    def width(self, atom: Atom) -> int:
        """How many bits an atom takes."""
        if self.sort(atom.slot) is not None:
            return 1
        variable = self.variables[atom.slot]
        return (variable.high - variable.low).bit_length()

    def homes(self, atom: Atom) -> set[tuple[int, int]]:
        """The bundles (class and number) in whose lanes an atom lies."""
        lanes = list(self.slots[atom.slot].lanes)
        if (sort := self.sort(atom.slot)) is not None:
            lanes.append((sort, atom.member))
        return {self.home[lane] for lane in lanes if lane in self.home}

    def moved(self, atom: Atom, permutation: Permutation) -> Atom:
        """Where a permutation of identifiers takes an atom."""
        slot = self.slots[atom.slot]
        lanes = iter(slot.lanes)
        path = tuple(
            permutation.get(lane := next(lanes), lane)[1] if isinstance(part, int) else part
            for part in slot.path
        )
        image = self.by_path[path]
        if image not in self.variables:
            raise ValueError(f"{slot.label} varies, but not what an exchange makes of it")
        if (sort := self.sort(atom.slot)) is None:
            return Atom(image)
        member = (sort, atom.member)
        return Atom(image, permutation.get(member, member)[1])

    def _of(self, variable: Variable) -> list[Atom]:
        if self.sort(variable.slot) is None:
            return [Atom(variable.slot)]
        return [Atom(variable.slot, i) for i in range(max(variable.low, 0), variable.high + 1)]


Piece = tuple[Atom, ...]
"""Atoms that are placed side by side."""


class _Packing:
    """Putting the atoms into words."""

    def __init__(self, atoms: _Atoms, division: Division) -> None:
        self.atoms, self.division = atoms, division
        self.sorted = range(len(division.sorted))
        self.enumerated = range(len(division.sorted), len(atoms.classes))

    def layout(self) -> Layout:
        """Choose the way of cutting records that takes the fewest words, then the fewest pieces."""
        tries = [self._placed(most) for most in (64, 32, 21, 16)]
        words, _, records, at = min(tries, key=lambda t: t[:2])
        pairs = [(number, i) for number in self.enumerated for i in self._adjacent(number)]
        return Layout(
            relation=self.atoms.relation,
            words=words,
            bits=sum(place.width for place in at.values()),
            stored={v.slot: self._stored(v, at) for v in self.atoms.relation.variables},
            records=records,
            swaps=tuple(self._swap(*pair, at) for pair in pairs),
            changes=self._changes(pairs),
            reduced=self.division.reduced,
        )

    def _placed(
        self, most: int
    ) -> tuple[int, int, tuple[tuple[Record, ...], ...], dict[Atom, Place]]:
        cut = [self._records(number, most) for number in self.sorted]
        pieces = [piece for records in cut for record in records for piece in record]
        in_records = {atom for piece in pieces for atom in piece}
        loose = [atom for atom in self.atoms.all if atom not in in_records]
        places = self._filled([*pieces, *self._runs(loose)])
        words = max((place.word for place in places.values()), default=0) + 1
        records = tuple(
            tuple(tuple(places[piece] for piece in record) for record in records) for records in cut
        )
        return words, len(pieces), records, self._atoms_in(places)

    def _records(self, number: int, most: int) -> list[list[Piece]]:
        """The record of each bundle, cut alike into pieces of at most so many bits."""
        bundles = self.atoms.classes[number]
        first = [atom for atom in self.atoms.all if (number, 0) in self.atoms.homes(atom)]
        cut = list(self._cut(first, most))
        records = [cut]
        for bundle in bundles[1:]:
            swap = exchange(bundles[0], bundle)
            records.append([tuple(self.atoms.moved(a, swap) for a in piece) for piece in cut])
        return records

    def _cut(self, atoms: Iterable[Atom], most: int) -> Iterator[Piece]:
        piece: list[Atom] = []
        room = most
        for atom in atoms:
            width = self.atoms.width(atom)
            if width > room and piece:
                yield tuple(piece)
                piece, room = [], most
            piece.append(atom)
            room -= width
        if piece:
            yield tuple(piece)

    def _runs(self, loose: Sequence[Atom]) -> Iterator[Piece]:
        """Keep the bits of a one-hot variable together."""
        by_slot: dict[int, list[Atom]] = defaultdict(list)
        for atom in loose:
            by_slot[atom.slot].append(atom)
        for atoms in by_slot.values():
            yield from self._cut(atoms, WORD)

    def _filled(self, pieces: Sequence[Piece]) -> dict[Piece, Place]:
        """Put each piece into the first word with room, the widest first."""
        widths = {piece: sum(map(self.atoms.width, piece)) for piece in pieces}
        used: list[int] = []
        places = {}
        for piece in sorted(pieces, key=lambda p: -widths[p]):
            width = widths[piece]
            word = next((w for w, bits in enumerate(used) if bits + width <= WORD), len(used))
            if word == len(used):
                used.append(0)
            places[piece] = Place(word, used[word], width)
            used[word] += width
        return places

    def _atoms_in(self, places: Mapping[Piece, Place]) -> dict[Atom, Place]:
        at = {}
        for piece, place in places.items():
            shift = 0
            for atom in piece:
                width = self.atoms.width(atom)
                at[atom] = place.within(shift, width)
                shift += width
        return at

    def _stored(self, variable: Variable, at: Mapping[Atom, Place]) -> Stored:
        if self.atoms.sort(variable.slot) is None:
            return Binary(variable.low, variable.high, at[Atom(variable.slot)])
        bits = {a.member: place for a, place in at.items() if a.slot == variable.slot}
        return OneHot(bits, min(variable.low, *bits), max(bits))

    def _adjacent(self, number: int) -> range:
        return range(len(self.atoms.classes[number]) - 1)

    def _swap(self, number: int, i: int, at: Mapping[Atom, Place]) -> Swap:
        """The exchange of two adjacent bundles of a class, bits of equal distance at a time."""
        bundles = self.atoms.classes[number]
        permutation = exchange(bundles[i], bundles[i + 1])
        masks: dict[tuple[int, int, int], int] = defaultdict(int)
        for atom, place in at.items():
            image = self.atoms.moved(atom, permutation)
            if atom < image:
                target = at[image]
                key = (place.word, target.word, place.shift - target.shift)
                masks[key] |= place.mask
        return tuple(Move(*key, mask) for key, mask in masks.items())

    def _changes(self, pairs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
        """Which swap to apply next, so that every order of the enumerated classes is met once."""
        index = {pair: k for k, pair in enumerate(pairs)}
        sequence: list[int] = []
        for number in self.enumerated:
            inner, sequence = sequence, []
            sequence += inner
            for i in plain_changes(len(self.atoms.classes[number])):
                sequence += [index[number, i], *inner]
        return tuple(sequence)
