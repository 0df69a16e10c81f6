"""Reading a certificate back: the file, the target it names, and whether they belong together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import attrs
from attrs import frozen

from rackproof.checker.lowering import lower
from rackproof.checker.lowering.relation import Relation
from rackproof.checker.proof import smtlib
from rackproof.checker.proof.certificate import CLAUSE, FIELDS, NOTHING, Certificate, version_here
from rackproof.checker.proof.obligations import SAFETY, obligation
from rackproof.checker.proof.smtlib import Expression, SyntaxProblem
from rackproof.model.kernel import ModelError, System
from rackproof.scenarios.changes import SET, as_map, read_change
from rackproof.scenarios.worlds import InputError, split_target

LONGEST = 160
"""Of a line that is not as it should be, so many characters are told."""


class Mismatch(Exception):
    """A file is not the certificate of what it names; the message says where and why."""


class NotHere(Exception):
    """The target of a certificate is not on this machine."""


@frozen
class File:
    """A file with what it says it is a certificate of."""

    path: Path
    text: str

    @cached_property
    def commands(self) -> list[Expression]:
        """The commands; ``InputError`` where the file is no SMT-LIB."""
        try:
            found = smtlib.expressions(self.text)
            for command in found:
                if not command.parts:
                    raise SyntaxProblem(command.line, f"a command is expected, not {command.text}")
        except SyntaxProblem as problem:
            raise InputError(f"{self.path}:{problem.line}: {problem.what}") from None
        return found

    @cached_property
    def fields(self) -> Mapping[str, str]:
        """What its head says, by the names of ``FIELDS``; ``InputError`` where it has none."""
        said = {}
        for command in self.commands:
            parts = command.parts or ()
            if command.head == "set-info" and len(parts) == 3:
                said[parts[1].text.removeprefix(":rackproof-")] = _unquoted(parts[2].text)
        missing = next((name for name in FIELDS if name not in said), None)
        if missing:
            raise InputError(
                f"{self.path}: is no certificate of rackproof: (set-info :rackproof-{missing} ...) "
                "is not in it"
            )
        return said

    @property
    def properties(self) -> tuple[str, ...]:
        """The names of the properties that it is to prove."""
        return tuple(self.fields["properties"].split(", "))

    @property
    def open(self) -> tuple[str, ...]:
        """The freedoms for every value of which it is to be a proof."""
        said = self.fields["open"]
        return () if said == NOTHING else tuple(said.split(", "))

    @property
    def bodies(self) -> list[Expression]:
        """The clauses of its invariant."""
        return [
            command.parts[-1]
            for command in self.commands
            if command.head == "define-fun"
            and command.parts is not None
            and len(command.parts) == 5
            and command.parts[1].text.startswith(CLAUSE)
        ]


def read(path: Path) -> File:
    """Read a file; ``InputError`` where it is no certificate."""
    try:
        file = File(path, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no text") from None
    assert file.fields
    return file


def derived(file: File) -> Certificate:
    """The certificate that a file is, all but the clauses derived from the target it names.

    ``NotHere`` where there is no such target; ``Mismatch`` where the file is not word for word what
    is derived from it.
    """
    target = file.fields["target"]
    try:
        system = target_system(target, file.fields["case"], file.path.parent)
        relation = lower(system.with_lemmas.leave_open(file.open))
    except ModelError as error:
        raise InputError(f"{target}: {error}") from error
    _check_properties(file, relation)
    shown = obligation(relation, file.properties)
    try:
        clauses = tuple(smtlib.node(shown.relation, body) for body in file.bodies)
    except SyntaxProblem as problem:
        raise Mismatch(f"line {problem.line}: {problem.what}") from None
    said = file.fields
    item = Certificate(
        said["target"], said["case"], file.properties, said["method"], shown, clauses, file.open
    )
    _check_text(file, attrs.evolve(item, version=said["version"]))
    return item


def target_system(target: str, case: str, folder: Path) -> System:
    """The world of a target, looked for from here and then from a folder."""
    from rackproof.checker.targets import expand  # noqa: PLC0415
    from rackproof.checker.verify import AS_REPORTED, WITH_FIX  # noqa: PLC0415
    from rackproof.scenarios.exams import exams  # noqa: PLC0415

    target, *texts = target.split(SET)
    changes = [read_change(text) for text in texts]
    if target.startswith("stack:"):
        exam = next((exam for exam in exams() if exam.name == case), None)
        if exam is None:
            raise Mismatch(f"there is no exam {case!r}")
        return exam.setting(target.removeprefix("stack:"), as_map(changes)).system
    found = expand([_found(target, folder)], changes).found
    if len(found) != 1:
        raise Mismatch(f"{target} is not one scenario")
    scenario = found[0].load()
    cases = {AS_REPORTED: scenario.case, WITH_FIX: scenario.fix}
    chosen = cases.get(case)
    if chosen is None:
        raise Mismatch(f"{target} has no case {case!r}")
    return chosen.setting.system


def _found(target: str, folder: Path) -> str:
    file, name = split_target(target)
    for path in (Path(file), folder / file):
        if path.is_file():
            return str(path) if name is None else f"{path}:{name}"
    raise NotHere(
        f"{target}: there is no such file, seen from here or from the certificate's folder; run it "
        "from where there is"
    )


def _check_properties(file: File, relation: Relation) -> None:
    scopes = {p.name: p.scope for p in relation.system.properties}
    for name in file.properties:
        if name not in scopes:
            raise Mismatch(f"{file.fields['target']} has no property {name!r}")
        if scopes[name] not in SAFETY:
            raise Mismatch(
                f"{name} is a property that no invariant can show ({scopes[name].value})"
            )


def _check_text(file: File, item: Certificate) -> None:
    """Line by line, so that a file cannot bring in another model than its target's."""
    lines = file.text.rstrip("\n").split("\n"), item.document.text.rstrip("\n").split("\n")
    for number, (said, wanted) in enumerate(zip_longest(*lines), 1):
        if said == wanted:
            continue
        own = version_here()
        hint = (
            f"; it was written by rackproof {item.version}, and this is {own}"
            if item.version != own
            else ""
        )
        if said is None:
            raise Mismatch(f"the file ends after line {number - 1}, before {_cut(wanted)}{hint}")
        if wanted is None:
            raise Mismatch(f"line {number} is one too many: {_cut(said)}{hint}")
        raise Mismatch(
            f"line {number} is {_cut(said)}, but from {item.target} ({item.case}) follows "
            f"{_cut(wanted)}{hint}"
        )


def _cut(line: str) -> str:
    text = line.strip()
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}...")


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') else text
