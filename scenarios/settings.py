"""Which world a scenario is about: the bundled one, or one of the user's own.

The bundled world is a protocol (a stack, and what differs from it), instances placed on a rack, a
scope, timeouts and a deployment. ``world: lease.py:world`` names a system in a Python file, seen
from the scenario's folder; that file is run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.scenarios.errors import Problems
from rackproof.scenarios.files import is_file
from rackproof.scenarios.places import Place
from rackproof.scenarios.schema import Bundled, Setting
from rackproof.scenarios.worlds import InputError, load_world, split_target

if TYPE_CHECKING:
    from rackproof.model.rack import Placement
    from rackproof.model.scope import Scope
    from rackproof.model.timing.deployment import Deployment

SETTING_KEYS: Final = ("world", "protocol", "rack", "scope", "timeouts", "deployment")
ROLES: Final = ("prefill", "decode", "aggregated")
DEFAULT_PRESET: Final = "nvl72"
DEFAULT_INSTANCES: Final = {"prefill": 1, "decode": 2}
MOST_INSTANCES: Final = 144
WORLD: Final = "a Python file and a name in it, such as lease.py:world"


def read_setting(
    found: Mapping[str, Place], base: Setting | None, path: Path, problems: Problems
) -> Setting | None:
    """The setting that these keys describe, as changes to ``base`` where there is one."""
    if "world" in found:
        return _own(found, path)
    start = base.bundled if base is not None else Bundled()
    if start is None:
        for key in found.keys() & set(SETTING_KEYS):
            found[key].fail("is of the bundled world, and the scenario has a world of its own")
        return None
    before = len(problems.found)
    bundled = _read_bundled(found, start, path)
    if len(problems.found) > before:
        return None
    if base is None:
        bundled = with_own_scope(bundled)
    for key, make in (("scope", _scope), ("rack", _placement), ("deployment", _fits)):
        try:
            make(bundled, path)
        except ModelError as error:
            place = found.get(key)
            problems.add(place.line if place else 1, key, str(error))
            return None
    return bundled_setting(bundled, path)


def with_own_scope(bundled: Bundled) -> Bundled:
    """The retries of its stack, where nothing else is said of them."""
    from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

    return evolve(bundled, scope={**load_stack(bundled.stack).scope, **bundled.scope})


def known_properties(setting: Setting | None, own: bool) -> Collection[str] | None:
    """The names of the properties that can be expected; None where they cannot be told.

    The bundled world's are known even where a mistake keeps it from being built.
    """
    from rackproof.invariants import CATALOGUE  # noqa: PLC0415

    if setting is not None:
        return {prop.name for prop in setting.system.properties}
    return None if own else set(CATALOGUE)


def own_setting(file: Path, name: str, text: str) -> Setting:
    """The setting of a world of one's own."""
    return Setting(load_world(file, name), {"world": text}, file)


def bundled_setting(bundled: Bundled, path: Path) -> Setting:
    """Build the bundled world; ``ModelError`` where its parts do not fit together."""
    from rackproof.invariants import CATALOGUE  # noqa: PLC0415
    from rackproof.model.build import build  # noqa: PLC0415
    from rackproof.model.protocol import with_mechanisms  # noqa: PLC0415
    from rackproof.model.timing.timeouts import with_timeouts  # noqa: PLC0415
    from rackproof.scenarios.clocks import seconds  # noqa: PLC0415
    from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

    stack = load_stack(bundled.stack)
    system = build(
        with_mechanisms(stack.protocol, bundled.mechanisms),
        _scope(bundled, path),
        _placement(bundled, path),
        tuple(CATALOGUE.values()),
        bundled.stack,
        _deployment(bundled),
        with_timeouts(stack.timeouts, seconds(bundled.timeouts)),
    )
    faults = {name: frozenset({name.replace("-", "_")}) for name in bundled.faults}
    return Setting(system, bundled.origin(), budgets=bundled.faults, faults=faults, bundled=bundled)


def with_faults(setting: Setting, path: Path, names: Collection[str] | None, most: int) -> Setting:
    """The bundled world of a setting with so many of each of these faults and none of the others;
    with all that its scope allows where no names are given.
    """
    assert setting.bundled is not None, "faults of a world of one's own have no budgets"
    wanted = allowed_faults(setting.bundled) if names is None else names
    bundled = evolve(setting.bundled, faults=dict.fromkeys(wanted, most))
    return bundled_setting(bundled, path)


def seats(setting: Setting, path: Path) -> dict[str, str]:
    """The tray that each instance of the bundled world is on, by their names; empty for a world of
    one's own.
    """
    if setting.bundled is None:
        return {}
    placement = _placement(setting.bundled, path)
    return {instance.name: placement.trays[instance.tray] for instance in placement.instances}


def allowed_faults(bundled: Bundled) -> list[str]:
    """The faults that make sense in a scope."""
    from rackproof.model.scope import Scope, fault_names  # noqa: PLC0415

    scope, found = _sizes(bundled), []
    for name in fault_names():
        with suppress(ModelError):
            Scope(**scope, faults={name: 1})
            found.append(name)
    return found


def _scope(bundled: Bundled, _path: Path) -> Scope:
    from rackproof.model.scope import Scope  # noqa: PLC0415

    return Scope(**_sizes(bundled), faults=bundled.faults)


def _sizes(bundled: Bundled) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in bundled.scope.items()}


