"""The folder of a report: its own files are written over, nothing else in it is touched."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Final

from attrs import define, field

from rackproof.checker.report.names import numbered, slug
from rackproof.checker.verify import AS_REPORTED, Report, Run
from rackproof.scenarios.files import is_folder
from rackproof.scenarios.worlds import InputError

LIST: Final = "report.json"
"""The names of the files that a report consists of, so that it can be written anew."""
PAGES: Final = ("index.html", "machines.html", "recovery.html", "costs.html")
RUNS: Final = "counterexamples"
PROOFS: Final = "certificates"
_OWN: Final = re.compile(r"(counterexamples/|certificates/)?[a-z0-9][a-z0-9_-]*(\.[a-z0-9]+)+")


@define
class Folder:
    """Where a report goes; own: the files that an earlier one left there."""

    path: Path
    own: frozenset[str] = frozenset()
    taken: set[str] = field(factory=set)

    @classmethod
    def at(cls, path: Path) -> Folder:
        """Make the folder; ``InputError`` where a report cannot be written there."""
        if os.path.lexists(path) and not is_folder(path):
            raise InputError(f"--out {path}: is a file, not a folder")
        try:
            path.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=path):
                pass
            folder = cls(path, frozenset(_listed(path)))
        except OSError as error:
            raise InputError(f"--out {path}: {(error.strerror or '').lower()}") from None
        for name in (*PAGES, LIST):
            if folder._is_foreign(name):
                told = f"{path / name} is there already, and is not of a report"
                raise InputError(f"--out {path}: {told}; give another folder")
        return folder

    def _is_foreign(self, name: str) -> bool:
        return os.path.lexists(self.path / name) and name not in self.own

    def stem(self, text: str, folder: str, suffixes: Sequence[str]) -> str:
        """A name for files in a folder of it, with all these suffixes, from a text.

        Of texts that come to the same, the later are numbered; so are those whose file is there.
        """
        first = slug(text) or "unnamed"
        stem = numbered(first, lambda name: self._is_taken(f"{folder}/{name}", suffixes))
        self.taken.add(f"{folder}/{stem}")
        return stem

    def _is_taken(self, stem: str, suffixes: Sequence[str]) -> bool:
        return stem in self.taken or any(self._is_foreign(stem + suffix) for suffix in suffixes)

    def write(self, files: Mapping[str, str]) -> None:
        """Write the files of a report, and take away those of an earlier one that it has not.

        They are put in place when all are written: where that cannot be, the earlier one stays.
        What there is meanwhile is on the list, so that the next report takes it for its own.
        """
        names = {*files, LIST}
        with TemporaryDirectory(prefix=".new-", dir=self.path) as aside:
            new = {name: Path(aside, str(number)) for number, name in enumerate(files)}
            for name, file in new.items():
                _write(file, files[name])
            self._note(names | self.own, Path(aside))
            for name, file in new.items():
                (self.path / name).parent.mkdir(exist_ok=True)
                file.replace(self.path / name)
            for name in sorted(self.own - names):
                (self.path / name).unlink(missing_ok=True)
            self._note(names, Path(aside))
        for parent in (RUNS, PROOFS):
            left = self.path / parent
            if left.is_dir() and not any(left.iterdir()):
                left.rmdir()

    def _note(self, names: Iterable[str], aside: Path) -> None:
        """Say which files there are of this report."""
        told = {"rackproof": "report", "files": sorted(names)}
        _write(aside / LIST, json.dumps(told, indent=1) + "\n")
        (aside / LIST).replace(self.path / LIST)


def _write(file: Path, text: str) -> None:
    file.write_text(text, "utf-8", "surrogateescape", "\n")


def _listed(path: Path) -> Iterator[str]:
    """The files of an earlier report: no others, whatever the list says."""
    try:
        told = json.loads((path / LIST).read_text("utf-8"))
        names = told["files"] if told["rackproof"] == "report" else []
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return
    for name in names if isinstance(names, list) else []:
        if isinstance(name, str) and _OWN.fullmatch(name) and not (path / name).is_dir():
            yield name


def called(report: Report, run: Run, name: str) -> str:
    """What the files are called of a property in a case."""
    target = report.file.stem if report.file else Path(report.target).name
    return f"{target} {name} {'' if run.label == AS_REPORTED else run.label}"
