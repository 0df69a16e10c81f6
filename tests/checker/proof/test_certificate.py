"""A certificate is accepted only where it proves its property of the target that it names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import brute
import pytest
import worlds
from attrs import evolve

from rackproof.checker.cli import run
from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Node
from rackproof.checker.proof.certificate import Certificate, certificate, write
from rackproof.checker.proof.checking import Checked, Refutation, check, check_file
from rackproof.checker.proof.induction import Inductive, induction, minimal
from rackproof.checker.proof.obligations import Obligation, obligation
from rackproof.checker.proof.proof import Proof
from rackproof.checker.proof.solvers import NAMES, SAT, UNKNOWN
from rackproof.checker.status import Status
from rackproof.model.kernel import System
from rackproof.scenarios.worlds import InputError

SOURCE = """
import worlds

pool = worlds.pool(2, 1, 1)
larger = worlds.pool(2, 1, 2)
stream = worlds.stream(3, replays=True)
counters = worlds.WORLDS["counters"][0]()
restart = worlds.stream(3, replays=False)
"""
PROVED: dict[str, tuple[Callable[[], System], str]] = {
    "pool": (lambda: worlds.pool(2, 1, 1), "fails-last"),
    "stream": (lambda: worlds.stream(3, replays=True), "no-duplicate"),
    "counters": (worlds.WORLDS["counters"][0], "ordered"),
}


@cache
def proof(name: str) -> tuple[Obligation, tuple[Node, ...]]:
    """A property of a world and an invariant that shows it."""
    make, prop = PROVED[name]
    shown = obligation(lower(make()), [prop])
    found = induction(shown)
    assert isinstance(found, Inductive)
    assert found.clauses is not None
    return shown, found.clauses


def made(name: str, shown: Obligation, clauses: tuple[Node, ...]) -> Certificate:
    return certificate(
        f"world.py:{name}", "as reported", Proof(shown, tuple(clauses), "a test", 0.0)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the worlds and a certificate of each."""
    path = tmp_path_factory.mktemp("certificates")
    (path / "world.py").write_text(SOURCE, encoding="utf-8")
    for name in PROVED:
        write(made(name, *proof(name)), path / f"{name}.smt2")
    return path


def changed(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def refutations(checked: Checked) -> list[Refutation]:
    return [answer.refutation for answer in checked.answers if answer.refutation is not None]


# Accepted.


@pytest.mark.parametrize("name", PROVED)
def test_a_proof_is_accepted_by_both_solvers(folder: Path, name: str) -> None:
    checked = check_file(folder / f"{name}.smt2")
    assert checked.status is Status.OK
    assert [answer.solver for answer in checked.answers] == list(NAMES)
    assert checked.certificate is not None
    assert checked.certificate.properties == (PROVED[name][1],)


def test_the_relation_is_the_same_text_whatever_else_was_asked(folder: Path) -> None:
    """A property more in the world, lowered beside it, changes nothing in the file."""
    system = worlds.pool(2, 1, 1)
    alone = evolve(system, properties=[p for p in system.properties if p.name == "fails-last"])
    shown = obligation(lower(alone), ["fails-last"])
    found = induction(shown)
    assert isinstance(found, Inductive)
    text = made("pool", shown, found.clauses or ()).document.text
    assert text == (folder / "pool.smt2").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROVED)
def test_the_same_invariant_is_the_same_file(folder: Path, name: str) -> None:
    shown, clauses = proof(name)
    again = made(name, shown, tuple(reversed(clauses))).document.text
    assert again == (folder / f"{name}.smt2").read_text(encoding="utf-8")


def test_the_states_that_can_be_reached_are_an_invariant(folder: Path) -> None:
    shown = obligation(lower(worlds.WORLDS["counters"][0]()), ["ordered"])
    write(made("counters", shown, brute.exact(shown.relation)), folder / "exact.smt2")
    assert check_file(folder / "exact.smt2").status is Status.OK


