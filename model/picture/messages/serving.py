"""Between whom requests, their KV, and what is thought of workers pass."""

from __future__ import annotations

from typing import Final

from rackproof.model.endpoint import ANSWERS
from rackproof.model.kv import Hold
from rackproof.model.picture.scene import (
    Between,
    Scene,
    alone,
    client,
    discovery,
    front,
    frontend,
    peer,
    poster,
    prefilling,
    router,
    serving,
    source_home,
    target_home,
    where,
    worker,
)
from rackproof.model.protocol import Transfer
from rackproof.model.stream import Link, Stage


def _cut_off(scene: Scene) -> bool:
    """Whether a stream broke on its way, its worker being there."""
    answers = scene.before.endpoints[scene.ids["worker"]].process in ANSWERS
    return scene.attempt.link == Link.BROKEN and answers


def _fenced(scene: Scene) -> bool:
    """Whether a token that is late stays with the worker."""
    return scene.before.protocol.fence_steps


def _is_told(scene: Scene) -> bool:
    """Whether the frontend hears of it."""
    request = scene.ids["request"]
    return scene.before.requests[request] != scene.after.requests[request]


def _releases(scene: Scene) -> bool:
    """Whether the prefill worker learns that it may free what it holds."""
    return scene.load.hold == Hold.HELD and scene.load_after.hold == Hold.FREED


def _asks_or_releases(scene: Scene) -> bool:
    """Whether a worker that has room asks for KV, or says that it needs none."""
    attempts = scene.after.streams[scene.ids["request"]].attempts
    asks = attempts[scene.ids["attempt"]].stage == Stage.LOADING
    return asks or _releases(scene)


def _pushes(scene: Scene) -> bool:
    return scene.before.protocol.transfer == Transfer.PUSH


def _queued_for_decode(scene: Scene) -> bool:
    return scene.attempt.stage == Stage.ACCEPTED


def _on_tray(scene: Scene) -> str:
    """The first worker on the tray."""
    return scene.cast.worker(scene.before.trays.index(scene.ids["tray"]))


REQUESTS: Final[dict[str, Between]] = {
    "leave": (client, front),
    "dispatch": (router, worker),
    "dispatch_without_prefill": (router, worker),
    "dispatch_decode": (router, worker),
    "nobody_left": (router, frontend),
    "start_stream": (worker, frontend),
    "refuse": (worker, frontend),
    "prefill_error": alone(worker),
    "notice": (where(_cut_off, frontend, worker), frontend),
    "stream_timeout": alone(frontend),
    "cancel_pending": (discovery, frontend),
    "ask_again": (client, front),
    "release_booking": (frontend, router),
    "lost_release": alone(router),
    "expire_booking": alone(router),
    "emit": (worker, frontend),
    "finish": (worker, frontend),
    "finish_with_last_token": (worker, frontend),
    "receive": (frontend, client),
    "receive_finish": (frontend, client),
    "receive_end": alone(frontend),
    "disconnect": alone(frontend),
    "preemption": alone(worker),
    "late_token": (worker, where(_fenced, worker, client)),
}

TRANSFERS: Final[dict[str, Between]] = {
    "prefill": (worker, where(_is_told, frontend, worker)),
    "drop_prefill": (frontend, worker),
    "admit": (worker, where(_asks_or_releases, prefilling, worker)),
    "hold_expires": alone(source_home),
    "slow_read": alone(serving),
    "long_queue": alone(where(_queued_for_decode, serving, prefilling)),
    "lost_ack": alone(serving),
    "post": (
        where(_pushes, source_home, target_home),
        where(_pushes, target_home, source_home),
    ),
    "land": (source_home, target_home),
    "load_ends": (target_home, where(_releases, prefilling, target_home)),
    "transfer_failure": alone(poster),
    "post_failure": alone(poster),
    "peer_is_gone": alone(target_home),
    "load_timeout": alone(target_home),
    "abort": (frontend, worker),
    "abort_completes": alone(target_home),
}

WORKERS: Final[dict[str, Between]] = {
    "crash": alone(worker),
    "restart": alone(worker),
    "hang": alone(worker),
    "resume": alone(worker),
    "tray_loss": alone(_on_tray),
    "drain": alone(worker),
    "grace_ends": (worker, frontend),
    "self_fence": (discovery, worker),
    "fail_health_check": (worker, peer),
    "clock_skew": alone(worker),
    "lease_expires": (worker, discovery),
    "lost_renewal": alone(worker),
    "churn": alone(discovery),
    "mirror_catches_up": (discovery, router),
    "discovery_outage": alone(discovery),
    "discovery_returns": alone(discovery),
    "frontend_drain": alone(frontend),
    "restore": alone(router),
    "half_open": alone(router),
    "overload": alone(worker),
    "report_load": (worker, router),
    "load_drops": alone(worker),
    "clear_mark": (worker, router),
    "lost_report": alone(worker),
}
