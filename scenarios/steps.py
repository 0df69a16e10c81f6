"""The steps of a run that is written down, and the facts that must be so at its end."""

from __future__ import annotations

from rackproof.model.kernel import Firing, System
from rackproof.model.kernel.transitions import Transition
from rackproof.scenarios.errors import hint
from rackproof.scenarios.fields import Fact, Fields, read_fact
from rackproof.scenarios.places import Place
from rackproof.scenarios.schema import Step


def read_step(place: Place, fields: Fields) -> Step | None:
    """A transition's name, or a map from it to its identifiers; None after noting a problem."""
    transitions = {kebab(t.name): t for t in fields.system.transitions}
    if not place.is_map:
        name = _named(place, transitions)
        return Step(Firing(transitions[name], ()), place.line) if name else None
    entries = place.entries() or {}
    extra = {key: entries.pop(key) for key in ("after", "then") if key in entries}
    if len(entries) != 1:
        place.fail(f"expected one transition, not {', '.join(entries) or 'nothing'}")
        return None
    ((name, chosen),) = entries.items()
    if kebab(name) not in transitions:
        chosen.fail(f"there is no such transition{hint(name, sorted(transitions))}")
        return None
    firing = _firing(transitions[kebab(name)], chosen, fields)
    after = extra["after"].seconds() if "after" in extra else None
    then = read_facts(extra.get("then"), fields)
    return Step(firing, chosen.line, after, then) if firing else None


def read_facts(place: Place | None, fields: Fields) -> tuple[Fact, ...]:
    """The entries of a ``then:``."""
    if place is None:
        return ()
    entries = place.entries("a map of facts") or {}
    facts = [read_fact(key, item, fields) for key, item in entries.items()]
    return tuple(fact for fact in facts if fact)


def kebab(name: str) -> str:
    """A function's name as it is written in a scenario; both ways are read."""
    return name.replace("_", "-")


def written(firing: Firing, system: System) -> str:
    """A firing the way a scenario writes it: crash: {worker: decode-0}."""
    name = kebab(firing.transition.name)
    chosen = ", ".join(f"{key}: {value}" for key, value in firing.named(system).items())
    return f"{name}: {{{chosen}}}" if chosen else name


def _named(place: Place, transitions: dict[str, Transition[..., object]]) -> str | None:
    """The name of a transition that takes nothing."""
    written = place.value
    if not isinstance(written, str):
        place.wrong("a transition, such as crash: {worker: decode-0}")
        return None
    name = kebab(written)
    if name not in transitions:
        place.fail(f"there is no transition {written!r}{hint(name, sorted(transitions))}")
        return None
    parameters = transitions[name].parameters
    if parameters:
        needed = ", ".join(f"{parameter}: ..." for parameter, _ in parameters)
        place.fail(f"{written} needs to know which: {written}: {{{needed}}}")
        return None
    return name


def _firing(transition: Transition[..., object], place: Place, fields: Fields) -> Firing | None:
    """The transition with the identifiers that a map gives by name."""
    sorts = dict(transition.parameters)
    if place.is_scalar and place.value is None:
        given: dict[str, Place] = {}
    else:
        what = f"{{{', '.join(f'{name}: ...' for name in sorts)}}}" if sorts else "nothing"
        given = place.record(sorts, what)
        if not place.is_map:
            return None
    missing = [name for name in sorts if name not in given]
    if missing:
        place.fail(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        return None
    system = fields.system
    chosen = []
    for name, sort in sorts.items():
        labels = {system.label(sort, i): i for i in range(system.schema.counts[sort])}
        label = given[name].choice(labels, sort.name)
        chosen.append(None if label is None else labels[label])
    arguments = tuple(index for index in chosen if index is not None)
    return Firing(transition, arguments) if len(arguments) == len(sorts) else None
