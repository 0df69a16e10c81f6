"""What is there under a name that people give; a name that no file can have is of nothing."""

from __future__ import annotations

from pathlib import Path


def is_file(path: str | Path) -> bool:
    """Whether there is a regular file of this name."""
    try:
        return Path(path).is_file()
    except OSError:  # too long, or not to be looked at
        return False


def is_folder(path: str | Path) -> bool:
    """Whether there is a folder of this name."""
    try:
        return Path(path).is_dir()
    except OSError:
        return False
