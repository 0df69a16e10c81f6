"""From a file to a ``Plan``, or to a ``ScenarioError`` that tells everything wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

from rackproof.model.performance.simulation import Aggregated, Deployment, Slo
from rackproof.model.performance.workload import mooncake_rows
from rackproof.model.performance.workload.mooncake import BLOCK_TOKENS
from rackproof.scenarios.document import Node, Pairs, Scalar, parse, read_text
from rackproof.scenarios.errors import Problems
from rackproof.scenarios.performance.amounts import SHARE
from rackproof.scenarios.performance.deployments import read_deployment
from rackproof.scenarios.performance.figures import read_expected, read_published
from rackproof.scenarios.performance.overrides import changed_key, merged, turns
from rackproof.scenarios.performance.parts import noted
from rackproof.scenarios.performance.plan import Plan, Variant, Workload
from rackproof.scenarios.performance.sections import SECTIONS, read_section
from rackproof.scenarios.performance.sections.failures import check
from rackproof.scenarios.performance.workloads import read_slo, read_workload
from rackproof.scenarios.places import Place
from rackproof.scenarios.schema import VERSION
from rackproof.scenarios.worlds import InputError

TEXTS: Final = ("name", "source", "why", "notes")
SIMULATED: Final = ("deployment", "workload", "slo", "warm-up")
FIGURES: Final[Mapping[str, tuple[str, Callable[[Place, Sequence[str]], Any]]]] = {
    "published": ("published", read_published),
    "expect": ("expected", read_expected),
}
"""Keys that name figures of runs: what a plan calls them, and what reads them."""
KEYS: Final = ("rackproof", *TEXTS, *SIMULATED, "variants", *FIGURES)
MOST_VARIANTS: Final = 1_000
WARM_UP: Final = 0.1


def load(path: Path, changes: Sequence[Node] = (), seed: int | None = None) -> Plan:
    """Read a file; ``ScenarioError`` names every mistake. changes, seed: as ``loads``."""
    return loads(read_text(path), path, changes, seed)


def loads(
    text: str,
    path: Path,
    changes: Sequence[Node] = (),
    seed: int | None = None,
    only: Sequence[str] = (),
) -> Plan:
    """Read a file from a text; relative paths in it start where ``path`` is.

    changes, seed: laid over every variant, or only over some by their names. Where some variants
    are of the kind that a change is of, it leaves the others alone.
    """
    problems = Problems(path)
    root = Place(parse(text, path), "", 0, problems)
    found = root.record((*KEYS, *SECTIONS), "a map that begins with rackproof: 1")
    reading = _Reading(path, root, found, problems, tuple(changes), seed, tuple(only))
    plan = reading.plan() if root.is_map else None
    problems.check()
    assert plan is not None, "a file that cannot be read has a problem"
    return plan


@frozen
class _Reading:
    """One file, part by part."""

    path: Path
    root: Place
    found: Mapping[str, Place]
    problems: Problems
    changes: tuple[Node, ...]
    seed: int | None
    only: tuple[str, ...]
    left: list[str] = field(factory=list)

    def plan(self) -> Plan | None:
        self._version()
        texts: dict[str, Any] = {
            key: self.found[key].text() or "" for key in TEXTS if key in self.found
        }
        if "name" not in self.found:
            self.problems.add(1, "name", "is missing: tell in one line what is simulated")
        variants, names = self._variants()
        known = [name for name in names if name is not None]
        figures = {
            name: read(self.found[key], known)
            for key, (name, read) in FIGURES.items()
            if key in self.found
        }
        sections = {
            key: noted(self.found[key], partial(read_section, key))
            for key in SECTIONS
            if key in self.found
        }
        self._check_failures(sections, variants)
        if self.problems.found:
            return None
        left = tuple(self.left)
        return Plan(self.path, variants=variants, sections=sections, left=left, **figures, **texts)

    def _check_failures(self, sections: Mapping[str, Any], variants: Sequence[Variant]) -> None:
        """What fails is to be there, whatever is asked."""
        if sections.get("failures") is not None:
            deployments = [variant.deployment for variant in variants]
            check(self.found["failures"], sections["failures"], deployments)

    def _version(self) -> None:
        version = self.found.get("rackproof")
        if version is None:
            self.problems.add(1, "rackproof", "is missing: a file begins with rackproof: 1")
        elif version.value != VERSION or type(version.value) is not int:
            version.wrong(f"{VERSION}, the version of the format")

    # Variants

    def _variants(self) -> tuple[tuple[Variant, ...], list[str | None]]:
        """The variants, and the names of those that could not be read too."""
        if "variants" not in self.found:
            ((_, node),) = self._set([(None, self._base())])
            only = self._variant(None, node)
            return ((), []) if only is None else ((only,), [only.name])
        places = list(self.found["variants"].items("a list of variants"))
        if not places or len(places) > MOST_VARIANTS:
            self.found["variants"].fail(f"has {len(places):,} entries; from 1 to {MOST_VARIANTS:,}")
        nodes = self._set([self._changed(place) for place in places])
        names = [name for name, _ in nodes]
        for place, name in zip(places, names, strict=True):
            if name is not None and names.count(name) > 1:
                place.fail(f"there are two variants with the name {name!r}")
        read = [self._variant(*one) for one in nodes]
        return tuple(variant for variant in read if variant is not None), names

    def _changed(self, place: Place) -> tuple[str | None, Node | None]:
        """The base with what one variant changes, and its name."""
        found = place.record(("name", *SIMULATED), "a map with a name, and what it changes")
        if "name" not in found and place.is_map:
            place.fail("has no name")
        name = found["name"].text() if "name" in found else None
        if not isinstance(place.node, Pairs) or name is None:
            return None, None
        own = tuple((k, n) for k, n in place.node.entries if k.text in SIMULATED)
        return name, merged(self._base(), Pairs(place.line, own))

    def _set(
        self, nodes: Sequence[tuple[str | None, Node | None]]
    ) -> list[tuple[str | None, Node | None]]:
        """What the command line changes, each change in the variants that it is of."""
        found = list(nodes)
        for change in self.changes:
            meant = [at for at, (name, _) in enumerate(found) if self._is_meant(name)]
            kept = [at for at in meant if not turns(_there(found[at][1]), change)]
            if others := [str(found[at][0]) for at in meant if kept and at not in kept]:
                key = changed_key(change)
                self.left.append(f"--set {key}: left out of {', '.join(others)}, of another kind")
            for at in kept or meant:
                name, node = found[at]
                found[at] = name, None if node is None else merged(node, change)
        return found

    def _is_meant(self, name: str | None) -> bool:
        """Whether the command line speaks of a variant; of the only one of a file it does."""
        return not self.only or name is None or name in self.only

    def _base(self) -> Node:
        assert isinstance(self.root.node, Pairs), "it has entries"
        line = self.root.node.line
        return Pairs(line, tuple((k, n) for k, n in self.root.node.entries if k.text in SIMULATED))

    def _variant(self, name: str | None, node: Node | None) -> Variant | None:
        """What one variant comes to, all changes applied."""
        if node is None:
            return None
        found = Place(node, "", 0, self.problems).record(SIMULATED)
        for key in ("deployment", "workload"):
            if key not in found:
                self.problems.add(1, key, "is missing")
        deployment = workload = None
        if "deployment" in found:
            deployment = read_deployment(found["deployment"], self.path)
        if "workload" in found:
            seeded = self.seed is not None and self._is_meant(name)
            place = self._seeded(found["workload"]) if seeded else found["workload"]
            workload = read_workload(place, self.path)
        slo = read_slo(found["slo"]) if "slo" in found else Slo()
        warm_up = WARM_UP
        if "warm-up" in found:
            warm_up = SHARE.read(found["warm-up"], high=0.99, least=True) or 0.0
        if deployment is None or workload is None or slo is None:
            return None
        self._check_blocks(found["deployment"], deployment, workload)
        return Variant(name or shape(deployment), deployment, workload, slo, warm_up)

    def _check_blocks(self, place: Place, deployment: Deployment, workload: Workload) -> None:
        """A cache has the blocks of the trace, or its hits would be of other tokens."""
        cache, trace = deployment.cache, getattr(workload, "rows", None) is mooncake_rows
        if cache is not None and trace and cache.block_tokens != BLOCK_TOKENS:
            self.problems.add(
                place.line,
                f"{place.key}.prefix-cache.block",
                f"is {cache.block_tokens} tokens; the blocks of the trace have {BLOCK_TOKENS}",
            )

    def _seeded(self, place: Place) -> Place:
        """The workload with the seed of the command line."""
        if isinstance(place.node, Pairs) and "synthetic" not in {
            k.text for k, _ in place.node.entries
        }:
            raise InputError(f"{self.path}: --seed: its workload is a trace, which has no seed")
        seed = Scalar(0, self.seed, str(self.seed))
        change = _map("synthetic", _map("seed", seed))
        return Place(merged(place.node, change), place.key, place.line, place.problems)


def _there(node: Node | None) -> Node:
    return Pairs(0, ()) if node is None else node


def _map(key: str, node: Node) -> Pairs:
    return Pairs(0, ((Scalar(0, key, key), node),))


def shape(deployment: Deployment) -> str:
    """A deployment in short: 12 prefill + 6 decode."""
    if isinstance(deployment, Aggregated):
        return f"{deployment.pool.count} aggregated"
    return f"{deployment.prefill.count} prefill + {deployment.decode.count} decode"
