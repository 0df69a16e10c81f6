"""Where the KV of a lost request comes from, and how long a storm of them takes.

A failure is a storm: all requests of the instance at once, over one egress or through one prefill
pool. What is best for one request alone can be worst for all of them, so a choice is made for the
storm, by the closed forms here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum

from attrs import frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.hardware import Link


class Policy(Enum):
    """What is done for the requests of an instance that failed."""

    REPLICA = "replica"
    """Their KV is where they go on already: nothing moves."""
    TRANSFER = "transfer"
    """A copy of it leaves a peer, or a host, one after the other."""
    STORE = "store"
    """It is read from a remote store: a transfer after a look-up each."""
    CHECKPOINT = "checkpoint"
    """What was there at the last checkpoint is fetched, and the rest is made again."""
    RECOMPUTE = "recompute"
    """The prefill pool makes it again, of the prompt and of what was emitted."""
    ABORT = "abort"
    """They end with an error."""


@frozen
class Recovery:
    """A policy, and over which link what is kept leaves where it is kept.

    first: what is recomputed goes ahead of prompts that wait. lookup_s: of each request, before
    its KV is read from a store. every_s: seconds between checkpoints.
    """

    policy: Policy
    link: Link | None = None
    first: bool = True
    lookup_s: float = 0.0
    every_s: float = 0.0

    def __attrs_post_init__(self) -> None:
        """Refuse a way that is missing, or one that leads nowhere."""
        saved = self.policy is Policy.CHECKPOINT
        moves = saved or self.policy in {Policy.TRANSFER, Policy.STORE}
        if moves and self.link is None:
            raise ModelError(f"recovery by {self.policy.value} needs a link")
        if not moves and self.link is not None:
            raise ModelError(f"recovery by {self.policy.value} moves nothing over {self.link.name}")
        if not 0 <= self.lookup_s < math.inf:
            raise ModelError(f"a look-up takes no negative time, and an end: {self.lookup_s!r}")
        if saved and not 0 < self.every_s < math.inf:
            raise ModelError(f"checkpoints come each so many seconds, not {self.every_s!r}")

    @property
    def text(self) -> str:
        """What it is called in a table."""
        if self.link:
            often = f" each {self.every_s:g} s" if self.every_s else ""
            return f"{self.policy.value} {self.link.name}{often}"
        fifo = self.policy is Policy.RECOMPUTE and not self.first
        return f"{self.policy.value}{' in turn' if fifo else ''}"


@frozen
class Storm:
    """What a failure loses, and what the prefill pool can do about it.

    contexts: tokens in the cache of each request (prompt and emitted). kv_bytes_per_token: of them.
    prefill_tokens_per_s: of the pool, all instances together. offered_tokens_per_s: prompts that
    come meanwhile. starts_s: until that pool is there (infinite: never).
    """

    contexts: tuple[int, ...]
    kv_bytes_per_token: float
    prefill_tokens_per_s: float
    offered_tokens_per_s: float = 0.0
    starts_s: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of KV that are lost."""
        return sum(self.contexts)

    def ends_s(self, recovery: Recovery) -> float:
        """When the last of them has its KV, on idle links: the closed form of a policy.

        Of checkpoints: as if all of it were in the last one.
        """
        match recovery.policy:
            case Policy.TRANSFER | Policy.STORE | Policy.CHECKPOINT:
                assert recovery.link is not None
                sizes = [tokens * self.kv_bytes_per_token for tokens in self.contexts]
                return egress_s(sizes, recovery.link, recovery.lookup_s)
            case Policy.RECOMPUTE:
                rate = self.prefill_tokens_per_s - (
                    0.0 if recovery.first else self.offered_tokens_per_s
                )
                return self.starts_s + self.tokens / rate if rate > 0 else math.inf
            case Policy.ABORT:
                return math.inf
            case _:
                return 0.0

    def drained_s(self) -> float:
        """When the prefill pool has caught up, if all of it is recomputed: W / (mu - lambda)."""
        spare = self.prefill_tokens_per_s - self.offered_tokens_per_s
        return self.tokens / spare if spare > 0 else math.inf


def egress_s(sizes: Iterable[float], link: Link, lookup_s: float = 0.0) -> float:
    """Seconds until the last of some sizes (in bytes) has left over one link, one by one."""
    return lookup_s + sum(link.seconds(size) for size in sizes)


def cheapest(storm: Storm, choices: Sequence[Recovery]) -> Recovery:
    """The choice whose storm is over first, by the closed forms; the first of equals.

    ``ModelError`` where there is nothing to choose from.
    """
    if not choices:
        raise ModelError("there is no recovery to choose from")
    return min(choices, key=storm.ends_s)
