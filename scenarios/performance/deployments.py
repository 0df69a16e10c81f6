"""The key deployment: pools of instances, and how requests go through them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    Disaggregated,
    HandOff,
    Pool,
    PrefixCache,
)
from rackproof.model.performance.simulation.routing import POLICIES
from rackproof.scenarios.performance.amounts import DURATION, SHARE, tokens
from rackproof.scenarios.performance.fabric import Paths, read_paths
from rackproof.scenarios.performance.parts import (
    attempt,
    read_gpu,
    read_kv_format,
    read_link,
    read_model,
    read_parallel,
)
from rackproof.scenarios.places import Place

ONLY_AGGREGATED: Final = ("aggregated",)
ONLY_DISAGGREGATED: Final = ("prefill", "decode", "hand-off", "prefill-batch", "back-pressure")
ENGINE: Final = ("model", "gpu", "kv-format", "memory-share", "overhead", "parallel")
COMMON: Final = (*ENGINE, "decode-batch", "routing", "prefix-cache", "longest-context")
KEYS: Final = (*COMMON, *ONLY_AGGREGATED, *ONLY_DISAGGREGATED)
POOL: Final = ("instances", "gpus", "gpu", "memory-share", "overhead", "parallel")
MOST_INSTANCES: Final = 100_000


def read_deployment(place: Place, path: Path) -> Deployment | None:
    """A deployment; None after a problem was noted. The path of a rack starts where the file is."""
    before = len(place.problems.found)
    found = place.record(KEYS, "a map with model, gpu and pools of instances")
    if "aggregated" in found:
        for key in found.keys() & set(ONLY_DISAGGREGATED):
            found[key].fail("is of a disaggregated deployment; it cannot go with aggregated")
    made = _Reading(place, found, before, path).deployment()
    return made if len(place.problems.found) == before else None


@frozen
class _Reading:
    """One deployment, part by part."""

    place: Place
    found: Mapping[str, Place]
    before: int
    path: Path

    def deployment(self) -> Deployment | None:
        """The pools, and the options they share."""
        options = self._options()
        if "aggregated" in self.found:
            place = self.found["aggregated"]
            pool = self._pool(place, ("chunk",))
            entries = {key: item for key, item in (place.entries() or {}).items() if key == "chunk"}
            if "chunk" in entries:
                options["chunk_tokens"] = tokens(entries["chunk"])
            routing = self._routing({"aggregated": "routing"})
            return self._made(Aggregated, pool=pool, **options, **routing)
        pools = {key: self._pool(self.found.get(key), (), key) for key in ("prefill", "decode")}
        options |= self._routing({"prefill": "prefill_routing", "decode": "decode_routing"})
        if "prefill-batch" in self.found:
            options["prefill_tokens"] = tokens(self.found["prefill-batch"])
        if "back-pressure" in self.found:
            options["back_pressure"] = self.found["back-pressure"].flag()
        options |= self._hand_off(pools)
        return self._made(Disaggregated, **pools, **options)

    def _made(self, kind: Callable[..., Deployment], **parts: Any) -> Deployment | None:
        """What the model makes of it, unless something is wrong already."""
        if len(self.place.problems.found) > self.before:
            return None
        return attempt(self.place, lambda: kind(**parts))

    def _need(self, key: str) -> Place | None:
        if key not in self.found:
            self.place.problems.add(self.place.line, f"{self.place.key}.{key}", "is missing")
        return self.found.get(key)

    def _options(self) -> dict[str, Any]:
        found, options = self.found, dict[str, Any]()
        if "decode-batch" in found:
            options["decode_batch"] = found["decode-batch"].whole(1)
        if "longest-context" in found:
            options["context_tokens"] = tokens(found["longest-context"])
        if "prefix-cache" in found:
            options["cache"] = _cache(found["prefix-cache"])
        return options

    def _pool(self, place: Place | None, more: tuple[str, ...], key: str = "") -> Pool | None:
        if place is None:
            self._need(key)
            return None
        found = place.record((*POOL, *more), "a map with instances and gpus")
        for name in ("instances", "gpus"):
            if name not in found:
                place.problems.add(place.line, f"{place.key}.{name}", "is missing")
        engine = self._engine(place, found)
        count = found["instances"].whole(1, MOST_INSTANCES) if "instances" in found else None
        return None if engine is None or count is None else Pool(engine, count)

    def _engine(self, place: Place, own: Mapping[str, Place]) -> Engine | None:
        """An instance: what the pool says, else what the deployment says."""
        found = {**{key: self.found[key] for key in ENGINE if key in self.found}, **own}
        parts: dict[str, Any] = {}
        for key, read in (("model", read_model), ("gpu", read_gpu)):
            part = found.get(key) or self._need(key)
            parts[key] = None if part is None else read(part)
        parts["kv"] = read_kv_format(found["kv-format"]) if "kv-format" in found else _bf16()
        parts["gpus"] = found["gpus"].whole(1, MOST_INSTANCES) if "gpus" in found else None
        if "memory-share" in found:
            parts["memory_share"] = SHARE.read(found["memory-share"], high=1)
        if "overhead" in found:
            seconds = DURATION.read(found["overhead"], least=True)
            parts["overhead_ms"] = None if seconds is None else seconds * 1e3
        if "parallel" in found:
            parts["parallel"] = read_parallel(found["parallel"])
        if None in parts.values():
            return None
        return attempt(place, lambda: Engine(**parts))

    def _hand_off(self, pools: Mapping[str, Pool | None]) -> dict[str, Any]:
        """The hand-off, over a link or the ways of a rack."""
        place = self._need("hand-off")
        if place is None:
            return {}
        found = place.record(("link", "rack", "channels", "streaming"), "a map with a link")
        if place.is_map and ("link" in found) == ("rack" in found):
            place.fail("needs a link, or a rack")
        parts: dict[str, Any] = {}
        if "channels" in found:
            parts["channels"] = found["channels"].whole(1, MOST_INSTANCES)
        if "streaming" in found:
            parts["streaming"] = found["streaming"].flag()
        paths = self._paths(found["rack"], pools) if "rack" in found else None
        if paths:
            parts["link"] = min(chain(*paths), key=lambda link: (link.bandwidth_GB_s, link.name))
        if "link" in found:
            parts["link"] = read_link(found["link"])
        if parts.get("link") is None or None in parts.values():
            return {}
        return {"hand_off": HandOff(**parts), "paths": paths}

    def _paths(self, place: Place, pools: Mapping[str, Pool | None]) -> Paths | None:
        prefill, decode = pools["prefill"], pools["decode"]
        if prefill is None or decode is None:
            return None
        return read_paths(place, prefill, decode, self.path)

    def _routing(self, options: Mapping[str, str]) -> dict[str, Any]:
        """The policies, by what the model calls each."""
        if "routing" not in self.found:
            return {}
        found = self.found["routing"].record(options, "a map from pools to a policy")
        return {
            options[key]: item.choice(POLICIES, "routing policy") for key, item in found.items()
        }


def _bf16() -> Any:
    from rackproof.model.performance.formats import kv_format  # noqa: PLC0415

    return kv_format("bf16")


def _cache(place: Place) -> PrefixCache | None:
    """A prefix cache: true, or its block and how many of them an instance keeps."""
    if place.is_scalar:
        return PrefixCache() if place.flag() else None
    found = place.record(("block", "blocks"), "true, or a map with block and blocks")
    options: dict[str, Any] = {}
    if "block" in found:
        options["block_tokens"] = tokens(found["block"])
    if "blocks" in found:
        options["blocks"] = found["blocks"].whole(1, 1_000_000_000)
    return attempt(place, lambda: PrefixCache(**options)) if None not in options.values() else None
