"""What the documents show is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rackproof.checker.cli import run

ROOT = Path(__file__).parents[1]


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("document", ["README.md", "docs/scenarios.md"])
def test_the_scenario_that_is_shown_meets_its_expectations(document: str, tmp_path: Path) -> None:
    (scenario,) = [b for b in blocks(document, "yaml") if b.startswith("rackproof: 1")]
    file = tmp_path / "shown.yaml"
    file.write_text(scenario, encoding="utf-8")
    assert run(["verify", str(file)]) == 0


def test_the_protocol_that_is_shown_has_the_counterexample_one_expects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (whole,) = [b for b in blocks("docs/modelling.md", "python") if "world = System(" in b]
    file = tmp_path / "leader.py"
    file.write_text(whole, encoding="utf-8")
    assert run(["verify", f"{file}:world"]) == 1
    assert "the-leader-lives is violated: 1 fault, 2 steps" in capsys.readouterr().out


def test_the_example_of_a_protocol_of_ones_own_is_under_80_lines() -> None:
    lines = (ROOT / "docs" / "examples" / "lease.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 80