def test_a_property_at_rest() -> None:
    """No request waits for ever where there is a worker that never fails."""
    shown = obligation(lower(worlds.pool(2, 1, 0)), ["answered"])
    clauses = minimal(shown, brute.exact(shown.relation))
    assert check(made("calm", shown, clauses)).status is Status.OK
    for clause in clauses:
        rest = tuple(other for other in clauses if other != clause)
        assert check(made("calm", shown, rest)).status is Status.VIOLATED


# Rejected, as the invariant is none.


@pytest.mark.parametrize("name", PROVED)
def test_every_clause_is_needed_as_it_is(folder: Path, name: str) -> None:
    shown, clauses = proof(name)
    arena = shown.relation.arena
    for clause in clauses:
        rest = tuple(other for other in clauses if other != clause)
        for wrong in (rest, (*rest, arena.not_(clause))):
            write(made(name, shown, wrong), folder / "wrong.smt2")
            checked = check_file(folder / "wrong.smt2")
            assert checked.status is Status.VIOLATED
            assert [answer.said for answer in checked.answers] == [SAT, SAT]
            for refutation in refutations(checked):
                holds_up(shown, refutation)


def holds_up(shown: Obligation, refutation: Refutation) -> None:
    """What is told of a refutation is there to be told."""
    assert refutation.query
    assert refutation.lines
    labels = {shown.relation.system.schema.slots[v.slot].label for v in shown.relation.variables}
    assert set(refutation.before) == labels
    if refutation.query.startswith("2."):
        assert refutation.after is not None
        assert refutation.after != refutation.before
        assert refutation.clauses
    else:
        assert refutation.after is None


def test_what_is_violated_has_no_certificate(folder: Path) -> None:
    shown = obligation(lower(worlds.stream(3, replays=False)), ["no-duplicate"])
    _, clauses = proof("stream")
    arena = shown.relation.arena
    doubled = next(
        variable.slot
        for variable in shown.relation.variables
        if shown.relation.system.schema.slots[variable.slot].label == "doubled"
    )
    assert clauses
    write(made("restart", shown, (arena.not_(arena.var(doubled)),)), folder / "restart.smt2")
    checked = check_file(folder / "restart.smt2")
    assert checked.status is Status.VIOLATED
    for refutation in refutations(checked):
        assert re.match(r"2\.\d+ It is kept by token: The engine emits", refutation.query)
        assert refutation.clauses == ("not doubled",)
        assert refutation.after is not None
        assert (refutation.before["doubled"], refutation.after["doubled"]) == ("false", "true")


def test_a_clause_that_is_false_at_the_start() -> None:
    shown, clauses = proof("stream")
    slot = shown.relation.variables[0].slot
    arena = shown.relation.arena
    never = arena.eq(arena.var(slot), arena.const(3))
    for refutation in refutations(check(made("stream", shown, (*clauses, never)))):
        assert refutation.query == "1. The invariant holds at the start"
        assert refutation.clauses == ("tries[attempt-0].sent == 3",)
        assert refutation.before["tries[attempt-0].sent"] == "0"


# Rejected, as the file is not what follows from its target.


def test_no_line_can_be_spared(folder: Path) -> None:
    lines = (folder / "counters.smt2").read_text(encoding="utf-8").splitlines()
    for number in range(len(lines)):
        rest = [*lines[:number], *lines[number + 1 :]]
        file = changed(folder, "spared.smt2", "\n".join(rest) + "\n")
        assert outcome(file) in (Status.VIOLATED, Status.BAD_INPUT), lines[number]


def test_no_part_of_a_file_is_the_whole(folder: Path) -> None:
    text = (folder / "counters.smt2").read_text(encoding="utf-8")
    for size in range(0, len(text) - 1, 397):
        file = changed(folder, "part.smt2", text[:size])
        assert outcome(file) in (Status.VIOLATED, Status.BAD_INPUT)


