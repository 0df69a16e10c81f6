"""What the documents show is run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from examined import examined
from mutants import MUTANTS, PAIRED
from tables import (
    BUGS,
    COUNTEREXAMPLES,
    MATRIX_PAGE,
    MUTANTS_PAGE,
    REPAIRS_PAGE,
    bug_row,
    column,
    matrix,
    mutants,
    pages,
    parsed,
)

from rackproof.checker.cli import run
from rackproof.checker.performance.questions import QUESTIONS
from rackproof.invariants import CATALOGUE
from rackproof.model.scope import Scope
from rackproof.scenarios.stacks import stack_names

ROOT = Path(__file__).parents[1]


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("document", ["README.md", "docs/scenarios.md"])
def test_the_scenarios_that_are_shown_meet_their_expectations(
    document: str, tmp_path: Path
) -> None:
    shown = [block for block in blocks(document, "yaml") if block.startswith("rackproof: 1")]
    for number, scenario in enumerate(shown):
        (tmp_path / f"shown-{number}.yaml").write_text(scenario, encoding="utf-8")
    assert shown
    assert run(["verify", str(tmp_path)]) == 0


def test_the_deployment_that_is_shown_can_be_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shown,) = blocks("docs/performance.md", "yaml")
    file = tmp_path / "shown.yaml"
    file.write_text(shown, encoding="utf-8")
    assert run(["simulate", str(file)]) == 0
    assert "over NVLink" in capsys.readouterr().out


def test_the_questions_that_are_told_are_all_there_are() -> None:
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| ((?:`[\w-]+`(?:, )?)+) \|", text, re.MULTILINE)
    names = {name for row in told for name in re.findall(r"[\w-]+", row)}
    assert names - {"--ask"} == set(QUESTIONS)


def test_the_protocol_that_is_shown_has_the_counterexample_one_expects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (whole,) = [b for b in blocks("docs/modelling.md", "python") if "world = System(" in b]
    file = tmp_path / "leader.py"
    file.write_text(whole, encoding="utf-8")
    assert run(["verify", f"{file}:world"]) == 1
    assert "the-leader-lives is violated: 1 fault, 2 steps" in capsys.readouterr().out


def columns() -> dict[str, dict[str, str]]:
    """The matrix as it is written: the cells of each stack by property."""
    head = next(
        line for line in MATRIX_PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"
    )
    _, *stacks = head[2:-2].split(" | ")
    rows = {cells[0].strip("`"): cells[1:] for cells in parsed(MATRIX_PAGE) if cells[0][0] == "`"}
    return {
        stack: {name: cells[number] for name, cells in rows.items()}
        for number, stack in enumerate(stacks)
    }


def test_the_matrix_has_every_stack_and_every_property() -> None:
    written = columns()
    assert list(written) == stack_names(), "make docs"
    assert {tuple(cells) for cells in written.values()} == {tuple(CATALOGUE)}, "make docs"
    assert matrix(written) == MATRIX_PAGE.read_text(encoding="utf-8"), "make docs"


def test_every_violation_links_to_its_counterexample_and_none_is_left_over() -> None:
    linked = set(re.findall(r"\(counterexamples/(.*?)\)", MATRIX_PAGE.read_text(encoding="utf-8")))
    assert linked == {path.name for path in COUNTEREXAMPLES.iterdir()}
    for stack, cells in columns().items():
        for prop, cell in cells.items():
            if cell != "holds" and cell != "untested":
                assert cell == f"[VIOLATED](counterexamples/{stack}-{prop}.md)"
                text = (COUNTEREXAMPLES / f"{stack}-{prop}.md").read_text(encoding="utf-8")
                assert text.startswith(f"# {stack}: {prop}\n")
                assert "\n1. " in text
                assert "\nThere it holds with `" in text


@pytest.mark.parametrize(
    "stack", [pytest.param(s, marks=pytest.mark.xdist_group(s)) for s in ("reference", "dynamo")]
)
def test_the_column_of_a_stack_is_what_its_exams_say(stack: str) -> None:
    report = examined(stack)
    assert column(report, stack) == columns()[stack], "make docs"
    found = {
        path.name: path.read_text(encoding="utf-8") for path in COUNTEREXAMPLES.glob(f"{stack}-*")
    }
    assert found == pages(report, stack), "make docs"


def test_the_pages_depend_on_no_hash_seed_and_no_number_of_threads() -> None:
    program = """
import sys
from rackproof.checker import exams
from rackproof.checker.engines import Options
from rackproof.checker.targets import expand
from tables import column, pages
chosen = tuple(exam for exam in exams.exams() if exam.name in ("crash", "freeze-pair"))
exams.exams = lambda: chosen
(target,) = expand(["stack:dynamo"]).found
report = exams.examine(target, "dynamo", Options(workers=int(sys.argv[1])))
print(column(report, "dynamo"), pages(report, "dynamo"))
"""
    told = {
        subprocess.run(
            [sys.executable, "-c", program, workers],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(ROOT / "tests" / "support"), "PYTHONHASHSEED": seed},
        ).stdout
        for workers, seed in (("1", "1"), ("3", "2"))
    }
    assert len(told) == 1
    assert "VIOLATED" in told.pop()


def test_the_mutants_that_are_told_are_those_that_are_tested() -> None:
    sizes = [(int(cells[-2]), int(cells[-1])) for cells in parsed(MUTANTS_PAGE)]
    assert len(sizes) == len([*MUTANTS, *PAIRED]), "make docs"
    assert mutants(sizes) == MUTANTS_PAGE.read_text(encoding="utf-8"), "make docs"


@pytest.mark.parametrize("path", BUGS[::12], ids=lambda path: path.stem)
def test_the_repairs_that_are_told_are_those_that_are_found(path: Path) -> None:
    rows = {cells[0]: cells for cells in parsed(REPAIRS_PAGE)}
    assert rows[f"`{path.stem}`"] == bug_row(path), "make docs"


def test_every_bug_has_a_repair_that_is_its_fix_or_less() -> None:
    rows = parsed(REPAIRS_PAGE)
    assert [cells[0] for cells in rows] == [f"`{path.stem}`" for path in BUGS], "make docs"
    for bug, _, fix, found, _ in rows:
        size = int(fix.split(",")[0])
        least = min(one.count(": ") for one in found.split(", or "))
        assert "**" in found or least < size, bug


def test_the_example_of_a_protocol_of_ones_own_is_under_80_lines() -> None:
    lines = (ROOT / "docs" / "examples" / "lease.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 80


def test_every_key_of_a_scope_is_in_its_table() -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    table = text.split("### scope")[1].split("###")[0]
    first = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    told = re.findall(r"`([a-z-]+)`", " ".join(first))
    keys = [field.name.replace("_", "-") for field in attrs.fields(Scope)]
    assert sorted(told) == sorted(keys)
