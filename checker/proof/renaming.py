"""What exchanging identifiers that are alike does to the features of states, and to clauses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from attrs import frozen

from rackproof.checker.lowering.arena import Op
from rackproof.checker.lowering.relation import Relation
from rackproof.checker.native.columns import Column
from rackproof.checker.proof.vocabulary import Feature
from rackproof.checker.symmetry import Class, exchange
from rackproof.model.kernel.domains import Identifier
from rackproof.model.kernel.schema import Lane

MOST: Final = 24
"""Permutations that are followed; of more, some."""

Permutation = Mapping[Lane, Lane]


@frozen
class Renaming:
    """Where each feature goes (its number), and what becomes of each of its values."""

    targets: tuple[int, ...]
    values: tuple[Mapping[int, int], ...]

    def of(self, columns: Sequence[Column]) -> list[Column]:
        """The features of the permuted states."""
        found: list[Column] = list(columns)
        for column, target, values in zip(columns, self.targets, self.values, strict=True):
            least = min(values)
            table = np.array([values[v] for v in sorted(values)], dtype=np.int8)
            found[target] = table[column - least]
        return found

    def slot(self, features: Sequence[Feature], slot: int) -> int:
        """Where a field without bound goes."""
        return features[self.targets[_alone(features, slot)]].left


def _alone(features: Sequence[Feature], slot: int) -> int:
    """The last of the features that compare a field: with a constant, as those come last."""
    return max(n for n, f in enumerate(features) if f.left == slot and f.right is not None)


def unchanged(features: Sequence[Feature]) -> Renaming:
    """The one that changes nothing."""
    values = tuple({v: v for v in feature.values} for feature in features)
    return Renaming(tuple(range(len(features))), values)


def renamings(
    relation: Relation, features: Sequence[Feature], classes: Sequence[Class]
) -> list[Renaming]:
    """All that exchanges within these classes come to, but for the one that changes nothing."""
    return [_renaming(relation, features, p) for p in itertools.islice(_group(classes), 1, MOST)]


def _group(classes: Sequence[Class]) -> Iterator[Permutation]:
    """Every permutation that exchanges generate, the one that changes nothing first."""
    swaps = [exchange(a, b) for bundles in classes for a, b in itertools.pairwise(bundles)]
    lanes = {lane for swap in swaps for lane in swap}
    first = {lane: lane for lane in lanes}
    seen, pending = [first], [first]
    while pending:
        here = pending.pop(0)
        yield here
        for swap in swaps:
            after = {lane: swap.get(image, image) for lane, image in here.items()}
            if after not in seen:
                seen.append(after)
                pending.append(after)


def _renaming(
    relation: Relation, features: Sequence[Feature], permutation: Permutation
) -> Renaming:
    slots = relation.system.schema.slots
    by_path = {slot.path: i for i, slot in enumerate(slots)}
    numbers = {(f.left, f.right): n for n, f in enumerate(features)}
    sorts = {sort for sort, _ in permutation}

    def moved(slot: int) -> int:
        lanes = iter(slots[slot].lanes)
        path = [
            permutation.get(lane := next(lanes), lane)[1] if isinstance(part, int) else part
            for part in slots[slot].path
        ]
        return by_path[tuple(path)]

    def value(feature: Feature, number: int) -> int:
        domain = slots[feature.left].domain
        if not isinstance(domain, Identifier) or domain.sort not in sorts or number < 0:
            return number
        return permutation.get((domain.sort, number), (domain.sort, number))[1]

    targets, values = [], []
    for feature in features:
        left, right = moved(feature.left), feature.right
        if right is not None and relation.arena.op(right) is Op.VAR:
            right = relation.arena.var(moved(relation.arena.operands(right)[0]))
        turned = (left, right) not in numbers
        if turned and right is not None:
            left, right = relation.arena.operands(right)[0], relation.arena.var(left)
        targets.append(numbers[left, right])
        values.append({v: -v if turned else value(feature, v) for v in feature.values})
    return Renaming(tuple(targets), tuple(values))
