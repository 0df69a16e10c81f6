"""What steps of links and of bootstrap rooms came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rackproof.model.peers import Life, Read
from rackproof.model.peers import Link as Way
from rackproof.model.picture.scene import Scene
from rackproof.model.protocol import CacheOnUpdate
from rackproof.model.rooms import Guest, Room, Status
from rackproof.model.sorts import Versions, Workers


def _link(scene: Scene) -> Way:
    return scene.before.links[scene.ids["link"]]


def _reader(scene: Scene) -> int:
    return scene.before.link_readers[scene.ids["link"]]


def _then(words: str) -> Callable[[Scene], str]:
    """What a request that waits on a link is left with, where it cannot be served over it."""

    def told(scene: Scene) -> str:
        return f"{words}{_failed(scene)}."

    return told


def _failed(scene: Scene) -> str:
    """What becomes of the reader and its request."""
    if _dies(scene):
        return f": {scene.called(Workers, _reader(scene))} dies of it"
    was, now = _link(scene).read, scene.after.links[scene.ids["link"]].read
    if now is was:
        return ""
    if now is Read.STRANDED:
        return ": its request goes on waiting, and nobody comes back to it"
    return ": its request fails" if now is Read.FAILED else ""


def _dies(scene: Scene) -> bool:
    was, now = (world.peers[_reader(scene)].life for world in (scene.before, scene.after))
    return was is Life.UP and now is not Life.UP


def _domain_fault(scene: Scene) -> str:
    fault = "The NVLink domain has a fault: what is mapped over it is out of reach"
    pairs = enumerate(zip(scene.before.peers, scene.after.peers, strict=True))
    dead = scene.listed(
        scene.called(Workers, peer)
        for peer, (was, now) in pairs
        if was.life is Life.UP and now.life is not Life.UP
    )
    return f"{fault}, and {dead} dies of it." if dead else f"{fault}."


def _data_lands(scene: Scene) -> str:
    landed = scene.after.links[scene.ids["link"]].landed
    arrives = "The KV arrives over {link}, and its signal behind it"
    if landed == scene.before.peers[_reader(scene)].weights:
        return f"{arrives}."
    return f"{arrives}: KV of {Versions}-{landed}, which is not what the reader has."


def _use_data(scene: Scene) -> str:
    uses = "The reader of {link} sees the signal, and decodes from the KV that arrived"
    here = _link(scene)
    own = scene.before.peers[_reader(scene)].weights
    if here.landed != own:
        return f"{uses}, which is of {Versions}-{here.landed} where its own is {Versions}-{own}."
    kinds = " and ".join(kind.value.replace("_", " ") for kind in scene.before.differs)
    return f"{uses}, whose {kinds} is not its own." if kinds else f"{uses}."


def _weight_update(scene: Scene) -> str:
    updates = "The weights of {peer} are updated in place, to {version}"
    match scene.before.protocol.cache_on_weight_update:
        case CacheOnUpdate.CLEAR:
            return f"{updates}, and its cached prefixes are dropped."
        case CacheOnUpdate.KEEP:
            return f"{updates}; its cached prefixes stay as they are."
        case _:
            return f"{updates}; its cached prefixes are no longer found."


def _room(scene: Scene) -> Room:
    return scene.before.rooms[scene.ids["room"]]


def _enter(scene: Scene) -> str:
    enters = "A request enters {room}, which nobody is in"
    status = scene.after.rooms[scene.ids["room"]].status
    if status is Status.BOOTSTRAPPING:
        return f"{enters}."
    return f"{enters}; its status is still that of the request before: {status.value}."


def _duplicate_room(scene: Scene) -> str:
    comes = "Another request comes with the number of {room}, which is in use"
    crashed = scene.after.rooms[scene.ids["room"]].crashed
    return f"{comes}: both schedulers die over it." if crashed else f"{comes}, and is rejected."


def _admit_guest(_: Scene) -> str:
    allocates = "The decode worker allocates blocks for the request in {room}"
    return f"{allocates}, and tells the prefill worker where."


def _report_sent(scene: Scene) -> str:
    sent = "The transfer worker reports that the KV of {room} is sent"
    was, now = _room(scene), scene.after.rooms[scene.ids["room"]]
    if was.status is not Status.FAILED:
        return f"{sent}."
    if now.status is Status.FAILED:
        return f"{sent}, which does not count: it has failed."
    whose = "" if was.guest is Guest.NONE else " for the request that is in it"
    return f"{sent}: it had failed, and is a success now{whose}."


def _conclude(scene: Scene) -> str:
    ended = "failed" if _room(scene).status is Status.FAILED else "succeeded"
    return f"The decode worker sees that {{room}} {ended}, and the request leaves it."


LINKED: Final[Mapping[str, Callable[[Scene], str]]] = {
    "find_no_peer": _then("The reader of {link} finds nobody to shake hands with"),
    "refuse_handshake": _then(
        "The handshake over {link} finds that the two workers are not compatible"
    ),
    "reject_handshake": _then(
        "The peer still has an endpoint for the reader of {link}, and rejects the handshake"
    ),
    "handshake_failure": _then("The handshake over {link} runs into its time limit"),
    "link_post_failure": _then("The read over {link} cannot be posted, though the peer is there"),
    "close_endpoint": _then(
        "The transport of {link} finds its peer gone, or out of reach, and closes the endpoint"
    ),
    "domain_fault": _domain_fault,
    "data_lands": _data_lands,
    "use_data": _use_data,
    "weight_update": _weight_update,
    "enter": _enter,
    "duplicate_room": _duplicate_room,
    "admit_guest": _admit_guest,
    "report_sent": _report_sent,
    "conclude": _conclude,
}
