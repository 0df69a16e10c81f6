"""The command ``export``: a target, lowered and written in the format that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from attrs import evolve

from rackproof.checker.export.aiger import aiger, aiger_binary
from rackproof.checker.export.btor2 import btor2
from rackproof.checker.export.guarded import identifier
from rackproof.checker.export.murphi import murphi
from rackproof.checker.export.promela import promela
from rackproof.checker.export.tla import tla
from rackproof.checker.lowering import Relation, lower
from rackproof.checker.machines import machines, markdown
from rackproof.checker.proof.obligations import SAFETY, obligation
from rackproof.checker.proof.slicing import sliced
from rackproof.checker.report.screen import shown
from rackproof.checker.status import Status
from rackproof.checker.targets import expand
from rackproof.checker.verify import mistake
from rackproof.model.kernel import Scope, System
from rackproof.scenarios.schema import Case, Scenario
from rackproof.scenarios.worlds import InputError

Files = dict[str, str | bytes]
"""What is to be written: by the suffix that takes the place of the file's own, "" for its own."""


def export(target: str, form: str, names: Sequence[str], *, fixed: bool, out: str | None) -> int:
    """Write a target in a format to a file, or to stdout where none is given; the exit status."""
    scenario: Scenario | None = None
    try:
        scenario = _scenario(target)
        system = _case(scenario, fixed).setting.system
        files = _files(system, form, _asked(system, form, names), out)
    except Exception as error:
        wrong = mistake(error, scenario)
        click.echo(shown("\n".join(wrong.lines)), err=True)
        return wrong.status
    _write(files, out)
    return Status.OK


def _scenario(target: str) -> Scenario:
    found = expand([target]).found
    if len(found) != 1:
        raise InputError(f"{target}: {len(found)} scenarios; export takes one")
    return found[0].load()


def _case(scenario: Scenario, fixed: bool) -> Case:
    if not fixed:
        return scenario.case
    if scenario.fix is None:
        raise InputError(f"{scenario.path}: there is no fix: in this scenario")
    return scenario.fix


def _asked(system: System, form: str, names: Sequence[str]) -> list[str]:
    """The properties of these names, or all that the format can say."""
    if form == "machines" and names:
        raise InputError(f"{names[0]}: machines are of the whole world; leave --property out")
    scopes = SAFETY if form in ("aiger", "btor2") else (Scope.ALWAYS,)
    known = [prop.name for prop in system.properties if prop.scope in scopes]
    for name in names:
        if name not in known:
            raise InputError(f"{name}: none of what {form} can say of this world: {_list(known)}")
    return list(names) or known


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"


def _files(system: System, form: str, names: Sequence[str], out: str | None) -> Files:
    if form == "machines":
        return {"": markdown(machines(system), system.name)}
    relation = lower(system)
    if form == "aiger":
        asked = obligation(relation, names)
        is_binary = out is not None and out.endswith(".aig")
        return {"": aiger_binary(asked) if is_binary else aiger(asked)}
    if form == "btor2":
        return {"": btor2(obligation(relation, names))}
    relation = _about(relation, names)
    if form == "tla":
        module = identifier(Path(out).stem) if out and out != "-" else identifier(system.name)
        text, config = tla(relation, module)
        return {"": text, ".cfg": config}
    return {"": promela(relation) if form == "promela" else murphi(relation)}


def _about(relation: Relation, names: Sequence[str]) -> Relation:
    """The relation with these properties only, sliced to them where some are left out."""
    every = {p.property.name for p in relation.predicates if p.property.scope is Scope.ALWAYS}
    predicates = tuple(p for p in relation.predicates if p.property.name in names)
    if every <= set(names):
        return evolve(relation, predicates=predicates)
    return sliced(relation, predicates)


def _write(files: Files, out: str | None) -> None:
    if out is None or out == "-":
        click.echo(files[""], nl=False)
        return
    try:
        for suffix, content in files.items():
            path = Path(out).with_suffix(suffix) if suffix else Path(out)
            data = content.encode() if isinstance(content, str) else content
            path.write_bytes(data)
    except OSError as error:
        raise click.UsageError(f"--out {out}: {(error.strerror or '').lower()}") from None
