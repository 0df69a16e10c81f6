"""NVIDIA Dynamo behind the adapter protocol: a frontend and oracle workers on this machine.

It goes on by itself while nobody looks, and each run starts it anew (a second or two). Tokens are
far enough apart for faults to come between them.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rackproof.model.kernel.implementation import Ineffective
from rackproof.scenarios.adapters.adapter import Ask, Setup
from rackproof.scenarios.adapters.http import HttpAdapter
from rackproof.scenarios.live.client import FIRST, Stream
from rackproof.scenarios.live.deployment import Settings, Software, Worker, deployed
from rackproof.scenarios.live.plan import SHORT

PAUSE: Final = 0.15
"""Seconds between two tokens."""
LEASE: Final = 10.0
"""Seconds after which discovery gives up a worker that is silent."""


class DynamoAdapter(HttpAdapter):
    """Dynamo as a rack of the model: ``worker-0`` is w0, and so on.

    software: what is deployed, such as ``Dynamo(python)``. What is recorded of a run goes to a
    folder in ``records``; without one, it is thrown away.
    """

    first = FIRST

    def __init__(self, software: Software, records: Path | None = None) -> None:
        """Nothing is launched yet."""
        self._software, self._records = software, records

    def launch(self, setup: Setup) -> None:
        self._stack = ExitStack()
        if set(setup.workers.values()) != {"aggregated"}:
            raise ValueError("only aggregated workers can be driven (rack: {aggregated: N})")
        if self._records is None:
            kept = self._stack.enter_context(tempfile.TemporaryDirectory())
        else:
            self._records.mkdir(parents=True, exist_ok=True)
            kept = tempfile.mkdtemp(dir=self._records)
        self._live = self._stack.enter_context(
            deployed(self._software, self._settings(setup), Path(kept) / "run")
        )
        names = zip(setup.workers, self._live.workers.values(), strict=True)
        self._workers: dict[str, Worker] = dict(names)
        timeout = self._live.settings.stream_timeout or 0.0
        self.silence = 2 + LEASE + timeout * (self._live.settings.migration_limit + 1)
        self._last = time.monotonic()

    def _settings(self, setup: Setup) -> Settings:
        world = self._system.initial
        length = None if world.tokens == world.max_tokens else world.tokens
        timeout = SHORT if world.protocol.stream_timeout else None
        return Settings(len(setup.workers), setup.retry_limit, timeout, PAUSE, length)

    def stop(self) -> None:
        super().stop()
        self._stack.close()

    def served(self) -> str:
        """The worker that was given a request last, by the frontend's log; the first, if none."""
        routes = self._live.routes()
        own = {worker.name: name for name, worker in self._workers.items()}
        return own[routes[-1].worker.name] if routes else next(iter(self._workers))

    def send(self, ask: Ask) -> Stream:
        return self._live.send(ask.request, ask.max_tokens)

    def kill(self, worker: str) -> None:
        self._live.crash(self._at(worker, "SRDT"))

    def freeze(self, worker: str) -> None:
        self._live.hang(self._at(worker, "SRD"))

    def resume(self, worker: str) -> None:
        self._live.resume(self._at(worker, "T"))

    def drain(self, worker: str) -> None:
        self._live.drain(self._at(worker, "SRD"))

    def _at(self, worker: str, states: str) -> Worker:
        """A worker in one of these states of the kernel."""
        found = self._workers[worker]
        state = found.child.state
        if state not in states:
            raise Ineffective(f"its process is in state {state}")
        return found
