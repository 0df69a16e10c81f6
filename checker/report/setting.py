"""What a setting comes to, defaults and all; and what differs between a case and its fix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import attrs

from rackproof.checker.verdicts import Result, Verdict, counted
from rackproof.checker.verify import AS_REPORTED, WITH_FIX, Report
from rackproof.scenarios.schema import Bundled, Setting
from rackproof.scenarios.settings import DEFAULT_PRESET, ROLES
from rackproof.scenarios.steps import kebab

_COUNTED: Final = {
    "requests": ("request", ""),
    "tokens": ("token", ""),
    "blocks-per-worker": ("block", " per worker"),
    "handles": ("handle", ""),
    "links": ("link", ""),
    "rooms": ("room", ""),
    "prefixes": ("prefix block", ""),
    "cache-changes": ("change", " of a cache"),
    "clients": ("client", " of a store"),
    "keys": ("key", ""),
    "stored": ("key", " stored"),
    "segments": ("segment", ""),
    "spaces": ("space", " per segment"),
    "gets": ("look-up", " per client"),
}


def effective(setting: Setting) -> dict[str, dict[str, Any]]:
    """The scope and the rack of the bundled world, every key of them; empty for a world of one's
    own.
    """
    if setting.bundled is None:
        return {}
    scope = {**_scope(setting.bundled), "faults": dict(setting.bundled.faults)}
    return {"rack": _rack(setting), "scope": scope}


def assumed(setting: Setting) -> str | None:
    """What a setting is about that the file of its stack says nothing of; None where that is all
    well.
    """
    from rackproof.model.scope import Scope, concern  # noqa: PLC0415
    from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

    if setting.bundled is None:
        return None
    scope, stack = _scope(setting.bundled), load_stack(setting.bundled.stack)
    asked = {concern(a) for a in attrs.fields(Scope) if scope.get(kebab(a.name))} - {None}
    unsaid = sorted(name for name in asked if name and name not in stack.concerns)
    if not unsaid:
        return None
    return (
        f"the file of stack {stack.name} says nothing of {' and '.join(unsaid)}: "
        "there it is as the reference is"
    )


def scope_in_words(setting: Setting, with_faults: bool = True) -> str | None:
    """How much is explored, and where, in a line; None for a world of one's own."""
    if setting.bundled is None:
        return None
    scope, rack = _scope(setting.bundled), _rack(setting)
    faults = scope.pop("faults")
    instances = [f"{role} {rack[role]}" for role in ROLES if rack[role]]
    where = rack.get("path") or rack.get("preset")
    told = ", ".join(f"{name} {n}" for name, n in faults.items() if n) or "none"
    parts = [
        ", ".join(_sizes(scope)),
        *([f"faults: {told}"] if with_faults else []),
        f"{', '.join(instances)} on {where}",
    ]
    return "; ".join(parts)


def remedy(report: Report, result: Result) -> str | None:
    """What becomes of a violation with the fix of its scenario, and what that changes."""
    runs = {run.label: run for run in report.runs}
    reported, fixed = runs.get(AS_REPORTED), runs.get(WITH_FIX)
    if reported is None or fixed is None or all(r is not result for r in reported.results):
        return None
    changes = differences(reported.case.setting, fixed.case.setting)
    told = "; ".join(changes) or "nothing that it changes is known"
    for other in fixed.results:
        if other.prop.name == result.prop.name:
            if other.verdict in (Verdict.HOLDS, Verdict.PROVED):
                return f"With the fix it {_is(other)}: {told}"
            return f"With the fix ({told}) it {_is(other)}"
    return None


