"""A runtime whose discovery is a folder, and whose endpoints speak JSON lines over TCP."""

import asyncio
import json
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any


class Context:
    def __init__(self, name: str) -> None:
        self.name = name

    def id(self) -> str:
        return self.name


class Endpoint:
    def __init__(self, path: str) -> None:
        self.component = path.split(".")[1]

    async def serve_endpoint(self, generate: Callable[..., Any]) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked = json.loads(await reader.readline())
            try:
                async for item in generate(asked["request"], Context(asked["id"])):
                    writer.write(json.dumps(item).encode() + b"\n")
                    await writer.drain()
            except Exception as error:
                writer.write(json.dumps({"raised": type(error).__name__}).encode() + b"\n")
            writer.write(b'{"over": true}\n')
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        folder = Path(os.environ["DYN_FILE_KV"])
        folder.mkdir(parents=True, exist_ok=True)
        listed = {
            "endpoint": "generate",
            "component": self.component,
            "instance_id": 1_000_000 + os.getpid(),
            "transport": {"tcp": f"127.0.0.1:{port}/x"},
        }
        new = folder / f"{os.getpid()}.new"
        new.write_text(json.dumps(listed))
        new.rename(new.with_suffix(".json"))
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def leave() -> None:
            new.with_suffix(".json").unlink()
            loop.call_later(0.5, ended.set)

        loop.add_signal_handler(15, leave)
        async with server:
            await ended.wait()


class DistributedRuntime:
    def endpoint(self, path: str) -> Endpoint:
        return Endpoint(path)


def dynamo_worker() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        async def run(*given: Any) -> None:
            await function(DistributedRuntime(), *given)

        return run

    return decorate
