"""Between whom requests, their KV, and what is thought of workers pass."""

from __future__ import annotations

from typing import Final

from rackproof.model.endpoint import Process
from rackproof.model.kv import Hold
from rackproof.model.picture.scene import (
    Between,
    Scene,
    alone,
    client,
    discovery,
    front,
    frontend,
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
from rackproof.model.request import Phase
from rackproof.model.stream import Link, Stage


def _says_so(scene: Scene) -> bool:
    """Whether a worker ends a stream itself: as it stops, or because of an error."""
    stopped = scene.before.endpoints[scene.ids["worker"]].process is Process.STOPPED
    return stopped or (scene.attempt.link is Link.ERROR and _is_its_own(scene))


def _is_its_own(scene: Scene) -> bool:
    return scene.attempt.worker == scene.ids["worker"]


def _is_double(scene: Scene) -> bool:
    """Whether the router takes a request for one that it has already."""
    return bool(scene.before.retries[scene.ids["request"]].booked)


def _holds_back(scene: Scene) -> bool:
    """Whether the text of a token stays with the frontend for now."""
    was, now = (
        world.streams[scene.ids["request"]].withheld for world in (scene.before, scene.after)
    )
    return now and not was


def _is_heard_of(scene: Scene) -> bool:
    """Whether discovery is there to say anything."""
    return scene.before.discovery_up


def _fenced(scene: Scene) -> bool:
    """Whether a token that is late stays with the worker."""
    return scene.before.protocol.fence_steps


def _is_told(scene: Scene) -> bool:
    """Whether the frontend is told that KV is ready."""
    was, now = (world.requests[scene.ids["request"]].phase for world in (scene.before, scene.after))
    return was is not now and now is Phase.READY


def _releases(scene: Scene) -> bool:
    """Whether the prefill worker learns that it may free what it holds."""
    return scene.load.hold == Hold.HELD and scene.load_after.hold == Hold.FREED


def _asks_or_releases(scene: Scene) -> bool:
    """Whether a worker that has room reads KV or asks for it, or says that it needs none."""
    attempts = scene.after.streams[scene.ids["request"]].attempts
    loads = attempts[scene.ids["attempt"]].stage is Stage.LOADING
    return (loads and (_pushes(scene) or scene.load_after.flying > 0)) or _releases(scene)


def _pushes(scene: Scene) -> bool:
    return scene.before.protocol.transfer == Transfer.PUSH


def _queued_for_decode(scene: Scene) -> bool:
    return scene.attempt.stage == Stage.ACCEPTED


def _on_tray(scene: Scene) -> str:
    """The first worker on the tray."""
    return scene.cast.worker(scene.before.trays.index(scene.ids["tray"]))


REQUESTS: Final[dict[str, Between]] = {
    "leave": (client, front),
    "dispatch": (router, where(_is_double, router, worker)),
    "dispatch_without_prefill": (router, worker),
    "dispatch_decode": (router, worker),
    "nobody_left": (router, frontend),
    "start_stream": (worker, frontend),
    "refuse": (worker, frontend),
    "prefill_error": alone(worker),
    "notice": (where(_says_so, worker, frontend), frontend),
    "stream_timeout": alone(frontend),
    "cancel_pending": (discovery, frontend),
    "ask_again": (client, front),
    "release_booking": (frontend, router),
    "lost_release": alone(router),
    "expire_booking": alone(router),
    "emit": (worker, frontend),
    "finish": (worker, frontend),
    "finish_with_last_token": (worker, frontend),
    "receive": (frontend, where(_holds_back, frontend, client)),
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
    "slow_read": alone(prefilling),
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
    "grace_ends": alone(worker),
    "self_fence": (where(_is_heard_of, discovery, worker), worker),
    "fail_health_check": alone(worker),
    "clock_skew": alone(worker),
    "lease_expires": alone(discovery),
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

OTHERS: Final[dict[str, Between]] = {"another_request_fails": (worker, router)}
"""What only a world has in which one request of many is looked at."""
