"""The key deployment: pools of instances, and how requests go through them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from rackproof.model.performance.formats import kv_format
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
    Readers,
    attempt,
    read_gpu,
    read_keys,
    read_kv_format,
    read_link,
    read_model,
    read_parallel,
)
from rackproof.scenarios.places import Place

MOST_INSTANCES: Final = 100_000
MOST_BLOCKS: Final = 1_000_000_000


def _many(place: Place) -> int | None:
    return place.whole(1, MOST_INSTANCES)


def _milliseconds(place: Place) -> float | None:
    seconds = DURATION.read(place, least=True)
    return None if seconds is None else seconds * 1e3


def _policy(place: Place) -> str | None:
    return place.choice(POLICIES, "routing policy")


CACHE: Final[Readers] = {
    "block": ("block_tokens", tokens),
    "blocks": ("blocks", lambda place: place.whole(1, MOST_BLOCKS)),
}


def _cache(place: Place) -> PrefixCache | None:
    """A prefix cache: true, or its block and how many of them an instance keeps."""
    if place.is_scalar:
        return PrefixCache() if place.flag() else None
    parts = read_keys(place.record(CACHE, "true, or a map with block and blocks"), CACHE)
    return None if None in parts.values() else attempt(place, lambda: PrefixCache(**parts))


ENGINE: Final[Readers] = {
    "model": ("model", read_model),
    "gpu": ("gpu", read_gpu),
    "kv-format": ("kv", read_kv_format),
    "memory-share": ("memory_share", lambda place: SHARE.read(place, high=1)),
    "overhead": ("overhead_ms", _milliseconds),
    "parallel": ("parallel", read_parallel),
}
"""What an instance is made of: said of the deployment, or of one of its pools."""
OWN: Final = ("gpu", "memory-share", "overhead", "parallel")
"""What a pool may say of its own: model and format are those of all."""
BOTH: Final[Readers] = {
    "decode-batch": ("decode_batch", lambda place: place.whole(1)),
    "longest-context": ("context_tokens", tokens),
    "prefix-cache": ("cache", _cache),
}
APART: Final[Readers] = {
    "prefill-batch": ("prefill_tokens", tokens),
    "back-pressure": ("back_pressure", Place.flag),
}
HAND_OFF: Final[Readers] = {
    "link": ("link", read_link),
    "channels": ("channels", _many),
    "streaming": ("streaming", Place.flag),
}
WAYS: Final = ("link", "rack")
"""What a hand-off goes over: one of them."""
ONLY_AGGREGATED: Final = ("aggregated",)
ONLY_DISAGGREGATED: Final = ("prefill", "decode", "hand-off", *APART)
KEYS: Final = (*ENGINE, *BOTH, "routing", *ONLY_AGGREGATED, *ONLY_DISAGGREGATED)


def read_deployment(place: Place, path: Path) -> Deployment | None:
    """A deployment; None after a problem was noted. The path of a rack starts where the file is."""
    before = len(place.problems.found)
    found = place.record(KEYS, "a map with model, gpu and pools of instances")
    reading = _Reading(place, found, path)
    if "aggregated" in found:
        for key in found.keys() & set(ONLY_DISAGGREGATED):
            found[key].fail("is of a disaggregated deployment; it cannot go with aggregated")
        make: Callable[..., Deployment] = Aggregated
        parts = reading.together(found["aggregated"])
    else:
        make, parts = Disaggregated, reading.apart()
    return attempt(place, lambda: make(**parts)) if len(place.problems.found) == before else None


@frozen
class _Reading:
    """One deployment, part by part; each part notes what is wrong with it."""

    place: Place
    found: Mapping[str, Place]
    path: Path

    def together(self, place: Place) -> dict[str, Any]:
        """What an aggregated deployment is made of."""
        found = place.record(("instances", "gpus", *OWN, "chunk"), "a map with instances and gpus")
        chunk = read_keys(found, {"chunk": ("chunk_tokens", tokens)})
        routing = self._routing({"aggregated": ("routing", _policy)})
        pool = self._pool(place, found)
        return {"pool": pool, **read_keys(self.found, BOTH), **chunk, **routing}

    def apart(self) -> dict[str, Any]:
        """What a disaggregated deployment is made of."""
        pools = {key: self._own_pool(key) for key in ("prefill", "decode")}
        routing = self._routing({key: (f"{key}_routing", _policy) for key in ("prefill", "decode")})
        options = read_keys(self.found, {**BOTH, **APART})
        return {**pools, **self._hand_off(pools), **options, **routing}

    def _need(self, key: str) -> Place | None:
        if key not in self.found:
            self.place.lacks(key)
        return self.found.get(key)

    def _own_pool(self, key: str) -> Pool | None:
        place = self._need(key)
        if place is None:
            return None
        found = place.record(("instances", "gpus", *OWN), "a map with instances and gpus")
        return self._pool(place, found)

    def _pool(self, place: Place, found: Mapping[str, Place]) -> Pool | None:
        for key in ("instances", "gpus"):
            if key not in found and place.is_map:
                place.lacks(key)
        engine = self._engine(place, found)
        count = _many(found["instances"]) if "instances" in found else None
        return None if engine is None or count is None else Pool(engine, count)

    def _engine(self, place: Place, own: Mapping[str, Place]) -> Engine | None:
        """An instance: what the pool says, else what the deployment says."""
        for key in ("model", "gpu"):
            if key not in own:
                self._need(key)
        parts = read_keys({**self.found, **own}, {**ENGINE, "gpus": ("gpus", _many)})
        if None in parts.values() or not parts.keys() >= {"model", "gpu", "gpus"}:
            return None
        return attempt(place, lambda: Engine(**{"kv": kv_format("bf16"), **parts}))

    def _hand_off(self, pools: Mapping[str, Pool | None]) -> dict[str, Any]:
        """The hand-off, over a link or the ways of a rack."""
        place = self._need("hand-off")
        if place is None:
            return {}
        found = place.record((*HAND_OFF, "rack"), "a map with a link")
        if place.is_map and ("link" in found) == ("rack" in found):
            place.fail("needs a link, or a rack")
        parts = read_keys(found, HAND_OFF)
        paths = self._paths(found["rack"], pools) if "rack" in found else None
        if paths:
            parts["link"] = min(chain(*paths), key=lambda link: (link.bandwidth_GB_s, link.name))
        if parts.get("link") is None or None in parts.values():
            return {}
        return {"hand_off": HandOff(**parts), "paths": paths}

    def _paths(self, place: Place, pools: Mapping[str, Pool | None]) -> Paths | None:
        prefill, decode = pools["prefill"], pools["decode"]
        if prefill is None or decode is None:
            return None
        return read_paths(place, prefill, decode, self.path)

    def _routing(self, policies: Readers) -> dict[str, Any]:
        """The policies, by what the model calls each."""
        if "routing" not in self.found:
            return {}
        found = self.found["routing"].record(policies, "a map from pools to a policy")
        return read_keys(found, policies)
