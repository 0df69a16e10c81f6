"""How a store that several engines share keeps an object whole while it is read."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import Alternative, mechanism


class StoreAccess(Alternative):
    """How the bytes of an object get to a client."""

    READ = "read", "The client reads the memory that the look-up named, and nobody looks again."
    SEND = "send", "The owner sends them, if it still finds the object when it comes to it."


class StoreProtection(Alternative):
    """What keeps an object in its place between its look-up and the end of its read."""

    NONE = "none", "Nothing."
    PIN = "pin", "A count of readers, which each of them takes back."
    LEASE = "lease", "A time, which ends by itself, and for a slow reader too early."


class StoreFailure(Alternative):
    """What becomes of a read from a store that fails."""

    REPORT = "report", "It ends as a failure, and the engine computes."
    SERVE = "serve", "It is counted as loaded, and the engine uses what lies there."
    WAIT = "wait", "It never ends."


@frozen(slots=False)
class StoreMechanisms:
    """How a store that several engines share keeps an object whole while it is read."""

    store_access: StoreAccess = mechanism(
        StoreAccess.READ,
        "How bytes get to a client: it does the `read` itself, or the owner does a `send` if it "
        "still finds the object by then.",
        "Mooncake store client, LMCache; TRT#12542: CacheSender",
    )
    store_protection: StoreProtection = mechanism(
        StoreProtection.PIN,
        "What keeps an object in place from look-up to read: a `pin`, a `lease` that ends by "
        "itself, or `none`.",
        "LMCache lookup(pin=True); Mooncake default_kv_lease_ttl; TRT#12542",
    )
    pin_once: bool = mechanism(
        True,
        "A look-up pins an object once. Without it two layers of one look-up pin it each, and only "
        "one of them unpins.",
        "LMCache#2847, LMCache#2786",
    )
    unpin_once: bool = mechanism(
        True,
        "A reader unpins once. Without it the layer that reads and the layer that looked up unpin "
        "each, and the second takes the pin of another reader away.",
        "LMCache#2954, LMCache#3651",
    )
    unpin_on_error: bool = mechanism(
        True,
        "A read that fails gives its pin back. Without it the object can never be evicted again.",
        "Mooncake#2628, Mooncake#3443",
    )
    sweep_dead_pins: bool = mechanism(
        True,
        "The pins of a client that died are taken back after a time.",
        "LMCache PinMonitor",
    )
    evict_unpinned_only: bool = mechanism(
        True,
        "An object that somebody reads is not evicted. Without it its space goes to the next put "
        "in the middle of the read.",
        "LMCache#993, LMCache#3189",
    )
    evict_when_full: bool = mechanism(
        True,
        "A put that finds no room has another object evicted.",
        "LMCache LocalCPUBackend.allocate; there is nothing to evict with use_hot=False",
    )
    give_up_when_full: bool = mechanism(
        True,
        "A put that finds no room, and nothing to evict, is given up. Without it the put tries "
        "again for ever, and the engine with it.",
        "LMCache#2942",
    )
    free_after_readers: bool = mechanism(
        True,
        "The space of an object that is removed or overwritten is freed when the last who reads "
        "or writes it is done. Without it at once.",
        "LMCache#3444",
    )
    refuse_existing_keys: bool = mechanism(
        True,
        "A put under a key that is there, or being written, is refused. Without it the second put "
        "takes the place of the first.",
        "LMCache#3444; Mooncake: OBJECT_ALREADY_EXISTS",
    )
    publish_after_commit: bool = mechanism(
        True,
        "An object can be looked up once it is written whole. Without it, as soon as it has space.",
        "Mooncake#2818",
    )
    put_elsewhere: bool = mechanism(
        True,
        "A put that failed at one worker is tried at another that has room. Without it the worker "
        "with the most room gets every put, though it is the one that just died, or just started.",
        "Mooncake#3688",
    )
    discard_abandoned_puts: bool = mechanism(
        True,
        "A put whose writer died is discarded after a time. Without it the key can never be put "
        "again, and its space is lost.",
        "Mooncake put_start_discard_timeout",
    )
    free_space_once: bool = mechanism(
        True,
        "A put that fails gives its space back once. Without it the error path and the owner of "
        "the buffer each do, and the second frees what was given to another.",
        "Mooncake#3125, Mooncake#3146",
    )
    validate_after_store_read: bool = mechanism(
        True,
        "A reader asks after the read whether the object was still in its place. A read of a "
        "space that was given to another succeeds, so nothing else can tell.",
        "Mooncake store client: LEASE_EXPIRED after read",
    )
    check_length: bool = mechanism(
        True,
        "A read that brought fewer bytes than the object has is a failure.",
        "Mooncake#3073",
    )
    store_failure: StoreFailure = mechanism(
        StoreFailure.REPORT,
        "What becomes of a read that fails: a `report`, or its bytes `serve` as they are, or the "
        "engine does `wait` for it.",
        "dynamo#5012, dynamo#15079",
    )
    invalidate_hot_copies: bool = mechanism(
        True,
        "A removal or a newer put takes the copies away that clients keep, and those they are "
        "about to keep. Without it a client answers itself with an object that is gone.",
        "Mooncake#2446, Mooncake#2447",
    )
    agree_across_ranks: bool = mechanism(
        True,
        "The ranks of a request compare what each of them got, and go by the least. Without it "
        "one uses the stored prefix and another computes it.",
        "LMCache#1101, LMCache#1379, LMCache#1467, LMCache#1426",
    )
    fail_over_on_silence: bool = mechanism(
        True,
        "A leader that is silent on an open connection is given up like one that is dead.",
        "Mooncake#2383, Mooncake#2253",
    )
    replicate_metadata: bool = mechanism(
        True,
        "A new leader has the metadata of the old one. Without it every object is forgotten, and "
        "memory that is still read counts as empty.",
        "Mooncake#1871, Mooncake#1336",
    )
    republish_segments: bool = mechanism(
        True,
        "A worker whose address was lost with the metadata server publishes it again. Without it "
        "nobody new can reach it until it restarts.",
        "Mooncake#2246",
    )
    epoch_of_segment: bool = mechanism(
        True,
        "A worker that comes back is told from its predecessor of the same name, and what was "
        "posted to that one does not reach it. Without it the new one is taken for the old, whose "
        "objects or whose removal it inherits.",
        "Mooncake#501, Mooncake#4212",
    )
    tell_master_of_eviction: bool = mechanism(
        True,
        "A worker whose disk drops an object tells the master. Without it the master goes on "
        "sending readers there.",
        "Mooncake#1549",
    )
    one_lock_order: bool = mechanism(
        True,
        "The master takes its two locks (objects, segments) in the same order everywhere.",
        "Mooncake#2486",
    )
