"""What is written down of a live run: one folder, in the layout that ``recorded`` reads.

``events.jsonl`` has what the driver did and what came of it (``t`` seconds since the start, ``ts``
Unix time), ``sse_TAG.jsonl`` each line that the client got, ``cwN.jsonl`` what the worker N
emitted, ``fe.log`` and ``wN.log`` what the processes printed.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any


class Lines:
    """A file of JSON objects, a line each, each with the seconds since it was begun."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._start = time.monotonic()
        self._lock = threading.Lock()

    def write(self, **said: Any) -> None:
        """Add a line; what is closed takes none."""
        line = {"t": round(time.monotonic() - self._start, 4), "ts": time.time(), **said}
        with self._lock:
            if not self._file.closed:
                self._file.write(json.dumps(line) + "\n")
                self._file.flush()

    def close(self) -> None:
        """Write no more."""
        with self._lock:
            self._file.close()


class Tail:
    """The lines of a file of JSON objects as they come; what is no such line is passed over."""

    def __init__(self, path: Path) -> None:
        self._path, self._at, self._rest = path, 0, b""
        self.seen: list[dict[str, Any]] = []

    def read(self) -> list[dict[str, Any]]:
        """All whole lines so far, those included that came since."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._at)
                added = file.read()
            self._at += len(added)
            *lines, self._rest = (self._rest + added).split(b"\n")
            self.seen += [found for line in lines if (found := _object(line)) is not None]
        return self.seen


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