def outcome(file: Path) -> Status:
    try:
        return check_file(file).status
    except InputError:
        return Status.BAD_INPUT


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("(push 1)\n", "(push 1)\n(assert false)\n", "line .* is '.assert false.', but from"),
        ("(exit)\n", "(exit)\n(check-sat)\n", "line .* is one too many: '.check-sat.'"),
        ("(set-logic QF_LIA)\n", "(set-logic QF_NIA)\n", "line .* is '.set-logic QF_NIA.', but"),
        ("(assert (= |low| 0))", "(assert (= |low| 1))", "line .* is '.assert .* 1..', but from"),
        ("(<= |low| 7)", "(<= |low| 6)", r"line .* is '.define-fun .the values. .*, but from"),
        ("(+ |high| 1)", "(+ |high| 2)", r"line .* is '.define-fun .* 2..', but from"),
        (":status unsat", ":status sat", "line .* is '.set-info :status sat.', but from"),
        ('properties "ordered"', 'properties "never-six"', "line .*, but from"),
        ('properties "ordered"', 'properties "no-such"', "has no property 'no-such'"),
        ('properties "ordered"', 'properties ""', "has no property ''"),
        ("world.py:counters", "world.py:stream", "world.py:stream has no property 'ordered'"),
        ('case "as reported"', 'case "with the fix"', "has no case 'with the fix'"),
        ('case "as reported"', 'case "another"', "has no case 'another'"),
        ('version "', 'version "9.', "line|rackproof"),
        ("(define-fun |clause 1|", "(define-fun |clause 7|", "line .*, but from"),
        ("; The clauses of", "; Some clauses of", "line .*, but from"),
    ],
)
def test_nothing_else_is_accepted(folder: Path, old: str, new: str, told: str) -> None:
    text = (folder / "counters.smt2").read_text(encoding="utf-8")
    assert old in text
    file = changed(folder, "other.smt2", text.replace(old, new, 1))
    if old == 'version "':
        assert check_file(file).status is Status.OK  # the same text from another version
        return
    checked = check_file(file)
    assert checked.status is Status.VIOLATED
    assert not checked.answers
    assert re.search(told, checked.problem or "")


def test_another_scope_is_another_model(folder: Path) -> None:
    text = (folder / "pool.smt2").read_text(encoding="utf-8")
    file = changed(folder, "scope.smt2", text.replace("world.py:pool", "world.py:larger"))
    checked = check_file(file)
    assert checked.status is Status.VIOLATED
    assert "but from world.py:larger (as reported) follows" in (checked.problem or "")


# Neither.


def test_without_time_nothing_is_known(folder: Path) -> None:
    checked = check_file(folder / "pool.smt2", seconds=0)
    assert checked.status is Status.INCONCLUSIVE
    assert [answer.said for answer in checked.answers] == [UNKNOWN, UNKNOWN]
    assert checked.answers[0].query == "1. The invariant holds at the start"


def test_a_file_whose_target_is_not_here(folder: Path, tmp_path: Path) -> None:
    """What it states is checked, and that is not enough."""
    text = (folder / "pool.smt2").read_text(encoding="utf-8")
    checked = check_file(changed(tmp_path, "alone.smt2", text))
    assert checked.status is Status.INCONCLUSIVE
    assert checked.problem is not None
    assert checked.problem.startswith("world.py:pool: there is no such file, seen from here")
    assert checked.problem.endswith("what the file itself states was checked, not the model")
    assert checked.certificate is None
    assert [answer.said for answer in checked.answers] == ["unsat", "unsat"]
    wrong = changed(tmp_path, "wrong.smt2", text.replace("(not\n    (and", "(and\n    (and", 1))
    checked = check_file(wrong)
    assert checked.status is Status.VIOLATED
    assert checked.answers[0].query is not None
    assert checked.answers[0].query.startswith("the query of line ")


def test_a_file_alone_that_solvers_do_not_understand(folder: Path, tmp_path: Path) -> None:
    text = (folder / "pool.smt2").read_text(encoding="utf-8")
    odd = text.replace("(check-sat)\n", "(assert nothing)\n", 1)
    file = changed(tmp_path, "odd.smt2", odd)
    with pytest.raises(InputError, match=r"odd.smt2:\d+: "):
        check_file(file)


