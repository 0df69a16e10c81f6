"""Targets as they are in a commit: its files are put into a folder of their own, and a process
looks at them there. Neither the working tree nor the index is touched.

Where a commit has a rackproof itself (its model, its stacks, its checker), that one is used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import attrs
from attrs import frozen

from rackproof.checker.diff.side import Judged, Side, from_data
from rackproof.checker.diff.subject import Asked
from rackproof.checker.verdicts import counted
from rackproof.scenarios.errors import hint, quoted
from rackproof.scenarios.worlds import InputError, split_target

SUFFIXES: Final = (".py", ".yaml", ".yml")
PACKAGES: Final = ("model", "invariants", "scenarios", "checker")
CHILD: Final = "from rackproof.checker.diff.child import main; main()"
VERIFY: Final = "from rackproof.checker.cli import main; main()"
OWN: Final = Path(__file__).resolve().parent
_ENVIRONMENT: Final = {"GIT_LFS_SKIP_SMUDGE": "1", "GIT_OPTIONAL_LOCKS": "0"}


@frozen
class Revision:
    """A target in a commit. name: the commit as it was asked for."""

    name: str
    target: str

    def __str__(self) -> str:
        return f"{self.name}:{self.target}"


def as_revision(text: str) -> Revision | None:
    """What ``REV:TARGET`` means; None for what is no such thing, or a file with such a name."""
    file, _ = split_target(text)
    if text.startswith("stack:") or ":" not in file or os.path.lexists(file):
        return None
    name, _, target = text.partition(":")
    return Revision(name, target)


@frozen(slots=False)
class Repository:
    """The repository that a folder is in."""

    folder: Path

    @cached_property
    def root(self) -> Path:
        """Its topmost folder; ``InputError`` where there is none."""
        found = _git(self.folder, "rev-parse", "--show-toplevel")
        if found is None:
            raise InputError(f"{self.folder}: is not in a git repository")
        return Path(found.rstrip("\n"))

    def commit(self, name: str) -> str:
        """The commit of a revision; ``InputError`` names the nearest branch or tag."""
        if name and not name.startswith("-"):
            found = _git(self.root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
            if found is not None:
                return found.strip()
        known = (_git(self.root, "for-each-ref", "--format=%(refname:short)") or "").split()
        raise InputError(f"there is no revision {quoted(name)}{hint(name, sorted(known))}")

    def place(self, commit: str, revision: Revision) -> str:
        """The target as seen from the top of the repository; ``InputError`` where the commit does
        not have its file.
        """
        if revision.target.startswith("stack:"):
            return revision.target
        file, name = split_target(revision.target)
        for path in self._candidates(file):
            if _git(self.root, "cat-file", "-e", f"{commit}:{path}") is not None:
                return path if name is None else f"{path}:{name}"
        listed = _git(self.root, "ls-tree", "-r", "-z", "--name-only", commit) or ""
        known = sorted(path for path in listed.split("\0") if path.endswith(SUFFIXES))
        raise InputError(f"{revision.name} has no file {quoted(file)}{_nearest(file, known)}")

    def _candidates(self, file: str) -> Iterator[str]:
        """A path from the top of the repository, or else from the folder one is in."""
        if file and not Path(file).is_absolute():
            yield os.path.normpath(file)
        here = Path(os.path.normpath(self.folder.resolve() / file))
        if file and here.is_relative_to(self.root.resolve()):
            yield str(here.relative_to(self.root.resolve()))

    def extract(self, commit: str, folder: Path, index: Path) -> None:
        """Put the files of a commit into a folder, by an index of our own."""
        own = {"GIT_INDEX_FILE": str(index)}
        for arguments in (
            ("read-tree", commit),
            ("checkout-index", "--all", "--force", f"--prefix={folder}/"),
        ):
            if _git(self.root, *arguments, environment=own) is None:
                raise InputError(f"{commit[:12]}: its files cannot be taken out of git")


def _nearest(file: str, known: Sequence[str]) -> str:
    """A file of the same name elsewhere, or the nearest."""
    same = [path for path in known if Path(path).name == Path(file).name]
    return f"; did you mean {same[0]}?" if same else hint(file, known)


def _git(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str | None:
    """What git says; None where it refuses."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            env={**os.environ, **_ENVIRONMENT, **(environment or {})},
            check=False,
        )
    except FileNotFoundError:
        raise InputError("git is not installed, and is needed to compare commits") from None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None


@contextmanager
def looked_at(revision: Revision, asked: Asked, exam: str | None) -> Iterator[Looking]:
    """A process that looks at a target in a commit, for as long as it is needed."""
    repository = Repository(Path.cwd())
    commit = repository.commit(revision.name)
    target = repository.place(commit, revision)
    with TemporaryDirectory(prefix="rackproof-") as name:
        folder = Path(name)
        tree, packages = folder / "tree", folder / "packages"
        tree.mkdir()
        repository.extract(commit, tree, folder / "index")
        has_own = _is_rackproof(tree)
        if has_own:
            _overlay(tree, packages)
        elif target.startswith("stack:"):
            raise InputError(f"{revision}: {revision.name} has no rackproof, and so no stacks")
        looking = Looking(revision, target, tree, packages if has_own else None)
        looking.start(
            {"target": target, "name": str(revision), "exam": exam, **attrs.asdict(asked)}
        )
        try:
            yield looking
        finally:
            looking.stop()


