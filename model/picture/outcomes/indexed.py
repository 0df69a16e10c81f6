"""What steps of caches and of the router's index came to: which prefix, and by which event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from rackproof.model.cache import Cache, Event, Kind
from rackproof.model.index import Answer, Known, Lane
from rackproof.model.picture.scene import Scene
from rackproof.model.protocol import AfterGap, RestartSignal
from rackproof.model.sorts import Prefixes, Workers


def _known(scene: Scene) -> Known:
    return scene.before.known[scene.ids["worker"]]


def _after(scene: Scene) -> Known:
    return scene.after.known[scene.ids["worker"]]


def _cache(scene: Scene) -> Cache:
    return scene.before.caches[scene.ids["worker"]]


def _what(event: Event) -> str:
    """What an event tells."""
    return (
        "all cleared" if event.prefix is None else f"{Prefixes}-{event.prefix} {event.kind.value}"
    )


def _numbered(event: Event) -> str:
    return f"event {event.number} ({_what(event)})"


def _first(scene: Scene) -> str:
    """The oldest event on its way from the worker."""
    return f"{_numbered(_cache(scene).flight[0])} of {{worker}}"


def _prefixes(held: Collection[int]) -> str:
    return ", ".join(f"{Prefixes}-{prefix}" for prefix in sorted(held)) or "nothing"


def _asks(scene: Scene) -> str:
    """What the router asks a worker for, if it asks."""
    if _after(scene).lane is not Lane.ASKING:
        return ""
    if scene.before.protocol.after_gap is AfterGap.REPLAY:
        return f", and asks {{worker}} for its events from {_after(scene).due} on"
    return ", and asks {worker} what it holds"


def _published(did: str, what: str) -> Callable[[Scene], str]:
    """A change of a cache, with the event that tells of it."""

    def told(scene: Scene) -> str:
        cache = _cache(scene)
        heard = " to the router" if cache.subscribed else ", where the router does not listen"
        return f"{{worker}} {did}, and publishes event {cache.next} ({what}){heard}."

    return told


def _lost_event(scene: Scene) -> str:
    lost = "is lost on its way to the router: a blip, a full buffer, a slow consumer"
    return f"{_first(scene).capitalize()} {lost}."


def _publish_failure(scene: Scene) -> str:
    event = _numbered(_cache(scene).flight[0])
    return f"{{worker}} fails to publish {event}: the number is used, nothing is sent or kept."


def _engine_restart(scene: Scene) -> str:
    again = "The engine of {worker} starts again under its old name, with an empty cache"
    cache = _cache(scene)
    goes_on = scene.before.protocol.persistent_publisher
    counts = f"its events go on from {cache.next}" if goes_on else "it counts its events from 0"
    if scene.before.protocol.restart_signal is RestartSignal.CLEARED:
        number = cache.next if goes_on else 0
        return f"{again}: {counts}, and publishes event {number} (all cleared)."
    return f"{again}: {counts}."


def _rejoin(_: Scene) -> str:
    again = "{worker}, which was dead and removed, starts again and registers under its old name"
    return f"{again}: its cache is empty, and it counts its events from 0."


def _removed(scene: Scene) -> str:
    """What the router forgets of a worker that it takes off its list."""
    after, before = _after(scene), _known(scene)
    index = "what the index has of it stays" if after.believed else "the index has nothing of it"
    more = " any more" if before.believed and not after.believed else ""
    still = "still" if after.due == before.due else "again"
    return f"{index}{more}, and the event expected next is {still} {after.due}"


def _reregistration(scene: Scene) -> str:
    again = "{worker} is taken off the router's list and put on it again, while its engine goes on"
    flight = [event for event in _cache(scene).flight if event.kind is not Kind.NOTHING]
    told = scene.listed(_numbered(event) for event in flight)
    lost = f"; {told} on its way is lost" if flight else ""
    asks = _asks(scene).replace(", and asks", "; the router asks")
    return f"{again}: {_removed(scene)}{lost}{asks}."


def _router_restart(_: Scene) -> str:
    return "The router starts again, with an empty index; what was on its way to it is lost."


def _read_for_split(scene: Scene) -> str:
    seen = scene.listed(scene.called(Workers, worker) for worker in sorted(_after(scene).seen))
    splits = "To enter {worker} at {prefix}, the router splits a node of the index, and reads that"
    return f"{splits} {seen} {'are' if len(_after(scene).seen) > 1 else 'is'} in it."


def _apply_stored(scene: Scene) -> str:
    known, prefix = _known(scene), _cache(scene).flight[0].prefix
    gone = ", which is off its list," if known.lane is Lane.GONE else ","
    if prefix in known.believed:
        return f"The router hears {_first(scene)}{gone} and has that in the index already."
    return f"The router hears {_first(scene)}{gone} and enters that in the index."


def _write_split(scene: Scene) -> str:
    enters = (
        "The router enters {worker} at {prefix} in the index, with the workers that it has read"
    )
    prefix = scene.ids["prefix"]
    back = scene.listed(
        scene.called(Workers, worker)
        for worker in sorted(_known(scene).seen - {scene.ids["worker"]})
        if prefix not in scene.before.known[worker].believed
    )
    return f"{enters}; {back}, which was taken out since, is in it again." if back else f"{enters}."


def _refuse_orphan(scene: Scene) -> str:
    parent = f"{Prefixes}-{scene.ids['prefix'] - 1}"
    why = f"as the index does not have {parent}, which that continues"
    return f"The router hears {_first(scene)}, and refuses it, {why}{_asks(scene)}."


def _apply_removed(scene: Scene) -> str:
    if _cache(scene).flight[0].prefix not in _known(scene).believed:
        return f"The router hears {_first(scene)}, and does not have that in the index."
    takes = f"The router hears {_first(scene)}, and takes that out of the index"
    return f"{takes}; the entry is empty, and to be deleted." if _after(scene).open else f"{takes}."


def _delete_entry(scene: Scene) -> str:
    gone = "The router deletes the entry of {prefix} in the index, which was empty without {worker}"
    prefix = scene.ids["prefix"]
    lost = scene.listed(
        scene.called(Workers, worker)
        for worker, known in enumerate(scene.before.known)
        if prefix in known.believed
    )
    return f"{gone}; {lost}, which was entered since, is lost with it." if lost else f"{gone}."


def _apply_cleared(scene: Scene) -> str:
    obeys = scene.before.protocol.obey_cleared
    does = "empties what the index has of it" if obeys else "does nothing about it"
    return f"The router hears {_first(scene)}, and {does}."


def _drop_event(scene: Scene) -> str:
    gone = _known(scene).lane is Lane.GONE
    why = "{worker} is not on its list" if gone else f"it expects event {_known(scene).due}"
    return f"The router drops {_first(scene)}: {why}."


def _see_gap(scene: Scene) -> str:
    expected = f"where it expects event {_known(scene).due}"
    return f"The router gets {_first(scene)}, {expected}{_asks(scene)}."


def _see_restart(scene: Scene) -> str:
    finds = f"By {_first(scene)} the router finds that its engine has started again"
    return f"{finds}: it forgets what the index has of it{_asks(scene)}."


def _heartbeat(scene: Scene) -> str:
    repeats = f"{{worker}} tells the router that its next event is {_cache(scene).next}"
    return f"{repeats}; the router expects {_known(scene).due}{_asks(scene)}."


def _answer(scene: Scene) -> str:
    cache, known = _cache(scene), _known(scene)
    if scene.before.protocol.after_gap is not AfterGap.REPLAY:
        return f"{{worker}} answers the router with all that it holds: {_prefixes(cache.holds)}."
    kept = [event for event in cache.kept if event.kind is not Kind.NOTHING]
    sent = scene.listed(_numbered(event) for event in kept if event.number >= known.due)
    told = f"the events that it kept from {known.due} on: {sent or 'there are none'}"
    return f"{{worker}} answers the router with {told}."


def _take_answer(scene: Scene) -> str:
    found = _known(scene).answer
    if found.refused:
        why = f"as the index does not have what {_orphan(scene, found)} continues"
        return f"The router refuses the answer of {{worker}}, {why}{_asks_again(scene)}."
    has = f"With the answer of {{worker}}, the index has of it: {_prefixes(found.content)}"
    return f"{has}; the router expects event {found.resume} next."


def _orphan(scene: Scene, found: Answer) -> str:
    """The first prefix of an answer that continues what the router does not know."""
    stored = (event.prefix for event in _cache(scene).kept if event.kind is Kind.STORED)
    orphans = (f"{Prefixes}-{it}" for it in stored if it and it - 1 not in found.content)
    return next(orphans, "a part of it")


def _asks_again(scene: Scene) -> str:
    return _asks(scene).replace(", and asks {worker}", ", and asks again")


def _attach(scene: Scene) -> str:
    finds = "The router finds {worker} in discovery and follows its events"
    return f"{finds} from {_after(scene).due} on{_asks(scene)}."


def _detach(scene: Scene) -> str:
    return f"The router hears from discovery that {{worker}} left: {_removed(scene)}."


def _resubscribe(scene: Scene) -> str:
    finds = "The router finds where the publisher of {worker} is now, and subscribes there"
    return f"{finds}{_asks(scene)}."


def _serve(scene: Scene) -> str:
    early = scene.after.router.early and not scene.before.router.early
    before = ", before it has heard from every live worker" if early else ""
    return f"The router begins to serve{before}."


INDEXED: Final[Mapping[str, Callable[[Scene], str]]] = {
    "store": _published("computes {prefix}, keeps it in its cache", "{prefix} stored"),
    "evict": _published(
        "evicts {prefix}, which nothing in its cache continues", "{prefix} removed"
    ),
    "clear_cache": _published("clears its whole cache, as for new weights", "all cleared"),
    "lost_event": _lost_event,
    "publish_failure": _publish_failure,
    "engine_restart": _engine_restart,
    "rejoin": _rejoin,
    "reregistration": _reregistration,
    "router_restart": _router_restart,
    "read_for_split": _read_for_split,
    "apply_stored": _apply_stored,
    "write_split": _write_split,
    "refuse_orphan": _refuse_orphan,
    "apply_removed": _apply_removed,
    "delete_entry": _delete_entry,
    "apply_cleared": _apply_cleared,
    "drop_event": _drop_event,
    "see_gap": _see_gap,
    "see_restart": _see_restart,
    "heartbeat": _heartbeat,
    "answer": _answer,
    "take_answer": _take_answer,
    "attach": _attach,
    "detach": _detach,
    "resubscribe": _resubscribe,
    "serve": _serve,
}
