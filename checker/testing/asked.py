"""What tests leave open: where the file of a target is, and what pytest's ini file says."""

from __future__ import annotations

import os
from pathlib import Path

runs: int | None = None
"""How many runs are drawn where a test does not say it (``rackproof_runs``)."""
time_limit: str = ""
"""How long runs are drawn (``rackproof_time_limit``)."""


def nearest(target: str, base: Path) -> str:
    """A target of a test in a folder, as a command line has it in the folder of now.

    Its path is from the folder of the test, or else from the nearest one above that has such a
    file: so ``protocols/mine.yaml`` is the same in every test of a project, wherever pytest is
    called.
    """
    file, colon, _ = target.rpartition(":")
    path = Path(file if colon and file.endswith(".py") else target)
    if not path.is_absolute():
        for folder in (base, *base.parents):
            if (folder / path).exists():
                return os.path.relpath(folder / target)
    return target
