"""What steps of a shared store came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rackproof.model.picture.scene import Scene
from rackproof.model.protocol import StoreProtection
from rackproof.model.sorts import Keys, Segments
from rackproof.model.store.common import right
from rackproof.model.store.records import Entry, Get, Mount, Reader


def _reader(scene: Scene) -> Reader:
    return scene.before.readers[scene.ids["client"]]


def _after(scene: Scene) -> Reader:
    return scene.after.readers[scene.ids["client"]]


def _miss(scene: Scene) -> str:
    entry = scene.before.objects[scene.ids["key"]].entry
    has = "no {key}" if entry is Entry.ABSENT else "{key} only as being written"
    return f"The master has {has}: {{client}} computes it, and wants to put it."


def _find(scene: Scene) -> str:
    tells = "The master tells {client} that {key} lies in {space}"
    space = scene.ids["space"]
    pins = scene.after.spaces[space].pins - scene.before.spaces[space].pins
    match scene.before.protocol.store_protection:
        case StoreProtection.NONE:
            return f"{tells}, and does nothing to keep it there."
        case StoreProtection.LEASE:
            return f"{tells}, and keeps it there for the time of a lease."
        case _:
            return f"{tells}, and pins it there{' twice' if pins > 1 else ''}."


def _half(which: str) -> Callable[[Scene], str]:
    def told(scene: Scene) -> str:
        gets = f"{{client}} gets the {which} half of what lies in {{space}}"
        if right(scene.before, scene.ids["client"], scene.ids["space"]):
            return f"{gets}."
        room = scene.before.spaces[scene.ids["space"]]
        what = "nothing" if room.content is None else scene.called(Keys, room.content)
        part = "" if room.whole or room.content is None else "a part of "
        return f"{gets}, which is {part}{what} by now."

    return told


def _get_fails(words: str) -> Callable[[Scene], str]:
    """What an engine makes of a read that failed."""

    def told(scene: Scene) -> str:
        match _after(scene).stage:
            case Get.READ:
                return f"{words}, and {{client}} takes it for done."
            case Get.STUCK:
                return f"{words}, and {{client}} goes on waiting for it."
            case _:
                return f"{words}{_unpinned(scene)}."

    return told


def _unpinned(scene: Scene) -> str:
    """Whether a client lets go of an object when its read fails."""
    held = _reader(scene).pins
    space = scene.ids["space"]
    was, now = (world.spaces[space].pins for world in (scene.before, scene.after))
    return "; its pin is not given back" if held and now == was else ""


def _short_get(scene: Scene) -> str:
    brings = "The read of {client} from {space} brings only the first of its bytes, and no error"
    if _after(scene).stage is Get.READ and not scene.before.protocol.check_length:
        return f"{brings}: {{client}} takes it for whole."
    return _get_fails(f"{brings}; by its length that is found")(scene)


def _slow_get(scene: Scene) -> str:
    slow = "The read of {client} from {space} takes longer than a lease lasts"
    if _reader(scene).pins and not _after(scene).pins:
        return f"{slow}: nothing keeps its object there any more."
    return f"{slow}, by which it is not kept there."


def _validate(scene: Scene) -> str:
    asks = (
        "{client} has read {space}, and asks the master whether its object was in it all the time"
    )
    good = _after(scene).stage is Get.VALID
    return f"{asks}: it was." if good else f"{asks}: it was not, and the read fails."


def _use(scene: Scene) -> str:
    here, after = _reader(scene), _after(scene)
    wrong = ", which it is not" if here.wrong else ""
    uses = f"{{client}} uses what it read from {{space}} as {{key}}{wrong}"
    if after.unpinned_twice and not here.unpinned_twice:
        return f"{uses}, and gives its pin back to the master twice."
    return f"{uses}, and tells the master that it needs it no more." if here.pins else f"{uses}."


def _use_hot_copy(scene: Scene) -> str:
    uses = "{client} has a copy of {key} of its own, and uses it without asking"
    stale = _reader(scene).copy_put < _reader(scene).since
    return f"{uses}; it is out of date." if stale else f"{uses}."


def _commit(scene: Scene) -> str:
    tells = "{client} tells the master that {key} is whole in {space}"
    found, here = scene.before.objects[scene.ids["key"]], _reader(scene)
    if found.put == here.put and found.space == scene.ids["space"]:
        return f"{tells}: it can be looked up."
    return f"{tells}, which no longer has that put."


def _put_fails(words: str) -> Callable[[Scene], str]:
    """What becomes of a put that failed."""

    def told(scene: Scene) -> str:
        after, here = _after(scene), _reader(scene)
        if after.stage is Get.TO_PUT:
            return f"{words}: it is to be tried elsewhere."
        if after.put_lost and not here.put_lost:
            return f"{words}, and is given up, though there is room elsewhere."
        if after.owes_free:
            return f"{words}: {{space}} is freed, and the buffer of {{client}} is to free it, too."
        return f"{words}, and is given up."

    return told


def _dropped(words: str) -> Callable[[Scene], str]:
    """An object that the master drops, and who still reads where it lay."""

    def told(scene: Scene) -> str:
        found = scene.before.objects[scene.ids["key"]]
        room = None if found.space is None else scene.after.spaces[found.space]
        held = found.space is not None and scene.before.spaces[found.space].pins
        if held and room is not None and room.owner is None:
            return f"{words}, though somebody holds it to read."
        return f"{words}."

    return told


def _slow_put(scene: Scene) -> str:
    slow = "{client} takes too long over its put of {key} into {space}"
    if scene.after.objects[scene.ids["key"]].entry is Entry.PROCESSING:
        return f"{slow}, which nobody discards."
    freed = scene.after.spaces[scene.ids["space"]].owner is None
    return f"{slow}: it is discarded{', and the space freed under it' if freed else ''}."


def _disk_eviction(scene: Scene) -> str:
    drops = "The disk with {space} is full, and drops {key}"
    there = scene.after.objects[scene.ids["key"]].entry is Entry.COMPLETE
    return f"{drops}; the master is not told." if there else f"{drops}, which the master is told."


def _mount(scene: Scene) -> str:
    announces = "The worker with {segment} announces itself to the master, and is told that it is"
    mount = scene.before.segments[scene.ids["segment"]].mount
    if mount is Mount.UNMOUNTING:
        return f"{announces} mounted, while it is being struck off."
    again = "" if mount is Mount.GONE else " still"
    return f"{announces}{again} mounted."


def _fail_over(scene: Scene) -> str:
    pairs = enumerate(zip(scene.before.objects, scene.after.objects, strict=True))
    lost = scene.listed(
        scene.called(Keys, key)
        for key, (was, now) in pairs
        if was.entry is Entry.COMPLETE and now.entry is not Entry.COMPLETE
    )
    knows = f", which knows nothing of {lost}" if lost else ""
    return f"Another master takes over{knows}."


def _finish_unmount(scene: Scene) -> str:
    pairs = enumerate(zip(scene.before.objects, scene.after.objects, strict=True))
    lost = scene.listed(
        scene.called(Keys, key)
        for key, (was, now) in pairs
        if was.entry is not Entry.ABSENT and now.entry is Entry.ABSENT
    )
    struck = f", and {lost} with it" if lost else ""
    up = scene.before.segments[scene.ids["segment"]].up
    there = "; its worker is up" if up else ""
    return f"The master has struck off {{segment}}{struck}{there}."


def _segment_loss(scene: Scene) -> str:
    held = {
        room.content
        for room, lender in zip(scene.before.spaces, scene.before.lenders, strict=True)
        if lender == scene.ids["segment"] and room.content is not None
    }
    lay = scene.listed(scene.called(Keys, key) for key in sorted(held))
    gone = f"{lay} is gone with it" if lay else "nothing lay there"
    return f"The worker with {{segment}} dies: {gone}."


def _metadata_loss(scene: Scene) -> str:
    names = scene.listed(
        scene.called(Segments, segment) for segment in range(len(scene.before.segments))
    )
    return f"The metadata server restarts empty: the address of {names} cannot be found."


def _as(words: str) -> Callable[[Scene], str]:
    """What a step always comes to, with who it is that answers."""

    def told(_: Scene) -> str:
        return words

    return told


STORED: Final[Mapping[str, Callable[[Scene], str]]] = {
    "miss": _miss,
    "look_up": _as("{client} asks the master for {key}."),
    "look_up_together": _as("A request is scheduled: each of its ranks asks the master for {key}."),
    "put_refused": _as(
        "The master refuses the put of {key} by {client}: it is there already, or being written."
    ),
    "give_up_put": _as(
        "The master finds no room for the put of {client} and nothing to evict: it is given up."
    ),
    "free_again": _as(
        "The buffer of {client} is destroyed, which has the master free {space} once more."
    ),
    "republish": _as(
        "The worker with {segment} finds that its address is missing at the metadata server, and "
        "publishes it there again."
    ),
    "find": _find,
    "read_first_half": _half("first"),
    "read_second_half": _half("second"),
    "read_breaks_off": _get_fails(
        "The read of {client} from {space} fails: it is not reached, or has nothing to read"
    ),
    "get_failure": _get_fails("The read of {client} from {space} ends in an error"),
    "short_get": _short_get,
    "slow_get": _slow_get,
    "validate": _validate,
    "use": _use,
    "use_hot_copy": _use_hot_copy,
    "commit": _commit,
    "write_breaks_off": _put_fails("The write of {key} into {space} by {client} cannot get there"),
    "put_failure": _put_fails("The put of {key} into {space} by {client} ends in an error"),
    "evict_object": _dropped("The master evicts {key} from {space}, as a put needs the room"),
    "pressure": _dropped("The master evicts {key} from {space}, as others need memory"),
    "removal": _dropped("A user has the master remove {key}"),
    "slow_put": _slow_put,
    "disk_eviction": _disk_eviction,
    "mount": _mount,
    "fail_over": _fail_over,
    "finish_unmount": _finish_unmount,
    "segment_loss": _segment_loss,
    "metadata_loss": _metadata_loss,
}
