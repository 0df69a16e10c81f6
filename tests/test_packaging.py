import ast
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

# One worker: two builds of one tree would get in each other's way.
pytestmark = pytest.mark.xdist_group("packaging")

ROOT = Path(__file__).parents[1]
FOLDERS = ("model", "invariants", "scenarios", "checker")
SHIPPED = ("*.py", "*.yaml", "*.j2", "*.css", "*.js", "py.typed", "performance/data/*")


def files(*patterns: str, folders: tuple[str, ...] = FOLDERS) -> set[Path]:
    return {
        path.relative_to(ROOT)
        for folder in folders
        for pattern in patterns
        for path in (ROOT / folder).rglob(pattern)
    }


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, and the wheel that is built from it alone."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-Im", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> set[str]:
    (path,) = dist.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_every_folder_of_code_is_a_package() -> None:
    code = {path.parent for path in files("*.py")}
    packages = {path.parent for path in files("__init__.py")}
    assert code - packages == set(), "these folders need an __init__.py"


def test_wheel_adds_nothing_but_rackproof_to_site_packages(wheel: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"rackproof"}


def test_wheel_holds_every_module_and_data_file_and_no_other(wheel: set[str]) -> None:
    packed = {
        name.removeprefix("rackproof/").replace("testing/", "checker/testing/", 1)
        for name in wheel
        if name.startswith("rackproof/")
    }
    assert not any(name.startswith("rackproof/checker/testing/") for name in wheel)
    assert packed == {path.as_posix() for path in files(*SHIPPED)}


def test_all_four_packages_declare_their_types(wheel: set[str]) -> None:
    assert {f"rackproof/{folder}/py.typed" for folder in FOLDERS} <= wheel


def test_source_distribution_holds_the_licence(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        assert "LICENSE" in {Path(name).name for name in archive.getnames()}


def test_source_distribution_holds_no_captures(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        assert [name for name in archive.getnames() if "tests/data" in name] == []


@pytest.mark.parametrize("group", ["console_scripts", "pytest11"])
def test_entry_point_loads(group: str) -> None:
    (point,) = entry_points(group=group, name="rackproof")
    point.load()


def test_pytest_plugin_stays_thin() -> None:
    heavy = ("llvmlite", "networkx", "numpy", "rackproof.model", "hypothesis")
    program = f"""
import sys
import rackproof.checker.pytest_plugin
print(*(name for name in {heavy} if name in sys.modules))
"""
    run = subprocess.run(
        [sys.executable, "-Ic", program], check=True, capture_output=True, text=True
    )
    assert run.stdout.split() == [], "every pytest run would pay for these imports"


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", sorted(files("*.py", folders=("model", "invariants"))), ids=str)
def test_model_and_invariants_know_nothing_of_the_checker(path: Path) -> None:
    assert not {name for name in imported(path) if name.startswith("rackproof.checker")}
