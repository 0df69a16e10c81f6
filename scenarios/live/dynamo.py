"""NVIDIA Dynamo on a CPU: how its frontend, its mocker and our oracle are started.

It runs in a Python of its own, as docs/dynamo.md tells; nothing of it is imported here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from attrs import frozen

from rackproof.scenarios.live.deployment import AGGREGATED, HOOKS, MODEL, SCRATCH, Failed, Settings
from rackproof.scenarios.live.network import LOOPBACK
from rackproof.scenarios.live.weightless import write_model

VARIABLE: Final = "RACKPROOF_DYNAMO_PYTHON"
ORACLE: Final = Path(__file__).with_name("oracle.py")
HOSTS: Final = (
    "DYN_HTTP_HOST",
    "DYN_TCP_RPC_HOST",
    "DYN_TCP_RESPONSE_STREAM_HOST",
    "DYN_EVENT_PLANE_HOST",
    "DYN_SYSTEM_HOST",
    "DYN_HTTP_RPC_HOST",
)
MOCKED: Final = 5.7
"""Milliseconds between two tokens of the mocker at its own speed."""

Engine = Literal["oracle", "mocker"]


@frozen
class Dynamo:
    """Dynamo as it is installed for a Python, with the CPU engine of each worker."""

    python: Path
    engines: Sequence[Engine] = ()

    def environment(self, settings: Settings, folder: Path) -> Mapping[str, str]:
        """Everything on loopback, discovery by files, logs as JSON."""
        own = {
            "DYN_DISCOVERY_BACKEND": "file",
            "DYN_FILE_KV": f"{SCRATCH}/discovery",
            "DYN_REQUEST_PLANE": "tcp",
            "DYN_EVENT_PLANE": "zmq",
            "DYN_LOGGING_JSONL": "1",
            "HF_HUB_OFFLINE": "1",
            "HOME": str(folder / SCRATCH),  # a frontend caches model cards there
            **dict.fromkeys(HOSTS, LOOPBACK),
        }
        if settings.stream_timeout is not None:
            own["DYN_HTTP_BACKEND_STREAM_TIMEOUT_SECS"] = f"{settings.stream_timeout:g}"
        return own

    def frontend(self, settings: Settings, port: int) -> Sequence[str]:
        """The frontend, with its router."""
        return [
            *(str(self.python), "-Im", "dynamo.frontend"),
            *("--http-host", LOOPBACK, "--http-port", str(port)),
            *("--migration-limit", str(settings.migration_limit)),
            *("--router-mode", "kv" if settings.roles else "round-robin"),
        ]

    def worker(self, settings: Settings, folder: Path, name: str) -> Sequence[str]:
        """A worker of the engine that was asked for; an oracle, where nothing was. Paths are seen
        from the folder of the record, in which all processes run.
        """
        model = str(write_model(folder / SCRATCH / "model"))  # a card has the whole path in it
        number, role = settings.names.index(name), settings.role(name)
        engine = self.engines[number] if number < len(self.engines) else "oracle"
        if engine == "mocker":
            ratio = MOCKED / 1000 / settings.pause
            return [
                *(str(self.python), "-Im", "dynamo.mocker"),
                *("--model-path", model, "--model-name", MODEL),
                *("--speedup-ratio", f"{ratio:.3g}"),
                *(("--disaggregation-mode", role) if role != AGGREGATED else ()),
            ]
        shutil.copy(ORACLE, folder / SCRATCH)
        return [
            *(str(self.python), "-I", f"{SCRATCH}/{ORACLE.name}", "--name", name),
            *("--model-path", model, "--model-name", MODEL),
            *("--record", f"c{name}.jsonl", "--hooks", HOOKS),
            *("--pause", f"{settings.pause:g}"),
            *(("--disaggregation-mode", role) if role != AGGREGATED else ()),
            *(("--length", str(settings.length)) if settings.length is not None else ()),
            *(("--emits",) if settings.emits else ()),
        ]


def find_python(given: str | None) -> Path:
    """The Python that has Dynamo; ``Failed`` says what to install where there is none."""
    chosen = given or os.environ.get(VARIABLE)
    if not chosen:
        raise Failed(
            f"which Python has Dynamo? Give --python PATH or set {VARIABLE}. Dynamo is not part of "
            "rackproof: docs/dynamo.md tells how to install it (721 MB, no GPU needed)"
        )
    path = Path(chosen)
    try:
        asked = [str(path), "-Ic", "import dynamo.frontend, dynamo.runtime"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    except OSError as error:
        raise Failed(f"{path}: {(error.strerror or 'cannot be run').lower()}") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{path}: importing dynamo takes longer than 120 s") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Failed(f"{path}: has no Dynamo ({why}); docs/dynamo.md tells how to install it")
    return path.absolute()
