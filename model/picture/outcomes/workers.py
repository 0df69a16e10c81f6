"""What steps of workers, discovery and the router's marks came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rackproof.model.picture.scene import Scene
from rackproof.model.picture.words import PROCESS
from rackproof.model.sorts import Requests, Workers
from rackproof.model.stream import Stage


def _restart(scene: Scene) -> str:
    again = "{worker} starts again under its old name, with empty memory: it knows of no request"
    if scene.before.protocol.epoch_on_restart:
        return f"{again}, and a new epoch tells it from the process before it."
    return f"{again}, and nothing tells it from the process before it."


def _tray_loss(scene: Scene) -> str:
    tray = scene.ids["tray"]
    on = [worker for worker, home in enumerate(scene.before.trays) if home == tray]
    names = scene.listed(scene.called(Workers, worker) for worker in on)
    gone = "are gone" if on[1:] else "is gone"
    return f"{{tray}} loses power: {names} {gone}, and no connection is closed."


def _grace_ends(scene: Scene) -> str:
    worker = scene.ids["worker"]
    stages = (Stage.ACCEPTED, Stage.LOADING, Stage.RUNNING)
    served = scene.listed(
        scene.called(Requests, request)
        for request, stream in enumerate(scene.before.streams)
        if any(
            here.worker == worker and here.stage in stages and not here.severed
            for here in stream.attempts
        )
    )
    aborts = f", and aborts {served}" if served else ""
    return f"The grace period of {{worker}} ends: it stops{aborts}."


def _self_fence(scene: Scene) -> str:
    if not scene.before.discovery_up:
        return "{worker} cannot renew its lease, as discovery is away, and stops itself."
    return "{worker} hears from discovery that its lease is gone, and stops itself."


def _lease_expires(scene: Scene) -> str:
    process = PROCESS[scene.before.endpoints[scene.ids["worker"]].process]
    return f"The lease of {{worker}}, which {process}, expires: discovery no longer lists it."


def _lost_renewal(scene: Scene) -> str:
    stalls = "A renewal of the discovery lease of {worker} stalls, though it is well"
    if scene.after.endpoints[scene.ids["worker"]].listed:
        return f"{stalls}, and is repeated in time."
    return f"{stalls}: discovery no longer lists it."


def _churn(scene: Scene) -> str:
    process = PROCESS[scene.before.endpoints[scene.ids["worker"]].process]
    leaves = f"Discovery no longer lists {{worker}}, which {process}, amid other changes"
    if scene.after.endpoints[scene.ids["worker"]].removal_missed:
        return f"{leaves}: who compares snapshots never sees that."
    return f"{leaves}, and says so."


def _discovery_outage(scene: Scene) -> str:
    away = "Discovery is away: no lease can be renewed"
    if any(was.listed for was in scene.before.endpoints) and not any(
        now.listed for now in scene.after.endpoints
    ):
        return f"{away}, and every worker counts as gone."
    return f"{away}, and what was known of workers is kept."


def _restore(scene: Scene) -> str:
    process = PROCESS[scene.before.endpoints[scene.ids["worker"]].process]
    probed = scene.before.protocol.probe_before_restore
    how = "as it has answered a probe" if probed else f"without a probe; it {process}"
    waited = "{worker} has been inhibited long enough"
    return f"{waited}: the router makes it eligible again, {how}."


def _clear_mark(_: Scene) -> str:
    return "{worker} reports that it has room, and the router takes the overload mark off it."


WORKERS: Final[Mapping[str, Callable[[Scene], str]]] = {
    "restart": _restart,
    "tray_loss": _tray_loss,
    "grace_ends": _grace_ends,
    "self_fence": _self_fence,
    "lease_expires": _lease_expires,
    "lost_renewal": _lost_renewal,
    "churn": _churn,
    "discovery_outage": _discovery_outage,
    "restore": _restore,
    "clear_mark": _clear_mark,
}
