"""What stands in for Dynamo where that is not installed: its command lines, run by our Python with
the package in ``standin``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from rackproof.scenarios.live.deployment import Settings
from rackproof.scenarios.live.dynamo import Dynamo

FOLDER = Path(__file__).with_name("standin")
RUN = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "name = sys.argv[1]; del sys.argv[0]; "
    "run = runpy.run_path if name.endswith('.py') else runpy.run_module; "
    "run(name, run_name='__main__')"
)


@frozen
class StandIn(Dynamo):
    """The stand-in; bug: what its frontend does wrong."""

    python: Path = Path(sys.executable)
    engines: Sequence[str] = ()  # type: ignore[assignment]
    bug: str = ""

    def environment(self, settings: Settings, folder: Path) -> Mapping[str, str]:
        return {**super().environment(settings, folder), "STANDIN": self.bug}

    def frontend(self, settings: Settings, port: int) -> Sequence[str]:
        return _ours(super().frontend(settings, port))

    def worker(self, settings: Settings, folder: Path, name: str) -> Sequence[str]:
        return _ours(Dynamo(self.python).worker(settings, folder, name))


def _ours(argv: Sequence[str]) -> list[str]:
    python, _, what, *rest = argv
    return [python, "-Ic", RUN, str(FOLDER), what, *rest]
