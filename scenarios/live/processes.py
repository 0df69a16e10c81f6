"""The processes of a deployment, each in a group of its own, so that none is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

POLL: Final = 0.002
"""Seconds between two looks at something that is waited for."""


def until(what: Callable[[], bool], seconds: float) -> bool:
    """Wait for something at most so long; whether it came."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return what()
        time.sleep(POLL)
    return True


class Child:
    """A process, with the group that it leads; what it prints goes to a file."""

    def __init__(
        self, name: str, argv: Sequence[str], env: Mapping[str, str], log: Path, folder: Path
    ) -> None:
        self.name, self.log = name, log
        with log.open("ab") as out:
            self._popen = subprocess.Popen(
                [*_dying_with_us(), *argv],
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its number, and that of its group."""
        return self._popen.pid

    @property
    def status(self) -> int | None:
        """How it ended: its exit status, or minus the signal; None while it runs."""
        return self._popen.poll()

    @property
    def state(self) -> str:
        """What the kernel says of it, a letter: S or R at work, T stopped, Z or X dead."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return "X"
        return stat.rpartition(")")[2].split()[0]

    def signal(self, number: int) -> None:
        """Send a signal to it and to all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def end(self) -> None:
        """Kill it and whatever is left of its group."""
        self.signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(5)


def _dying_with_us() -> list[str]:
    """What has a child killed should its parent be, so that nothing is left even then."""
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "KILL"] if tool else []
