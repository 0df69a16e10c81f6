"""Between whom look-ups, reads and writes of a shared store pass."""

from __future__ import annotations

from typing import Final

from rackproof.model.picture.cast import METADATA, USER
from rackproof.model.picture.scene import (
    Between,
    Scene,
    alone,
    lender,
    master,
    named,
    segment,
    store_client,
    where,
)
from rackproof.model.sorts import Clients


def _first_rank(scene: Scene) -> str:
    return scene.cast.names[Clients][0]


def _last_rank(scene: Scene) -> str:
    return scene.cast.names[Clients][-1]


def _lets_go(scene: Scene) -> bool:
    """Whether the client has the master hold an object for it."""
    return scene.before.readers[scene.ids["client"]].pins > 0


_metadata: Final = named(METADATA)

STORED: Final[dict[str, Between]] = {
    "look_up": (store_client, master),
    "look_up_together": (_first_rank, master),
    "find": (master, store_client),
    "miss": (master, store_client),
    "use_hot_copy": alone(store_client),
    "read_first_half": (lender, store_client),
    "read_second_half": (lender, store_client),
    "read_breaks_off": alone(store_client),
    "get_failure": alone(store_client),
    "short_get": alone(store_client),
    "slow_get": alone(store_client),
    "validate": (store_client, master),
    "trust": alone(store_client),
    "agree": (_first_rank, _last_rank),
    "fall_back": alone(store_client),
    "use": (store_client, where(_lets_go, master, store_client)),
    "lock_objects": alone(master),
    "start_put": (master, store_client),
    "put_refused": (master, store_client),
    "give_up_put": (master, store_client),
    "write": (store_client, lender),
    "commit": (store_client, master),
    "write_breaks_off": alone(store_client),
    "put_failure": alone(store_client),
    "free_again": (store_client, master),
    "evict_object": alone(master),
    "pressure": alone(master),
    "removal": (named(USER), master),
    "reclaim": alone(master),
    "disk_eviction": alone(lender),
    "client_crash": alone(store_client),
    "sweep_pins": alone(master),
    "discard_put": alone(master),
    "slow_put": alone(store_client),
    "segment_loss": alone(segment),
    "segment_return": alone(segment),
    "segment_silence": alone(segment),
    "start_unmount": alone(master),
    "lock_segments": alone(master),
    "finish_unmount": alone(master),
    "mount": (segment, master),
    "metadata_loss": alone(_metadata),
    "republish": (segment, _metadata),
    "master_crash": alone(master),
    "master_hang": alone(master),
    "fail_over": alone(master),
}
