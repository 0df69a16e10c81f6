"""What the router believes of the prefixes that each worker has cached, and how it is kept true."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import Alternative, mechanism


class AfterGap(Alternative):
    """What the router does when event numbers of a worker are missing."""

    IGNORE = "ignore", "Nothing, or a line in the log: it goes on with what comes."
    REPLAY = (
        "replay",
        "It asks the worker's replay buffer, which has the last events that were sent, for the "
        "rest, and goes on with what it gets.",
    )
    DUMP = "dump", "It asks the worker what it holds, whole, and forgets what it thought."


class RestartSignal(Alternative):
    """What tells the router that an engine came back under its old id, with an empty cache."""

    NONE = "none", "Nothing."
    ROLLBACK = "rollback", "An event number that is lower than the one that was due."
    CLEARED = (
        "cleared",
        "An event that the cache was cleared, which the engine sends when it starts.",
    )
    EPOCH = "epoch", "Every event says which life of the engine it is from."


@frozen(slots=False)
class IndexMechanisms:
    """What the router believes of the prefixes that each worker has cached."""

    after_gap: AfterGap = mechanism(
        AfterGap.DUMP,
        "What the router does when event numbers of a worker are missing: `ignore` it, ask for a "
        "`replay` of the events (which may be gone), or for a `dump` of all it holds.",
        "dynamo lib/kv-router: a gap has the worker queried, Events or TreeDump; router#1737; "
        "router#1887",
    )
    heartbeat_numbers: bool = mechanism(
        True,
        "A worker that has nothing to send repeats its last event number and its epoch now and "
        "then. Without it nobody misses an event that no other event follows.",
        "vllm#57789 (open): heartbeats with a number and the publisher's id",
    )
    restart_signal: RestartSignal = mechanism(
        RestartSignal.EPOCH,
        "What tells the router that an engine came back under its old id: `none`, a `rollback` of "
        "the event numbers, a `cleared` event at the start, or an `epoch` in every event.",
        "router#2853, router#2854; dynamo#13044",
    )
    persistent_publisher: bool = mechanism(
        False,
        "The publisher of events outlives its engine, so that event numbers go on after a restart. "
        "Otherwise they start at 0 again.",
        "dynamo#13044",
    )
    obey_cleared: bool = mechanism(
        True,
        "The event that a worker cleared its whole cache takes its entries out of the index. "
        "Without it the event is only logged.",
        "aibrix#2287, aibrix#2385",
    )
    clear_on_removal: bool = mechanism(
        True,
        "The entries of a worker that left discovery are taken out of the index.",
        "router#1736, router#1738",
    )
    fence_removed: bool = mechanism(
        True,
        "Events that are still queued when their worker is removed are dropped. Without it they "
        "enter the worker in the index again.",
        "router#1738: the limitation it names",
    )
    reset_number_on_removal: bool = mechanism(
        True,
        "The number up to which events were applied is forgotten with the worker. Without it a "
        "worker that registers again is only asked for what came after.",
        "dynamo#7863",
    )
    ask_on_join: bool = mechanism(
        True,
        "A worker that registers, and every worker when the router starts, is asked what it holds. "
        "Without it the index has what is cached from then on.",
        "dynamo lib/kv-router: a full restore when a worker is added; kv-cache#372",
    )
    follow_publisher: bool = mechanism(
        True,
        "When the publisher moves (a store elects another leader), the router finds it, subscribes "
        "again and asks what is held. Without it the router listens where nobody speaks.",
        "dynamo#13174",
    )
    recover_before_serving: bool = mechanism(
        True,
        "A router that starts serves once it has heard what every worker holds. Without it the "
        "first requests are routed by an index that knows part of the workers.",
        "dynamo#10581, dynamo#10803",
    )
    recovery_timeout: bool = mechanism(
        True,
        "A router that starts does not wait for ever for workers that do not answer.",
        "dynamo#10803: 600 s, then recovery goes on in the background",
    )
    cancel_recovery_on_removal: bool = mechanism(
        True,
        "A worker that leaves discovery is no longer asked what it holds. Without it the question "
        "is put to a worker that is gone.",
        "dynamo#10580, dynamo#10616, dynamo#10729",
    )
    hold_while_asking: bool = mechanism(
        True,
        "Events that come while the router waits for an answer are held, and applied behind it. "
        "Without it they are applied at once, and the answer, which is older, undoes them.",
        "dynamo#9881; vllm#57789: a snapshot with an exact resume point",
    )
    revalidate_split: bool = mechanism(
        True,
        "A node of the radix tree that is split for a new entry is looked at again, under the "
        "lock, when the halves are written. Without it a worker that was removed from it "
        "meanwhile is in it again.",
        "dynamo#11169",
    )
    revalidate_delete: bool = mechanism(
        True,
        "An entry that an eviction found empty is looked at again, under the lock, when it is "
        "deleted. Without it a worker that was entered meanwhile goes with it.",
        "kv-cache#393, kv-cache#233",
    )
    ask_for_parents: bool = mechanism(
        True,
        "A block whose parent the index does not know has the router ask the worker again. With "
        "answers that bring the same block again it asks for ever; without it the block is missed.",
        "dynamo#7863: ParentBlockNotFound",
    )
