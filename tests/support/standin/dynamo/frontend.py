"""A frontend that does what Dynamo's does at the points that the driver looks at: it takes one
worker after the other, migrates, and marks workers down for a while, those that refuse among them.

STANDIN=replays: a request that migrates starts again at its first token. STANDIN=silent: an attempt
that fails ends the stream without a word.
"""

import argparse
import asyncio
import json
import os
import sys
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

BUG = os.environ.get("STANDIN", "")
DOWN = 0.4
FIRST = 2000


def log(message: str, **more: Any) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    line = {"time": now, "level": "INFO", "target": "standin", "message": message, **more}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Lost(Exception):
    def __init__(self, error: str) -> None:
        self.error = error


def error_of(lost: Exception) -> str:
    if isinstance(lost, Lost):
        return lost.error
    return "response_timeout" if isinstance(lost, TimeoutError) else "disconnected"


class Frontend:
    def __init__(self, limit: int) -> None:
        self.limit, self.timeout = limit, float(os.environ.get(TIMEOUT, "0")) or None
        self.marked: dict[int, float] = {}
        self.turn = 0

    def listed(self) -> list[dict[str, Any]]:
        folder = Path(os.environ["DYN_FILE_KV"])
        return [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]

    def halves(self) -> list[str]:
        apart = any(worker["component"] == "prefill" for worker in self.listed())
        return ["prefill", "backend"] if apart else ["backend"]

    def choose(self, half: str = "backend") -> dict[str, Any]:
        there = [worker for worker in self.listed() if worker["component"] == half]
        free = [w for w in there if self.marked.get(w["instance_id"], 0) < time.time()]
        if not free:
            raise Lost("none")
        self.turn += 1
        return free[self.turn % len(free)]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, _ = head.split(" ", 2)
        if method == "GET":
            found = {"/health": {"status": "healthy", "instances": self.listed()}}
            body = json.dumps(found.get(path, {"data": self.listed()})).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        else:
            length = int(head.lower().partition("content-length:")[2].split()[0])
            await self.chat(json.loads(await reader.readexactly(length)), writer)
        await writer.drain()
        writer.close()

    async def chat(self, asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        try:
            self.choose()
            self.turn -= 1
        except Lost:
            writer.write(b"HTTP/1.1 503 x\r\nContent-Length: 2\r\n\r\n{}")
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        stream = Session(self, asked, writer)
        outcome = "success"
        try:
            await stream.run()
        except Lost as lost:
            outcome = "error"
            if BUG != "silent":
                stream.send({"error": {"code": 503, "message": lost.error}})
        told = {"request.outcome": outcome, "status": outcome, "output_tokens": str(stream.sent)}
        log("request completed", request_id=stream.id, **told)
        writer.write(b"data: [DONE]\n\n")


class Session:
    def __init__(
        self, frontend: Frontend, asked: dict[str, Any], writer: asyncio.StreamWriter
    ) -> None:
        self.frontend, self.asked, self.writer = frontend, asked, writer
        self.id, self.sent = str(uuid.uuid4()), 0

    def send(self, data: dict[str, Any]) -> None:
        data = {"id": f"chatcmpl-{self.id}", **data}
        self.writer.write(b"data: " + json.dumps(data).encode() + b"\n\n")

    async def run(self) -> None:
        why: dict[str, Any] = {"migration.is_retry": "false"}
        for attempt in range(self.frontend.limit + 1):
            instance, span = 0, dict[str, Any]()
            tokens = {"migration.tokens_completed": str(self.sent)}
            try:
                for half in self.frontend.halves():
                    worker = self.frontend.choose(half)
                    instance, here = worker["instance_id"], {"request.attempt": str(attempt)}
                    span = {"request_id": self.id, "worker_id": str(instance), **here}
                    await self.attempt(worker, half)
                    log("route request completed", **span, **why, **tokens)
                return
            except (Lost, OSError, TimeoutError) as lost:
                error = error_of(lost)
                if error == "none":
                    raise
                self.frontend.marked[instance] = time.time() + DOWN
                log("route request failed", **span, **why, **tokens, **{"error.type": error})
            why = {"migration.reason": error, "migration.from_worker_id": instance}
            if attempt < self.frontend.limit:
                tokens = {"migration.tokens_completed": self.sent}
                told = {"request.attempt": attempt + 1, **why, **tokens}
                log("migration retry scheduled", request_id=self.id, **told)
        raise Lost("exhausted")

    async def attempt(self, worker: dict[str, Any], half: str) -> None:
        host, port = worker["transport"]["tcp"].partition("/")[0].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        told = 0 if BUG == "replays" else self.sent
        most = self.asked["max_tokens"] - told
        tokens = [*self.prompt(), *range(FIRST, FIRST + told)]
        request = {"token_ids": tokens, "stop_conditions": {"max_tokens": most}}
        writer.write(json.dumps({"id": self.id, "request": request}).encode() + b"\n")
        selected = False
        while True:
            line = await asyncio.wait_for(reader.readline(), self.frontend.timeout)
            if not line:
                raise Lost("disconnected")
            said = json.loads(line)
            if "raised" in said:
                raise Lost("cannot_connect")
            if "over" in said:
                return
            if said["token_ids"] and not selected:
                log("Selected worker", request_id=self.id, worker_id=worker["instance_id"])
                selected = True
            if half != "prefill":
                self.pass_on(said)
            await self.writer.drain()

    def prompt(self) -> list[int]:
        words = self.asked["messages"][0]["content"].split()
        return [int(word.removeprefix("t")) for word in words]

    def pass_on(self, said: dict[str, Any]) -> None:
        for token in said["token_ids"]:
            self.send({"choices": [{"delta": {"content": f"t{token}"}}]})
            self.sent += 1
        if "finish_reason" in said:
            self.send({"choices": [{"delta": {}, "finish_reason": said["finish_reason"]}]})
            usage = {"prompt_tokens": len(self.prompt()), "completion_tokens": self.sent}
            self.send({"choices": [], "usage": usage})


async def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--http-host", "--http-port", "--migration-limit", "--router-mode"):
        parser.add_argument(option)
    asked = parser.parse_args()
    frontend = Frontend(int(asked.migration_limit))
    server = await asyncio.start_server(frontend.answer, asked.http_host, asked.http_port)
    async with server:
        await server.serve_forever()


TIMEOUT = "DYN_HTTP_BACKEND_STREAM_TIMEOUT_SECS"

if __name__ == "__main__":
    asyncio.run(main())