def _is_rackproof(tree: Path) -> bool:
    return all((tree / name).is_dir() for name in PACKAGES) and (tree / "checker/cli.py").is_file()


def _overlay(tree: Path, packages: Path) -> None:
    """The packages of a tree under the name that they are imported by, with this one in place of
    its own: it writes what is read here.
    """
    for name, diff in (("own", None), ("laid-over", OWN)):
        top = packages / name / "rackproof"
        (top / "checker").mkdir(parents=True)
        (top / "__init__.py").touch()
        for package in PACKAGES[:-1]:
            (top / package).symlink_to(tree / package)
        for path in (tree / "checker").iterdir():
            if diff is None or path.name != "diff":
                (top / "checker" / path.name).symlink_to(path)
        if diff is not None:
            (top / "checker" / "diff").symlink_to(diff)


class Looking:
    """A process that looks at one target; what it is told and tells goes through files."""

    def __init__(self, revision: Revision, target: str, tree: Path, packages: Path | None) -> None:
        """packages: where those of the tree are, if it has any."""
        self.revision, self.target, self.tree, self.packages = revision, target, tree, packages
        self.answer, self.log = tree.parent / "answer", tree.parent / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self.asked: Mapping[str, Any] = {}

    def start(self, request: Mapping[str, Any]) -> None:
        """Begin to look."""
        self.asked = request
        self._ask(request)

    def _ask(self, request: Mapping[str, Any]) -> None:
        told = self.tree.parent / "request"
        told.write_text(json.dumps(dict(request)), "utf-8")
        self._run("laid-over", CHILD, str(told), str(self.answer))

    def _run(self, which: str, code: str, *arguments: str) -> None:
        environment = dict(os.environ)
        if self.packages is not None:
            environment["PYTHONPATH"] = str(self.packages / which)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", code, *arguments],
                cwd=self.tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def sides(self) -> dict[str, Side]:
        """What was found, by case or exam; ``InputError`` where the target cannot be used."""
        answer = self._answer()
        if answer is None:
            return {"": self._verdicts_alone(self._last_words)}
        if "error" in answer:
            raise InputError("\n".join(f"{self.revision.name}: {line}" for line in answer["error"]))
        return {case: self._side(case, data) for case, data in answer["sides"].items()}

    def _side(self, case: str, data: Mapping[str, Any]) -> Side:
        """A side that was passed on, with somebody to tell its runs."""
        side = from_data(data)
        if side.behaviour is None:
            return side
        spoken = attrs.evolve(side.behaviour, tell=partial(self._told, case))
        return attrs.evolve(side, behaviour=spoken)

    def _told(self, case: str, runs: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        """What the steps of runs come to, told by the code of the commit itself."""
        self.answer.unlink(missing_ok=True)
        self._ask({**self.asked, "case": case, "runs": runs})
        answer = self._answer()
        if answer is None or "told" not in answer:
            raise RuntimeError(f"{self.revision}: its runs cannot be told: {self._last_words}")
        return [list(map(str, words)) for words in answer["told"]]

    def _answer(self) -> Any:
        """What the process wrote, once it has ended; None where it wrote nothing."""
        assert self.process is not None, "it was started"
        self.process.wait()
        try:
            return json.loads(self.answer.read_text("utf-8"))
        except (OSError, ValueError):
            return None

    @property
    def _last_words(self) -> str:
        lines = self.log.read_text("utf-8", "replace").strip().splitlines()
        own = f"{self.packages}/laid-over/"
        return lines[-1].replace(own, "") if lines else "it ended without a word"

    def _verdicts_alone(self, why: str) -> Side:
        """What the checker of the commit itself tells; ``InputError`` where that is nothing."""
        if self.packages is not None and not self.target.startswith("stack:"):
            self._run("own", VERIFY, "verify", self.target, "--json", str(self.answer))
            answer = self._answer()
            if answer and "properties" in answer[0]:
                return _by_verdicts(str(self.revision), answer[0], why)
        raise InputError(f"{self.revision}: cannot be looked at: {why}")

    def stop(self) -> None:
        """End it, if it is still at it."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def _by_verdicts(name: str, data: Mapping[str, Any], why: str) -> Side:
    """A side of which the verdicts that count are known, and nothing else."""
    judged = {item["name"]: _judged(item) for item in data["properties"] if item["judged"]}
    note = f"of {name} the verdicts alone are known, as its own rackproof tells them ({why})"
    return Side(name, "", {}, {}, {}, {}, judged, None, f"verdicts of {name}", notes=(note,))


def _judged(item: Mapping[str, Any]) -> Judged:
    found = item.get("counterexample")
    if found is None:
        return Judged("", "", "", item["verdict"], item["verdict"], item.get("reason"))
    faults, steps = found["faults"], len(found["steps"])
    size = f"{counted(faults, 'fault')}, {counted(steps, 'step')}"
    words = f"{item['verdict']}: {size}"
    run = tuple(f"  {n}. {step['explanation']}" for n, step in enumerate(found["steps"], 1))
    return Judged("", "", "", item["verdict"], words, None, faults, steps, run)
