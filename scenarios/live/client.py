"""A client of an OpenAI-style server: requests whose streams are read as they come."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from rackproof.scenarios.live.network import LOOPBACK
from rackproof.scenarios.live.recorder import Lines

_TOKEN: Final = re.compile(r"t(\d+)")
FIRST: Final = 2000
"""The token at the first position of an output (of a worker that has positions for tokens)."""
PATIENCE: Final = 600.0
"""Seconds after which a silent connection is given up for dead; the driver gives up sooner."""


def numbers(text: str) -> list[int]:
    """The tokens in a text of a model that has a word such as ``t2000`` for each."""
    return [int(number) for number in _TOKEN.findall(text)]


class Stream:
    """One request, and what its client got so far; a thread of its own reads it.

    called: what it is called in the log of the frontend, also where it is answered with an error,
    by the header x-request-id. tokens: the numbers of the tokens. finish: the finish reason.
    error: the code of an error event, or of the response. end: how the stream ended:
    ``done``, ``end`` (without a word), ``left``, or the error of the connection; None while it goes
    on. late: tokens that came behind the finish; recanted: whether an error did.
    """

    def __init__(
        self,
        port: int,
        tag: str,
        body: dict[str, Any],
        folder: Path,
        host: str = LOOPBACK,
        read: Callable[[str], Sequence[int]] = numbers,
    ) -> None:
        """Send a request. read: the numbers of the tokens in a piece of text."""
        self.tag, self.body, self._read = tag, body, read
        self.called = f"{folder.name}-{tag}-{uuid.uuid4().hex[:8]}"
        self.status: int | None = None
        self.tokens: list[int] = []
        self.times = [time.monotonic()]
        self._over: float | None = None
        self.finish: str | None = None
        self.late: list[int] = []
        self.recanted = False
        self.usage: dict[str, Any] | None = None
        self.error: str | None = None
        self.id: str | None = None
        self.end: str | None = None
        self._left = False
        self._socket: socket.socket | None = None
        self._lines = Lines(folder / f"sse_{tag}.jsonl")
        self._news = threading.Condition()
        self._connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
        self._lines.write(request=body, x_request_id=self.called)
        self._thread = threading.Thread(target=self._run, name=f"client {tag}", daemon=True)
        self._thread.start()

    @property
    def most(self) -> int:
        """How many tokens it asked for."""
        return int(self.body["max_tokens"])

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self.end is not None

    @property
    def succeeded(self) -> bool:
        """Whether the client was told that it has all of its output."""
        return self.finish is not None and self.error is None

    @property
    def gap(self) -> float:
        """The longest that its client waited, in seconds: for the first token, between two tokens,
        or for the end.
        """
        pairs = zip(self.times, [*self.times[1:], self._over or time.monotonic()], strict=True)
        return max(later - sooner for sooner, later in pairs)

    def wait(self, tokens: int | None = None, seconds: float = 60.0) -> bool:
        """Wait until the client has so many tokens, or for the end; whether that came."""
        with self._news:
            return self._news.wait_for(lambda: self._has(tokens), seconds) and (
                tokens is None or len(self.tokens) >= tokens
            )

    def _has(self, tokens: int | None) -> bool:
        return self.is_over or (tokens is not None and len(self.tokens) >= tokens)

    def leave(self) -> None:
        """Close the connection: nobody waits for the rest."""
        self._left = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)

    def close(self) -> None:
        """Leave if it still goes on, and close its record."""
        if not self.is_over:
            self.leave()
        self._lines.close()

    def _run(self) -> None:
        try:
            how = self._ask()
        except Exception as error:  # whatever comes: nobody is left waiting
            how = f"{type(error).__name__}: {error}"
        self._connection.close()
        self._ended("left" if self._left else how)

    def _ask(self) -> str:
        """Send the request and read what comes; how that ended."""
        sent = json.dumps(self.body)
        kind = {"Content-Type": "application/json", "x-request-id": self.called}
        self._connection.connect()
        self._socket = self._connection.sock
        self._connection.request("POST", "/v1/chat/completions", sent, kind)
        response = self._connection.getresponse()
        self.status = response.status
        headers = {name.lower(): value for name, value in response.getheaders()}
        self._lines.write(status=response.status, headers=headers)
        if response.status != 200:
            text = response.read().decode("utf-8", "replace")
            self._lines.write(body=text)
            self.error = str(response.status)
            return "done"
        last = ""
        while line := response.readline():
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text:
                self._lines.write(line=text)
                self._take(text)
                last = text
        return "done" if last == "data: [DONE]" else "end"

    def _take(self, line: str) -> None:
        if not line.startswith("data: ") or line == "data: [DONE]":
            return
        said = json.loads(line.removeprefix("data: "))
        with self._news:
            if "error" in said:
                self.recanted = self.finish is not None
                self.error = str(said["error"].get("code", "error"))
            self.id = said.get("id", self.id)
            self.usage = said.get("usage") or self.usage
            for choice in said.get("choices", ()):
                found = self._read(choice.get("delta", {}).get("content") or "")
                self.tokens += found
                self.late += found if self.finish else ()
                self.times += [time.monotonic()] * len(found)
                self.finish = choice.get("finish_reason") or self.finish
            self._news.notify_all()

    def _ended(self, how: str) -> None:
        if how == "left":
            self._lines.write(left=True)
        else:
            self._lines.write(end=True)
        with self._news:
            self._over = time.monotonic()
            self.end = how
            self._news.notify_all()

    def told(self) -> dict[str, Any]:
        """What is recorded of it once it is over."""
        positions = [token - FIRST for token in self.tokens]
        return {
            "tag": self.tag,
            "status": self.status,
            "n": len(self.tokens),
            "max": self.most,
            "finish": self.finish,
            "usage": self.usage,
            "done": self.end == "done",
            "err": "" if self.end in ("done", "left", "end", None) else self.end,
            "sse_error": self.error or "",
            "ended": self.end,
            "dups": len(positions) - len(set(positions)),
            "in_order": positions == sorted(set(positions)),
        }


def get(port: int, path: str, seconds: float = 5.0) -> tuple[int, Any]:
    """Ask for something, and return the status and what the JSON says; 0 where nobody answers."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=seconds)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
    except (OSError, http.client.HTTPException, ValueError):
        return 0, None
    finally:
        connection.close()
