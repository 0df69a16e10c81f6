"""A step of which something is written down, and what is asked of it by every witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from attrs import frozen

from rackproof.model.kernel import Record
from rackproof.model.kernel.evidence import Value
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.stream import Attempt, Stream
from rackproof.model.world import World


@frozen(slots=False)
class Step:
    """A step: its world before and after, and the identifiers that it was given, by parameter.

    workers: what they are called.
    """

    workers: Sequence[str]
    before: World
    name: str
    ids: Mapping[str, int]
    after: World

    @cached_property
    def request(self) -> int | None:
        """The request that it is of, if it is of one."""
        return self.ids.get("request")

    @property
    def stream(self) -> Stream:
        """The stream of the request, as it was."""
        return self.before.streams[self.ids["request"]]

    @property
    def stream_after(self) -> Stream:
        """The stream of the request, as it is after the step."""
        return self.after.streams[self.ids["request"]]

    @property
    def attempt(self) -> Attempt:
        """The attempt that the step is of, as it was."""
        return self.stream.attempts[self.ids["attempt"]]

    @property
    def current(self) -> int | None:
        """The attempt that the frontend waits for, as it was."""
        return self.before.retries[self.ids["request"]].current

    @cached_property
    def outcome(self) -> Phase | None:
        """What the request ends as, if it ends by this step."""
        if self.request is None:
            return None
        was, now = (w.requests[self.request].phase for w in (self.before, self.after))
        return now if now in TERMINAL and was not in TERMINAL else None

    def serving(self, attempt: int | None) -> dict[str, Value]:
        """The worker that an attempt was at, as a log names it; nothing where it was at none."""
        if attempt is None:
            return {}
        assert self.request is not None
        decoding = self.before.streams[self.request].attempts[attempt].worker
        prefilling = self.before.loads[self.request].attempts[attempt].prefill
        found = prefilling if decoding is None else decoding
        return {} if found is None else {"worker": self.workers[found]}

    def record(
        self,
        witness: str,
        kind: str,
        values: Mapping[str, Value] | None = None,
        aside: Mapping[str, Value] | None = None,
    ) -> Record:
        """What a witness writes; with the request, where the world has several."""
        values = values or {}
        if self.request is not None and len(self.before.requests) > 1:
            values = {**values, "request": self.request}
        return Record(witness, kind, values, aside or {})
