"""What steps of KV, its holds and its transfers came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rackproof.model.kv import Hold
from rackproof.model.picture.scene import Scene, prefilling, serving, source_home, target_home
from rackproof.model.protocol import LoadFailure, ReadValidation, Release, SenderStops, Transfer
from rackproof.model.request import Phase
from rackproof.model.sorts import Blocks, Requests
from rackproof.model.stream import Stage


def _prefill(scene: Scene) -> str:
    computed = "{worker} computes the KV of {request} into {block}"
    if scene.load_after.hold is Hold.FREED:
        computed = f"{computed}, which it frees at once"
    number = scene.ids["request"]
    was, now = (world.requests[number].phase for world in (scene.before, scene.after))
    ready = now is Phase.READY and was is not now
    return f"{computed}, and tells the frontend that it is ready." if ready else f"{computed}."


def _drop_prefill(scene: Scene) -> str:
    heard = "{worker} hears from the frontend that {request} was given up, and "
    freed = scene.freed()
    drops = f"frees {freed}" if freed else "drops it from its queue"
    return f"{heard}{drops}{_sender_stops(scene)}."


def _sender_stops(scene: Scene) -> str:
    """What the reader makes of a sender that posts nothing more."""
    if not scene.load.unposted:
        return ""
    match scene.before.protocol.sender_stops:
        case SenderStops.TOLD:
            return f"; {serving(scene)} is told that no more KV comes"
        case SenderStops.TAKEN_FOR_WHOLE:
            return f"; {serving(scene)} takes what it has for all of its KV"
        case _:
            return f"; {serving(scene)} is not told that no more KV comes"


def _admit(scene: Scene) -> str:
    took = "{worker} allocates {block} for {request}"
    stage = scene.after.streams[scene.ids["request"]].attempts[scene.ids["attempt"]].stage
    if stage is Stage.OVER:
        return f"{took}, finds that its KV is no longer held for it, and ends it with an error."
    if stage is not Stage.LOADING:
        return f"{took}, and computes its KV without a transfer{_acknowledged(scene)}."
    sender, load = prefilling(scene), scene.load_after
    if load.flying and load.source is not None:
        reads = "a read" if load.flying == 1 else f"{load.flying} reads"
        lapsed = "" if load.hold is Hold.HELD else ", which is no longer held for it"
        if load.stale:
            lapsed = f", though {sender} has started again since"
        source = scene.called(Blocks, load.source)
        return f"{took}, and posts {reads} of its KV from {source}{lapsed}."
    if scene.before.protocol.transfer is Transfer.PUSH:
        return f"{took}, and tells {sender} to write its KV there."
    return f"{took}, and waits for {sender} to compute its KV."


def _acknowledged(scene: Scene) -> str:
    """What a worker says that needs the KV no more, and what comes of it."""
    if scene.load.hold is not Hold.HELD:
        return ""
    sender = prefilling(scene)
    if scene.load_after.hold is not Hold.FREED:
        lost = f"; what it tells {sender} is lost" if scene.load.ack_lost else ""
        return lost or f"; it does not tell {sender}"
    freed = scene.freed(sender)
    return f"; it tells {sender}, which frees {freed}" if freed else f"; it tells {sender}"


def _hold_expires(scene: Scene) -> str:
    ends = "The lease of {request} on {source} ends, and nobody awake waits for it"
    return f"{ends}: {source_home(scene)} frees it{_sender_stops(scene)}."


def _slow_read(scene: Scene) -> str:
    reader, holder = serving(scene), prefilling(scene)
    if scene.load_after.hold is Hold.FREED:
        unread = f"{reader} has not read the KV of {{request}} when its lease ends"
        return f"{unread}: {holder} frees {scene.freed()}{_sender_stops(scene)}."
    late = f"{reader} has not read the KV of {{request}} after the time of a lease"
    if scene.before.protocol.release in (Release.HEARTBEAT, Release.QUIESCENT):
        return f"{late}: its heartbeats have {holder} hold it for longer."
    return f"{late}: {holder} holds it for as long as it takes."


def _long_queue(scene: Scene) -> str:
    at_decode = scene.attempt.stage is Stage.ACCEPTED
    queue = serving(scene) if at_decode else prefilling(scene)
    waits = f"{{request}} waits in the queue of {queue} for longer than a transfer may take"
    if not scene.load_after.mistimed or scene.load.mistimed:
        return f"{waits}: that time does not count."
    freed = f", and frees {scene.freed()}" if scene.freed() else ""
    gives_up = prefilling(scene) if at_decode else serving(scene)
    return f"{waits}: {gives_up} gives up a transfer that had not begun{freed}."


def _lost_ack(scene: Scene) -> str:
    return f"What {serving(scene)} tells {prefilling(scene)} of {{request}} is going to be lost."


def _post(scene: Scene) -> str:
    if scene.before.protocol.transfer is not Transfer.PUSH:
        return f"{target_home(scene)} posts a read of {{request}} from {{source}} into {{target}}."
    post = f"{source_home(scene)} posts a write of {{request}} from {{source}} into {{target}}"
    source, target = (scene.before.blocks[scene.ids[it]] for it in ("source", "target"))
    if source.owner != scene.ids["request"]:
        post = f"{post}; {{source}} {_whose(scene, source.owner)} by now"
    if target.owner != scene.ids["request"]:
        post = f"{post}; {{target}} {_whose(scene, target.owner)} by now"
    return f"{post}."


def _whose(scene: Scene, owner: int | None) -> str:
    return "is free" if owner is None else f"is {scene.called(Requests, owner)}'s"


def _land(scene: Scene) -> str:
    landed = "The posted transfer of {request} from {source} into {target} lands"
    if scene.load.flying > 1:
        landed = "A posted transfer of {request} from {source} into {target} lands"
    read = scene.before.blocks[scene.ids["source"]].content
    if read != scene.ids["request"]:
        holds = "none" if read is None else "that"
        landed = f"{landed}, and brings {_content(scene, read)}, as {{source}} holds {holds} by now"
    return f"{landed}{_overwrites(scene)}."


def _overwrites(scene: Scene) -> str:
    """What a transfer writes over, where its target is no longer the request's."""
    target = scene.before.blocks[scene.ids["target"]]
    if target.owner == scene.ids["request"]:
        return ""
    if target.owner is not None and target.content == target.owner:
        return f"; it overwrites {_content(scene, target.content)}, whose block that is by now"
    return f"; {{target}} {_whose(scene, target.owner)} by now"