def _placement(bundled: Bundled, path: Path) -> Placement:
    from rackproof.model.rack import load_rack, place  # noqa: PLC0415

    rack: dict[str, Any] = dict(bundled.rack)
    where = rack.pop("preset", DEFAULT_PRESET)
    if "path" in rack:
        where = path.parent / str(rack.pop("path"))
    on = rack.pop("on", None)
    return place(load_rack(where), **(rack or DEFAULT_INSTANCES), on=on)


def _deployment(bundled: Bundled) -> Deployment | None:
    """What is served on what, where a scenario says so."""
    from rackproof.model.timing.deployment import deployment  # noqa: PLC0415
    from rackproof.scenarios.clocks import deployed  # noqa: PLC0415

    return deployment(deployed(bundled.deployment)) if bundled.deployment else None


def _fits(bundled: Bundled, path: Path) -> None:
    """Refuse a model that does not fit the instances that a scenario has."""
    from rackproof.model.timing.costs import Costs  # noqa: PLC0415

    deployment = _deployment(bundled)
    if deployment is not None:
        Costs(deployment, _placement(bundled, path), tokens=1).check()


def _own(found: Mapping[str, Place], path: Path) -> Setting | None:
    place = found["world"]
    for key in SETTING_KEYS[1:]:
        if key in found:
            found[key].fail("is of the bundled world; it cannot go with world")
    text = place.text(WORLD)
    if text is None:
        return None
    file, name = split_target(text)
    if name is None:
        place.wrong(WORLD)
        return None
    try:
        return own_setting(path.parent / file, name, text)
    except InputError as error:
        place.fail(str(error))
    return None


def _read_bundled(found: Mapping[str, Place], base: Bundled, path: Path) -> Bundled:
    """The base with the changes of a scenario's or a fix's keys."""
    from rackproof.scenarios.clocks import read_deployment, read_timeouts  # noqa: PLC0415

    if "protocol" in found:
        base = _read_protocol(found["protocol"], base)
    if "rack" in found:
        base = evolve(base, rack=_read_rack(found["rack"], base.rack, path))
    if "scope" in found:
        base = _read_scope(found["scope"], base)
    if "timeouts" in found:
        changes = read_timeouts(found["timeouts"])
        base = evolve(base, timeouts={**base.timeouts, **changes})
    if "deployment" in found:
        told = read_deployment(found["deployment"])
        base = evolve(base, deployment={**base.deployment, **told})
    return base


def _read_protocol(place: Place, base: Bundled) -> Bundled:
    """A stack that is named starts anew; without one, mechanisms are changed where they are."""
    from rackproof.model.protocol import mechanisms  # noqa: PLC0415
    from rackproof.scenarios.stacks import read_mechanism, stack_names  # noqa: PLC0415

    known = {mechanism.name: mechanism for mechanism in mechanisms()}
    found = place.record(("stack", *known), "a map of mechanisms")
    if "stack" in found:
        stack = found.pop("stack").choice(stack_names(), "stack")
        base = evolve(base, stack=stack or base.stack, mechanisms={})
    changes: dict[str, object] = {}
    for name, item in found.items():
        changes[name] = read_mechanism(known[name], item)
    return evolve(base, mechanisms={**base.mechanisms, **changes})


def _read_rack(place: Place, base: Mapping[str, object], path: Path) -> dict[str, object]:
    from rackproof.model.rack import presets  # noqa: PLC0415

    keys = ("preset", "path", *ROLES, "on")
    found = place.record(keys, "a map with a preset and how many instances")
    rack = dict(base)
    if "preset" in found and "path" in found:
        found["path"].fail("cannot go with preset: the rack is either")
    for key in ("preset", "path"):
        if key in found:
            rack = {name: count for name, count in rack.items() if name not in ("preset", "path")}
            rack[key] = _where(found[key], key, presets(), path)
    for role in ROLES:
        if role in found:
            rack[role] = found[role].whole(0, MOST_INSTANCES)
    if "on" in found:
        seats = found["on"].entries("a map from instances to a tray or a list of GPUs") or {}
        rack["on"] = {name: _seat(item) for name, item in seats.items()}
    return rack


def _seat(place: Place) -> object:
    """A tray, or GPUs."""
    expected = "the name of a tray, or a list of GPUs"
    if place.is_list:
        return [gpu.text(expected) for gpu in place.items(expected)]
    return place.text(expected)


def _where(place: Place, key: str, presets: Collection[str], path: Path) -> str | None:
    if key == "preset":
        return place.choice(presets, "preset")
    text = place.text("the path of a rack file")
    if text is not None and not is_file(path.parent / text):
        place.fail(f"there is no file {path.parent / text}")
    return text


def _read_scope(place: Place, base: Bundled) -> Bundled:
    from rackproof.model.scope import Scope, limits  # noqa: PLC0415

    fields = {a.name.replace("_", "-"): a for a in attrs.fields(Scope)}
    found = place.record(fields, "a map of how much is explored")
    faults = found.pop("faults", None)
    scope = {name: _size(item, limits(fields[name])) for name, item in found.items()}
    if faults is not None:
        base = evolve(base, faults={**base.faults, **_read_faults(faults)})
    return evolve(base, scope={**base.scope, **scope})


def _size(place: Place, limits: tuple[int, int] | None) -> object:
    """A number within its limits, or a truth value where there are none."""
    return place.flag() if limits is None else place.whole(*limits)


def _read_faults(place: Place) -> dict[str, int]:
    from rackproof.model.scope import MOST_FAULTS, fault_names  # noqa: PLC0415

    found = place.record(fault_names(), "a map from faults to how many of each")
    budgets = {name: item.whole(0, MOST_FAULTS) for name, item in found.items()}
    return {name: budget for name, budget in budgets.items() if budget is not None}
