"""Any serving stack that speaks OpenAI's protocol over HTTP, behind the adapter protocol.

Requests are sent to ``/v1/chat/completions``, their streams are read by threads. How the stack is
started is to be said by whoever has one, and what can be done to its workers: ``Signals`` does that
to processes on this machine.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from attrs import define

from rackproof.model.kernel import Observation, System
from rackproof.model.kernel.implementation import Ineffective
from rackproof.scenarios.adapters import seen
from rackproof.scenarios.adapters.adapter import CLIENT, Adapter, Ask
from rackproof.scenarios.live.client import Stream

STEP: Final = 0.05
"""Seconds of one step."""
_NUMBER: Final = re.compile(r"\d+")


@define
class _Heard:
    """How much of a stream was reported."""

    stream: Stream
    tokens: int = 0
    finished: bool = False
    over: bool = False

    @property
    def waits(self) -> bool:
        """Whether there is something that was not reported."""
        return not self.over and (len(self.stream.tokens) > self.tokens or self.stream.is_over)


class HttpAdapter(Adapter):
    """A stack at a URL. ``launch`` is to start it and wait until it serves, and to set ``url``,
    such as ``http://127.0.0.1:8000``; ``stop`` is to end it, and to call this one's.

    model: what requests name. first: the number of the token at position 0. silence: seconds
    without a token after which a stream that is not over stays as it is; longer than any time-out
    of the stack.
    """

    complete = CLIENT
    asynchronous = True
    url: str
    model: ClassVar[str] = "model"
    first: ClassVar[int] = 0
    silence: float = 30.0

    def start(self, system: System) -> None:
        self._heard: dict[str, _Heard] = {}
        self._folder = tempfile.TemporaryDirectory()
        self._last = time.monotonic()
        super().start(system)

    def stop(self) -> None:
        for heard in self._heard.values():
            heard.stream.close()
        self._folder.cleanup()

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request, as it is sent."""
        message = {"role": "user", "content": "count"}
        limit = {"max_tokens": ask.max_tokens}
        return {"model": self.model, "stream": True, "messages": [message], **limit}

    def numbers(self, text: str) -> list[int]:
        """The numbers of the tokens in a piece of an answer: by default, those that are in it."""
        return [int(number) for number in _NUMBER.findall(text)]

    def send(self, ask: Ask) -> Stream:
        """Send a request; its stream is read from now on."""
        at, folder = urlsplit(self.url), Path(self._folder.name)
        assert at.hostname is not None
        port = at.port or 80
        return Stream(port, ask.request, self.body(ask), folder, at.hostname, self.numbers)

    def submit(self, ask: Ask) -> None:
        self._heard[ask.request] = _Heard(self.send(ask))

    def cancel(self, request: str) -> None:
        heard = self._heard[request]
        if heard.stream.is_over:
            raise Ineffective("its stream is over")
        heard.stream.leave()
        heard.over = True

    def advance(self) -> bool:
        time.sleep(STEP)
        if any(heard.waits for heard in self._heard.values()):
            self._last = time.monotonic()
        open_ = any(not heard.over for heard in self._heard.values())
        return time.monotonic() - self._last < (self.silence if open_ else STEP)

    def observe(self) -> Sequence[Observation]:
        return [item for name, heard in self._heard.items() for item in self._news(name, heard)]

    def _news(self, request: str, heard: _Heard) -> list[Observation]:
        """What came since it was last asked; once the stream is over, all that there is."""
        stream, told = heard.stream, list[Observation]()
        if heard.over:
            return told
        over, finish = stream.is_over, stream.finish is not None
        late = len(stream.late)
        tokens = stream.tokens[heard.tokens :]
        for number, token in enumerate(tokens, heard.tokens):
            if finish and not heard.finished and number >= len(stream.tokens) - late:
                told.append(seen.finish(request))
                heard.finished = True
            told.append(seen.token(request, token - self.first))
        heard.tokens += len(tokens)
        if finish and not heard.finished:
            told.append(seen.finish(request))
            heard.finished = True
        if over:
            heard.over = True
            told += [seen.error(request)] if stream.error else []
            told += [seen.end(request)]
        return told


class Signals:
    """What can be done to workers that are processes on this machine: put it before the adapter,
    as in ``class MyAdapter(Signals, HttpAdapter)``.

    pids: by worker, the process to which a signal goes; set by ``launch``.
    """

    pids: dict[str, int]

    def kill(self, worker: str) -> None:
        """SIGKILL."""
        self._signal(worker, signal.SIGKILL)

    def freeze(self, worker: str) -> None:
        """SIGSTOP."""
        self._signal(worker, signal.SIGSTOP)

    def resume(self, worker: str) -> None:
        """SIGCONT."""
        self._signal(worker, signal.SIGCONT)

    def _signal(self, worker: str, number: signal.Signals) -> None:
        try:
            os.kill(self.pids[worker], number)
        except ProcessLookupError:
            raise Ineffective(f"{worker} is gone") from None
