"""What is known of a store: by its master, by the workers that lend it memory, by its clients."""

from __future__ import annotations

from enum import Enum

from rackproof.model.kernel import bounded, frozen, identifier, members
from rackproof.model.sorts import Clients, Keys, Segments, Spaces


class Entry(Enum):
    """What the master has under a key."""

    ABSENT = "absent"
    PROCESSING = "processing"
    """It has space, and is being written."""
    COMPLETE = "complete"


class Get(Enum):
    """How far a client is."""

    IDLE = "idle"
    ASKED = "asked"
    """Waits for the master's answer."""
    FOUND = "found"
    HALF = "half"
    """Half of the bytes are read."""
    READ = "read"
    VALID = "valid"
    """Read, and taken to be good."""
    AGREED = "agreed"
    """All ranks have it."""
    TO_PUT = "to put"
    """It computed for itself, and wants to put that."""
    WRITING = "writing"
    WRITTEN = "written"
    STUCK = "stuck"
    """Waits for a read that has failed."""
    USED = "used"
    COMPUTED = "computed"
    FAILED = "failed"
    DEAD = "dead"


ENDED = (Get.USED, Get.COMPUTED, Get.FAILED)
OVER = (Get.IDLE, *ENDED, Get.DEAD)
READING = (Get.FOUND, Get.HALF, Get.READ)
FELL_BACK = (Get.TO_PUT, Get.WRITING, Get.WRITTEN, Get.COMPUTED, Get.FAILED)


class Mount(Enum):
    """What the master thinks of a segment."""

    MOUNTED = "mounted"
    UNMOUNTING = "unmounting"
    """Its objects are being struck off."""
    GONE = "gone"


class Leader(Enum):
    """The process that is master."""

    SERVING = "serving"
    SILENT = "silent"
    """Frozen: its connections stay open, and it answers nobody."""
    DEAD = "dead"


@frozen
class Object:
    """What the master knows under a key.

    put: the number of the last put. oldest: the oldest put that a client who asks now may be given.
    forgotten: it was lost with the master's memory.
    """

    entry: Entry = Entry.ABSENT
    space: int | None = identifier(Spaces)
    put: int = bounded(0, "puts")
    oldest: int = bounded(0, "puts")
    forgotten: bool = False


@frozen
class Space:
    """Room for one object.

    owner, put: what the master gave it to. pins: how many readers hold it. content, written: the
    object that lies in it, and of which put; whole: all of it. freed_twice: it was freed when it
    had been freed already.
    """

    owner: int | None = identifier(Keys)
    put: int = bounded(0, "puts")
    pins: int = bounded(0, "pins")
    content: int | None = identifier(Keys)
    written: int = bounded(0, "puts")
    whole: bool = False
    freed_twice: bool = False


@frozen
class Segment:
    """Memory that a worker lends.

    up, epoch: the truth: whether the worker runs, and how often it registered its memory. mount,
    mounted: what the master thinks, and of which epoch. joined: the worker thinks that it is
    mounted. published:
    its address can be found.
    """

    up: bool = True
    epoch: int = bounded(0, "segment_epochs")
    mount: Mount = Mount.MOUNTED
    mounted: int = bounded(0, "segment_epochs")
    joined: bool = True
    published: bool = True


@frozen
class Reader:
    """A client and its present look-up.

    space, put, epoch: what the master's answer named. since: the oldest put it may be given. pins:
    how many it holds. wrong: what it read is not what it asked for. copy, copy_put: the object it
    keeps. gets: how many look-ups it made. shunned: where its put has failed. owes_free: its error
    path frees the space once more. put_lost, used_wrong, unpinned_twice: what went wrong for good.
    """

    stage: Get = Get.IDLE
    key: int | None = identifier(Keys)
    space: int | None = identifier(Spaces)
    put: int = bounded(0, "puts")
    epoch: int = bounded(0, "segment_epochs")
    since: int = bounded(0, "puts")
    pins: int = bounded(0, 1)
    wrong: bool = False
    copy: int | None = identifier(Keys)
    copy_put: int = bounded(0, "puts")
    gets: int = bounded(0, "gets")
    shunned: frozenset[int] = members(Segments)
    owes_free: bool = False
    put_lost: bool = False
    used_wrong: bool = False
    unpinned_twice: bool = False


@frozen
class Master:
    """Who keeps the metadata, and who holds its two locks."""

    leader: Leader = Leader.SERVING
    objects_locked: int | None = identifier(Clients)
    segments_locked: int | None = identifier(Segments)
