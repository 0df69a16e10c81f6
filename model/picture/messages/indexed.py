"""Between whom events of caches, and what is asked of them, pass."""

from __future__ import annotations

from typing import Final

from rackproof.model.index import Lane
from rackproof.model.picture.scene import (
    Between,
    Scene,
    alone,
    discovery,
    index,
    router,
    where,
    worker,
)


def _subscribed(scene: Scene) -> bool:
    """Whether the router listens where a worker publishes."""
    return scene.before.caches[scene.ids["worker"]].subscribed


def _asks(scene: Scene) -> bool:
    """Whether the router asks a worker what it holds."""
    return scene.after.known[scene.ids["worker"]].lane == Lane.ASKING


def _obeys(scene: Scene) -> bool:
    """Whether the router takes out of the index what an engine has cleared."""
    return scene.before.protocol.obey_cleared


def _published() -> Between:
    return worker, where(_subscribed, router, worker)


INDEXED: Final[dict[str, Between]] = {
    "store": _published(),
    "evict": _published(),
    "clear_cache": _published(),
    "lost_event": alone(router),
    "publish_failure": alone(worker),
    "engine_restart": alone(worker),
    "rejoin": alone(worker),
    "publisher_move": alone(worker),
    "reregistration": alone(router),
    "router_restart": alone(router),
    "read_for_split": (index, router),
    "apply_stored": (router, index),
    "write_split": (router, index),
    "refuse_orphan": (router, where(_asks, worker, router)),
    "apply_removed": (router, index),
    "delete_entry": (router, index),
    "apply_cleared": (router, where(_obeys, index, router)),
    "drop_event": alone(router),
    "see_gap": (router, worker),
    "see_restart": (router, where(_asks, worker, router)),
    "heartbeat": (worker, router),
    "answer": (worker, router),
    "take_answer": (router, where(_asks, worker, index)),
    "attach": (discovery, router),
    "detach": (discovery, router),
    "resubscribe": (router, worker),
    "serve": alone(router),
    "recovery_times_out": alone(router),
}