def _content(scene: Scene, content: int | None) -> str:
    return "no KV" if content is None else f"the KV of {scene.called(Requests, content)}"


def _load_ends(scene: Scene) -> str:
    reader = target_home(scene)
    if scene.attempt.stage is not Stage.LOADING:
        freed = scene.freed(reader)
        again = f"frees {freed}" if freed else "releases {target} once more"
        ended = f"{reader} sees the transfers of {{request}}, which was aborted, end, and {again}"
        return f"{ended}{_acknowledged(scene)}."
    after = scene.after.streams[scene.ids["request"]].attempts[scene.ids["attempt"]]
    if after.stage is Stage.OVER:
        failed = f"{reader} finds that the load of {{request}} into {{target}} failed"
        return f"{failed}, frees that, and ends {{request}} with an error."
    if _recomputed(scene):
        return f"{reader} finds that the load of {{request}} failed, and computes its KV itself."
    loaded = f"{reader} takes the load of {{request}} into {{target}} for complete, and decodes"
    content = scene.after.blocks[scene.ids["target"]].content
    if content == scene.ids["request"]:
        return f"{loaded}{_acknowledged(scene)}."
    block = "a block that holds no KV" if content is None else _content(scene, content)
    return f"{loaded} from {block}{_acknowledged(scene)}."


def _recomputed(scene: Scene) -> bool:
    """Whether a worker found that a load failed, and computed the KV for itself."""
    load, protocol = scene.load, scene.before.protocol
    overwritten = scene.before.blocks[scene.ids["target"]].content not in (
        None,
        scene.ids["request"],
    )
    stale = load.stale and protocol.epoch_on_restart
    lapsed = protocol.read_validation is ReadValidation.LEASE and (
        load.hold is not Hold.HELD or stale
    )
    failed = load.bad or load.garbage or overwritten or lapsed
    right = scene.after.blocks[scene.ids["target"]].content == scene.ids["request"]
    return protocol.load_failure is LoadFailure.RECOMPUTE and failed and right


def _post_failure(scene: Scene) -> str:
    told = "" if scene.load_after.stuck else f", which {serving(scene)} hears"
    nobody = ", and nobody is told" if scene.load_after.stuck else told
    return f"A transfer of {{request}} into {{target}} cannot be posted{nobody}."


def _load_timeout(scene: Scene) -> str:
    waited = f"{target_home(scene)} has waited too long for the KV of {{request}} from {{worker}}"
    after = scene.after.streams[scene.ids["request"]].attempts[scene.ids["attempt"]]
    if after.stage is Stage.OVER:
        return f"{waited}: it frees {{target}}, and ends {{request}} with an error{_untold(scene)}."
    if scene.before.protocol.load_failure is LoadFailure.RECOMPUTE:
        return f"{waited}: it computes that itself{_untold(scene)}."
    return f"{waited}: it decodes from what lies in {{target}}{_untold(scene)}."


def _untold(scene: Scene) -> str:
    """Who may still write into a block that was freed."""
    load = scene.load_after
    if load.flying:
        return "; a transfer into that is still posted"
    pushes = scene.before.protocol.transfer is Transfer.PUSH
    return f"; it does not tell {prefilling(scene)}" if pushes and load.unposted else ""


def _abort(scene: Scene) -> str:
    heard = "{worker} hears from the frontend that {request} was given up"
    after = scene.after.streams[scene.ids["request"]].attempts[scene.ids["attempt"]]
    if after.deaf:
        return f"{heard} while it is still in its queue, and forgets that."
    if scene.load_after.killed and not scene.load.killed:
        return f"{heard}, and breaks off the transfer that is under way."
    if after.stage is not Stage.OVER:
        return f"{heard}, and does nothing about it before its first token."
    if scene.attempt.stage is Stage.ACCEPTED:
        return f"{heard}, and drops it from its queue{_acknowledged(scene)}."
    if freed := scene.freed():
        return f"{heard}, and frees {freed}{_untold(scene)}."
    target = scene.load.target
    kept = "" if target is None else f", but keeps {scene.called(Blocks, target)}"
    until = " until its transfers have ended" if scene.load_after.aborted else ""
    return f"{heard}, and aborts it{kept}{until if kept else ''}."


def _abort_completes(scene: Scene) -> str:
    done = "sees the abort of {request} through, as nothing is left to send"
    return f"{target_home(scene)} {done}, and releases {{target}} once more."


TRANSFERS: Final[Mapping[str, Callable[[Scene], str]]] = {
    "prefill": _prefill,
    "drop_prefill": _drop_prefill,
    "admit": _admit,
    "hold_expires": _hold_expires,
    "slow_read": _slow_read,
    "long_queue": _long_queue,
    "lost_ack": _lost_ack,
    "post": _post,
    "land": _land,
    "load_ends": _load_ends,
    "post_failure": _post_failure,
    "load_timeout": _load_timeout,
    "abort": _abort,
    "abort_completes": _abort_completes,
}
