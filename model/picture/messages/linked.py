"""Between whom links and bootstrap rooms have messages pass."""

from __future__ import annotations

from typing import Final

from rackproof.model.picture.cast import NVLINK
from rackproof.model.picture.scene import Between, Scene, alone, named, peer


def _reader(scene: Scene) -> str:
    """Who reads over the link."""
    return scene.cast.worker(scene.before.link_readers[scene.ids["link"]])


def _owner(scene: Scene) -> str:
    """Whose memory the link reaches."""
    return scene.cast.worker(scene.before.link_owners[scene.ids["link"]])


def _prefill(scene: Scene) -> str:
    """The prefill side of a room."""
    return scene.cast.prefill_side


def _decode(scene: Scene) -> str:
    """The decode side of a room."""
    return scene.cast.decode_side


LINKED: Final[dict[str, Between]] = {
    "peer_crash": alone(peer),
    "replace_peer": alone(peer),
    "allocate_memory": alone(peer),
    "domain_fault": alone(named(NVLINK)),
    "scale_up": alone(_reader),
    "ask": alone(_reader),
    "connect": (_reader, _owner),
    "find_no_peer": alone(_reader),
    "refuse_handshake": (_reader, _owner),
    "reject_handshake": (_owner, _reader),
    "handshake_failure": alone(_reader),
    "begin_prepare": alone(_reader),
    "end_prepare": alone(_reader),
    "post_read": (_reader, _owner),
    "post_with_stale_handle": (_reader, _owner),
    "refuse_stale_handle": alone(_reader),
    "link_post_failure": alone(_reader),
    "data_lands": (_owner, _reader),
    "use_data": alone(_reader),
    "refuse_data": alone(_reader),
    "use_too_early": alone(_reader),
    "close_endpoint": alone(_reader),
    "close_under_unpack": alone(_reader),
    "weight_update": alone(peer),
    "reuse_prefix": alone(peer),
}

ROOMS: Final[dict[str, Between]] = {
    "enter": alone(_decode),
    "duplicate_room": alone(_decode),
    "prefill_is_heard": (_prefill, _decode),
    "admit_guest": (_decode, _prefill),
    "send_kv": (_prefill, _decode),
    "report_sent": alone(_prefill),
    "room_failure": alone(_prefill),
    "conclude": alone(_decode),
}