def differences(before: Setting, after: Setting) -> list[str]:
    """What two settings differ in, as it is written in a scenario: release: lease -> heartbeat."""
    old, new = _described(before), _described(after)
    return [
        f"{key}: {written(old.get(key))} -> {written(new.get(key))}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]


def meaning(setting: Setting | None, change: str) -> str | None:
    """What the mechanism is that one of these differences is in, and what its new value means where
    it is not just true or false; None where it is in none.
    """
    from rackproof.model.protocol import mechanisms  # noqa: PLC0415

    if setting is None or setting.bundled is None:
        return None
    name, _, values = change.partition(": ")
    chosen = values.rpartition(" -> ")[2]
    return next((item.meaning(chosen) for item in mechanisms() if item.name == name), None)


def source_label(source: str) -> str:
    """What a source is: a report, or what else it was known from."""
    return "As reported" if re.search(r"/(issues|pull|discussions)/\d+", source) else "Source"


def _is(result: Result) -> str:
    if result.verdict is Verdict.HOLDS:
        return "holds"
    why = f" ({result.reason})" if result.reason else ""
    return f"is {result.words}{why}"


def parts(setting: Setting) -> dict[str, dict[str, object]]:
    """All that a scenario could say of a setting, by what it is of, and key by key."""
    bundled = setting.bundled
    if bundled is None:
        return {"world": dict(setting.origin)}
    scope = _scope(bundled)
    faults = scope.pop("faults")
    protocol = {"stack": bundled.stack, **_mechanisms(bundled)}
    return {"protocol": protocol, "rack": _rack(setting), "scope": scope, "faults": faults}


def _described(setting: Setting) -> dict[str, object]:
    """The same without what it is of."""
    return {key: value for part in parts(setting).values() for key, value in part.items()}


def _mechanisms(bundled: Bundled) -> dict[str, object]:
    from rackproof.model.protocol import mechanisms, with_mechanisms  # noqa: PLC0415
    from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

    protocol = with_mechanisms(load_stack(bundled.stack).protocol, bundled.mechanisms)
    return {item.name: getattr(protocol, item.field) for item in mechanisms()}


def _scope(bundled: Bundled) -> dict[str, Any]:
    from rackproof.model.scope import Scope, fault_names  # noqa: PLC0415

    sizes: Any = {name.replace("-", "_"): value for name, value in bundled.scope.items()}
    scope = Scope(**sizes, faults=bundled.faults)
    found = {kebab(a.name): getattr(scope, a.name) for a in attrs.fields(Scope)}
    if found.get("max-tokens", 0) is None:
        found["max-tokens"] = scope.tokens
    return {**found, "faults": {name: scope.faults.get(name, 0) for name in fault_names()}}


def _rack(setting: Setting) -> dict[str, Any]:
    bundled, world = setting.bundled, setting.system.initial
    assert bundled is not None, "only the bundled world has a rack"
    counts = Counter(role.value for role in world.roles)
    where = {} if "path" in bundled.rack else {"preset": DEFAULT_PRESET}
    return {**where, **bundled.rack, **{role: counts[role] for role in ROLES}}


def _left_out(scope: Mapping[str, object]) -> Iterator[str]:
    """What a scope does not ask for: parts of the world of which there are none, and their sizes.

    Without a gateway and a client that ask again there is nothing to say of them either.
    """
    from rackproof.model.scope import Scope, part  # noqa: PLC0415

    for attribute in attrs.fields(Scope):
        name, whole = kebab(attribute.name), part(attribute)
        if (whole and not scope[whole]) or (attribute.default == 0 and not scope[name]):
            yield name


def _sizes(scope: Mapping[str, object]) -> Iterator[str]:
    unsaid = set(_left_out(scope))
    for name, value in scope.items():
        if name in unsaid:
            continue
        if isinstance(value, bool):
            yield name
        elif name != "max-tokens" or value != scope["tokens"]:
            yield size_in_words(name, value)


def size_in_words(name: str, value: object) -> str:
    """A size of a scope or a rack: 2 requests, retry limit 1, 1 prefill worker."""
    if isinstance(value, int) and name in _COUNTED:
        noun, rest = _COUNTED[name]
        return counted(value, noun) + rest
    if isinstance(value, int) and name in ROLES:
        return counted(value, f"{name} worker")
    return f"{name.replace('-', ' ')} {value}"


def written(value: object) -> str:
    """A value as YAML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {written(item)}' for key, item in value.items())}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(written, value))}]"
    return "none" if value is None else str(value)
