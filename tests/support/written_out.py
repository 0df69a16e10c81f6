"""Runs of the model written out as logs in the layout of Dynamo, of any length.

A token of the model stands for a stretch of the output: what is recorded of it once is written once
for each token of the stretch. So a run of a few tokens is a log of hundreds, in the same order.
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO, Any, Final

from attrs import define, field, frozen

from rackproof.model.kernel import Record, System, successors
from rackproof.model.kernel.evidence import evidence_of
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

TOKENS: Final = 3
"""Of the output in the model."""
PROMPT: Final = 7
FIRST: Final = 2000
"""The id of the token at position 0."""
START: Final = 1_796_000_000.0
STEP_S: Final = 0.001
SHARED: Final = 4
"""Workers that serve what nothing happens to."""
OPEN_FILES: Final = 64

Run = tuple[Record, ...]


@cache
def world(crashes: int, stack: str = "dynamo") -> System:
    """A request to two workers, either of which may crash."""
    bundled = Bundled(
        stack,
        rack={"aggregated": 2},
        scope={"tokens": TOKENS, "retry-limit": 3},
        faults={"crash": crashes} if crashes else {},
    )
    return bundled_setting(bundled, Path("recorded.yaml")).system


def a_run(system: System, seed: int) -> Run:
    """What is recorded of a run that is taken at random, until the request is over."""
    chance, state, records = random.Random(seed), system.initial, []
    write = evidence_of(system).records
    while not any(one.kind == "over" for one in records):
        firing, after = chance.choice(list(successors(system, state)))
        records += write(state, firing, after)
        state = after
    return tuple(records)


@cache
def runs(crashes: int, count: int) -> tuple[Run, ...]:
    """Runs of different kinds; each crash took effect on the request."""
    found: dict[tuple[tuple[str, str], ...], Run] = {}
    for seed in range(2000):
        run = a_run(world(crashes), seed)
        told = tuple((one.witness, one.kind) for one in run)
        failed = sum(kind == "failed" for _, kind in told)
        if failed == crashes == sum(kind == "crash" for _, kind in told):
            found.setdefault(told, run)
        if len(found) == count:
            break
    return tuple(found.values())


@frozen
class Shape:
    """A capture: how many requests, the share that lose a worker, and tokens of the outputs."""

    requests: int
    faults: float = 0.1
    least: int = 10
    most: int = 120
    seed: int = 1


@define
class _Files:
    """Files of a folder by name, a few of them open at a time."""

    folder: Path
    opened: dict[str, IO[str]] = field(factory=dict)

    def write(self, name: str, line: dict[str, Any]) -> None:
        """Add a line."""
        if name not in self.opened:
            if len(self.opened) >= OPEN_FILES:
                self.opened.pop(next(iter(self.opened))).close()
            self.opened[name] = (self.folder / name).open("a", encoding="utf-8")
        self.opened[name].write(json.dumps(line, separators=(",", ":")) + "\n")

    def close(self) -> None:
        """Close all."""
        for file in self.opened.values():
            file.close()


def write_capture(folder: Path, shape: Shape) -> None:
    """Write a capture into an empty folder."""
    chance = random.Random(shape.seed)
    clean, broken = runs(0, 3), runs(1, 12)
    files, frontend = _Files(folder), list[tuple[float, int, dict[str, Any]]]()
    files.write(
        "events.jsonl", _spawned("fe", 0, ["-m", "dynamo.frontend", "--migration-limit", "3"])
    )
    for number in range(SHARED):
        _ready(files, number, START)
    fresh = SHARED
    for number in range(shape.requests):
        began = START + 10 + number * 0.05
        _flush(files, frontend, began)
        faulty = chance.random() < shape.faults
        workers = [fresh, fresh + 1] if faulty else [number % SHARED, (number + 1) % SHARED]
        if faulty:
            fresh += 2
            for worker in workers:
                _ready(files, worker, began - 1)
        run = chance.choice(broken if faulty else clean)
        stretch = _stretch(chance, shape)
        told = _Told(files, frontend, number, workers, stretch, began)
        told.write(run)
    _flush(files, frontend, float("inf"))
    files.close()


def _stretch(chance: random.Random, shape: Shape) -> Sequence[int]:
    """Where the stretch of each token of the model begins, and where the last one ends."""
    length = chance.randint(max(shape.least, TOKENS), shape.most)
    return [0, *sorted(chance.sample(range(1, length), TOKENS - 1)), length]


def _flush(files: _Files, frontend: list[tuple[float, int, dict[str, Any]]], until: float) -> None:
    """Write what the frontend wrote by then, in the order in which it did."""
    while frontend and frontend[0][0] < until:
        files.write("fe.log", heapq.heappop(frontend)[2])


def _spawned(name: str, pid: int, argv: list[str], ts: float = START) -> dict[str, Any]:
    return {"t": 0.0, "ts": ts, "kind": "spawn", "name": name, "pid": pid, "argv": argv}


def _ready(files: _Files, worker: int, ts: float) -> None:
    argv = ["scripts/countworker.py", "model/tiny", "tiny"]
    files.write("events.jsonl", _spawned(f"w{worker}", 100 + worker, argv, ts))
    ready = {"kind": "worker_ready", "name": f"w{worker}", "pid": 100 + worker}
    files.write("events.jsonl", {"t": 0.0, "ts": ts, **ready, "instance": _instance(worker)})


def _instance(worker: int) -> int:
    return 10_000_000_000_000 + worker


@define
class _Told:
    """One request, on its way into the files. worker: of the present attempt."""

    files: _Files
    frontend: list[tuple[float, int, dict[str, Any]]]
    number: int
    workers: Sequence[int]
    stretch: Sequence[int]
    now: float
    attempt: int = 0
    first: int | None = None
    asked: float = 0.0

    @property
    def id(self) -> str:
        """As the frontend calls it."""
        return f"{self.number:08x}-0000-4000-8000-000000000000"

    @property
    def sse(self) -> str:
        """The file of the client."""
        return f"sse_r{self.number}.jsonl"

    def write(self, run: Run) -> None:
        """Write every record of a run, in its order."""
        self.asked = self.now
        request = {"model": "tiny", "max_tokens": self.stretch[-1], "stream": True}
        asked = {"stream_options": {"include_usage": True}, "messages": []}
        self._line(self.sse, {"request": {**request, **asked}})
        self._line(self.sse, {"status": 200, "headers": {"content-type": "text/event-stream"}})
        self._log("request received", request_type="stream")
        for record in run:
            self.now += STEP_S
            getattr(self, f"_{record.kind}", self._nothing)(record)

    def _nothing(self, record: Record) -> None:
        """What no log of Dynamo's tells of."""

    def _line(self, name: str, line: dict[str, Any]) -> None:
        self.files.write(name, {"t": round(self.now - self.asked, 4), "ts": self.now, **line})

    def _log(self, message: str, **fields: Any) -> None:
        when = datetime.fromtimestamp(self.now, UTC).isoformat(timespec="microseconds")
        named = {name.replace("__", "."): value for name, value in fields.items()}
        line = {"time": when.replace("+00:00", "Z"), "level": "INFO", "message": message}
        self.frontend_line({**line, "request_id": self.id, **named})

    def frontend_line(self, line: dict[str, Any]) -> None:
        """Keep a line until what comes before it in time is written."""
        heapq.heappush(self.frontend, (self.now, len(self.frontend) + self.number * 1000, line))

    def _worker(self, record: Record) -> int:
        name = str(record.values.get("worker", record.witness))
        return self.workers[int(name.rpartition("-")[2])]

    def _positions(self, record: Record) -> Iterator[int]:
        place = int(record.values["position"])
        return iter(range(self.stretch[place], self.stretch[place + 1]))

    # The frontend.

    def _dispatch(self, record: Record) -> None:
        worker, attempt = self._worker(record), int(record.values["attempt"])
        if attempt:
            self._log(
                "migration retry scheduled",
                request__attempt=attempt,
                migration__is_retry=True,
                migration__reason="disconnected",
                migration__tokens_completed=self.stretch[int(record.values["delivered"])],
                migration__from_worker_id=_instance(self.first or 0),
            )
        self._log("Selected worker", worker_id=_instance(worker), router_mode="round-robin")
        self.attempt = attempt
        self.first = worker if self.first is None else self.first

    def _failed(self, record: Record) -> None:
        error = str(record.values["error"]).replace("-", "_")
        self._log(
            "route request failed",
            error__type=error,
            migration__is_retry=str(self.attempt > 0).lower(),
            request__attempt=str(record.values["attempt"]),
            request__outcome="worker_disconnected",
            worker_id=str(_instance(self._worker(record))),
            span_name="router.route_request",
        )

    def _done(self, record: Record) -> None:
        self._log(
            "route request completed",
            migration__is_retry=str(self.attempt > 0).lower(),
            request__attempt=str(record.values["attempt"]),
            request__outcome="success",
            worker_id=str(_instance(self._worker(record))),
            span_name="router.route_request",
        )

    def _over(self, record: Record) -> None:
        done = record.values["outcome"] == "done"
        self._log(
            "request completed",
            status="success" if done else "error",
            request__outcome="success" if done else "error",
            output_tokens=str(self.stretch[int(record.aside.get("tokens", 0))]),
        )

    # The client.

    def _chunk(self, **fields: Any) -> None:
        data = {"id": f"chatcmpl-{self.id}", "created": int(self.asked), "model": "tiny"}
        text = json.dumps({**data, "object": "chat.completion.chunk", **fields})
        self._line(self.sse, {"line": f"data: {text}"})

    def _choice(self, delta: dict[str, str], finish: str | None) -> None:
        instance = _instance(self.first or 0)
        workers = {"prefill_worker_id": instance, "decode_worker_id": instance}
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        self._chunk(choices=[choice], nvext={"worker_id": workers})

    def _token(self, record: Record) -> None:
        for position in self._positions(record):
            self.now += STEP_S
            self._choice({"content": f"t{FIRST + position}"}, None)

    def _finish(self, _record: Record) -> None:
        self._choice({}, "length")

    def _usage(self, record: Record) -> None:
        more = self.stretch[1] if record.values.get("more") else 0
        count = self.stretch[int(record.values.get("completion", TOKENS))]
        usage = {"prompt_tokens": PROMPT + more, "completion_tokens": count}
        self._chunk(choices=[], usage={**usage, "total_tokens": PROMPT + more + count})

    def _error(self, _record: Record) -> None:
        error = {"message": "Service temporarily unavailable", "code": 503}
        told = json.dumps({"error": {**error, "type": "service_unavailable"}})
        self._line(self.sse, {"line": f"data: {told}"})

    def _end(self, _record: Record) -> None:
        self._line(self.sse, {"line": "data: [DONE]"})
        self._line(self.sse, {"end": True})

    # The workers, and who sees to them.

    def _exact(self, record: Record, **fields: Any) -> None:
        worker = self._worker(record)
        line = {"ts": self.now, "pid": 100 + worker, **fields}
        self.files.write(f"cw{worker}.jsonl", line)

    def _started(self, record: Record) -> None:
        already = self.stretch[int(record.values["start"])]
        sent = {"n_in": PROMPT + already, "already": already}
        self._exact(record, ev="start", id=self.id, **sent, max_tokens=self.stretch[-1] - already)

    def _emitted(self, record: Record) -> None:
        for position in self._positions(record):
            self.now += STEP_S
            self._exact(record, ev="tok", id=self.id, tok=FIRST + position)

    def _finished(self, record: Record) -> None:
        self._exact(record, ev="end", id=self.id, sent=self.stretch[-1])

    def _crash(self, record: Record) -> None:
        worker = self._worker(record)
        told = {"kind": "chaos", "sig": "KILL", "worker": f"w{worker}", "pid": 100 + worker}
        self._line("events.jsonl", {**told, "instance": _instance(worker)})