# The command.


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = folder / "pool.smt2"
    assert run(["check-certificate", str(file)]) == Status.OK
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"ok  {file} proves fails-last of world.py:pool (as reported)"
    assert told[1] == "    an invariant of 2 clauses (a test)"
    assert re.match(r"    z3 .*: nothing contradicts it \(\d+ queries, ", told[2])
    assert re.match(r"    cvc5 .*: nothing contradicts it \(\d+ queries, ", told[3])

    wrong = changed(tmp_path, "no.smt2", "(set-logic QF_LIA)\n(assert")
    assert run(["check-certificate", str(wrong)]) == Status.BAD_INPUT
    assert f"{wrong}:2: ( is opened and never closed" in capsys.readouterr().out
    other = changed(tmp_path, "other.smt2", "(set-logic QF_LIA)\n")
    assert run(["check-certificate", str(other)]) == Status.BAD_INPUT
    assert f"{other}: is no certificate of rackproof" in capsys.readouterr().out
    assert run(["check-certificate", str(tmp_path / "none.smt2")]) == Status.BAD_INPUT
    assert "none.smt2: no such file or directory" in capsys.readouterr().out
    assert run(["check-certificate", str(tmp_path)]) == Status.BAD_INPUT
    capsys.readouterr()


def test_the_command_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown, clauses = proof("pool")
    write(made("pool", shown, clauses[1:]), folder / "short.smt2")
    files = [str(folder / "pool.smt2"), str(folder / "short.smt2")]
    asked = ["check-certificate", *files, "--solver", "cvc5", "--json", "-"]
    assert run(asked) == Status.VIOLATED
    good, bad = json.loads(capsys.readouterr().out)
    assert (good["status"], bad["status"]) == (0, 1)
    assert good["properties"] == ["fails-last"]
    assert len(good["invariant"]) == len(clauses)
    assert [solver["solver"] for solver in good["solvers"]] == ["cvc5"]
    assert good["solvers"][0]["answer"] == "unsat"
    assert bad["solvers"][0]["answer"] == "sat"
    assert bad["solvers"][0]["refutation"]["before"]


def test_a_limit_of_time_ends_with_the_check(folder: Path) -> None:
    check_file(folder / "pool.smt2", seconds=0)
    assert isinstance(induction(proof("pool")[0]), Inductive)


HEAD = "".join(
    f'(set-info :rackproof-{name} "{said}")\n'
    for name, said in {
        "version": "0.1.0",
        "target": "not/here.py:world",
        "case": "as reported",
        "properties": "p",
        "open": "nothing",
        "scope": "x",
        "method": "m",
    }.items()
)


@pytest.mark.parametrize(
    "command",
    [
        '(set-option :regular-output-channel "VICTIM")',
        '(set-option :diagnostic-output-channel "VICTIM")',
        "(push 100000000)",
        "(reset)",
        "(get-model)",
        '(echo "x")',
        "(assert " + "(not " * 5_000 + "true" + ")" * 5_001,
        "(assert (<= |at| " + "9" * 5_000 + "))",
    ],
)
def test_a_file_can_do_no_harm(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    file = changed(tmp_path, "bad.smt2", HEAD + command.replace("VICTIM", str(victim)) + "\n")
    assert run(["check-certificate", str(file), "--time-limit", "5s"]) in (2, 3)
    assert "Traceback" not in capsys.readouterr().out
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("clause", ["(not " * 5_000 + "true" + ")" * 5_000, "(<= 1 " + "9" * 5_000])
def test_a_clause_that_nobody_would_write_is_refused(
    clause: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "pool.smt2").read_text(encoding="utf-8")
    at = text.index("(define-fun |clause 1|")
    end = text.index("(define-fun |clause 2|")
    head = text[at : text.index("Bool", text.index(")", at)) + 4]
    file = changed(folder, "deep.smt2", text[:at] + head + "\n" + clause + ")\n" + text[end:])
    assert run(["check-certificate", str(file)]) in (1, 2)
    assert "Traceback" not in capsys.readouterr().out


def test_lines_end_where_a_solver_ends_them(folder: Path) -> None:
    text = (folder / "pool.smt2").read_text(encoding="utf-8")
    file = changed(folder, "joined.smt2", text.replace("\n(assert", "\u2028(assert", 1))
    assert check_file(file).status is Status.VIOLATED
