"""Hardware, models, formats: a preset by its name, or a map of own values, ``like`` one or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import attrs

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import Architecture, architecture
from rackproof.model.performance.catalogue import made
from rackproof.model.performance.formats import KvFormat, kv_format
from rackproof.model.performance.hardware import Gpu, Link, gpu, link
from rackproof.model.performance.parallel import ExpertParallel, TensorParallel
from rackproof.scenarios.places import Place

T = TypeVar("T")
_PARALLEL: Final = {"tensor": TensorParallel, "experts": ExpertParallel}


Readers = Mapping[str, tuple[str, Callable[[Place], Any]]]
"""For each key, what the model calls it, and what reads it."""


def read_keys(found: Mapping[str, Place], readers: Readers) -> dict[str, Any]:
    """What the keys that are there come to, by what the model calls them."""
    there = ((found[key], *reader) for key, reader in readers.items() if key in found)
    return {name: noted(place, read) for place, name, read in there}


def noted(place: Place, read: Callable[[Place], Any]) -> Any:
    """What a place comes to; where that is nothing, a problem has been noted, or is now."""
    before = len(place.problems.found)
    value = read(place)
    if value is None and len(place.problems.found) == before:
        place.fail("says nothing; give it a value, or leave it out")
    return value


def attempt(place: Place, make: Callable[[], T]) -> T | None:
    """What the model makes of something; a problem where it makes nothing of it."""
    try:
        return make()
    except ModelError as error:
        place.fail(str(error))
        return None


def read_gpu(place: Place) -> Gpu | None:
    """A GPU."""
    found = _preset(place, Gpu, gpu)
    if found is None or attempt(place, lambda: link(found.scale_up)) is None:
        return None
    return found


def read_link(place: Place) -> Link | None:
    """A link."""
    return _preset(place, Link, link)


def read_model(place: Place) -> Architecture | None:
    """A language model."""
    return _preset(place, Architecture, architecture)


def read_kv_format(place: Place) -> KvFormat | None:
    """A format of KV."""
    return _preset(place, KvFormat, kv_format)


def read_parallel(place: Place) -> TensorParallel | ExpertParallel | None:
    """How the GPUs of an instance share a model: tensor, experts, or experts with own values."""
    if not place.is_map:
        name = place.choice(_PARALLEL, "kind of parallelism")
        return None if name is None else _PARALLEL[name]()
    found = place.record(("experts",), "tensor, experts, or {experts: ...}")
    if "experts" not in found:
        return None
    names = [field.name for field in attrs.fields(ExpertParallel)]
    values: dict[str, Any] = {}
    for key, item in found["experts"].record(names).items():
        values[key] = read_link(item) if key == "scale_out" else plain(item)
    return attempt(found["experts"], lambda: ExpertParallel(**values))


def plain(place: Place) -> Any:
    """A value as the model takes it: what stands there, a list or a map too."""
    if place.is_map:
        return {key: plain(item) for key, item in (place.entries() or {}).items()}
    return [plain(item) for item in place.items()] if place.is_list else place.value


def _preset(place: Place, kind: type[T], named: Callable[[str], T]) -> T | None:
    if not place.is_map:
        return _named(place, named, "the name of a preset, or a map of values")
    found = place.entries() or {}
    base: dict[str, Any] = {}
    if "like" in found:
        like = found.pop("like")
        start = _named(like, named, "the name of a preset")
        if start is None:
            return None
        base = attrs.asdict(start, recurse=False)  # type: ignore[arg-type]
    own = {key: plain(item) for key, item in found.items() if key != "name"}
    label = found["name"].text() if "name" in found else _label(base.pop("name", None), own)
    base.pop("name", None)
    return attempt(place, lambda: made(kind, label or "", {**base, **own}))


def _named(place: Place, named: Callable[[str], T], what: str) -> T | None:
    name = place.text(what)
    return None if name is None else attempt(place, lambda: named(name))


def _label(like: str | None, own: dict[str, Any]) -> str:
    """What a part without a name is called: gb200 with memory_GB 128."""
    values = ", ".join(f"{key} {value}" for key, value in own.items())
    return f"{like} with {values}" if like else "own"
