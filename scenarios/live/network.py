"""A network of one's own: nothing that a deployment opens can be reached from outside, and nothing
else is on its ports.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

CLONE_NEWNET: Final = 0x40000000
SIOCGIFFLAGS: Final = 0x8913
SIOCSIFFLAGS: Final = 0x8914
IFF_UP: Final = 1
LOOPBACK: Final = "127.0.0.1"


@contextmanager
def own_network() -> Iterator[str | None]:
    """Put this thread, and the threads and processes it starts, on a network of loopback alone.

    Yields None, or why that is not permitted; everything then stays on the network it is on.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as before:  # noqa: PTH123 (a handle, not a file)
        if libc.unshare(CLONE_NEWNET):
            yield os.strerror(ctypes.get_errno()).lower()
            return
        try:
            _loopback_up()
            yield None
        finally:
            libc.setns(before.fileno(), CLONE_NEWNET)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        asked = struct.pack("16sh", b"lo", 0)
        _, flags = struct.unpack("16sh", fcntl.ioctl(handle, SIOCGIFFLAGS, asked))
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))


def free_port() -> int:
    """A port of loopback on which nobody listens now."""
    with socket.socket() as handle:
        handle.bind((LOOPBACK, 0))
        return int(handle.getsockname()[1])


def refuses(host: str, port: int) -> bool:
    """Whether nobody listens there any more."""
    try:
        with socket.create_connection((host, port), timeout=1):
            return False
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
