"""The pytest plugin: scenario files are collected as tests, and a fixture verifies one's own.

A YAML file is collected when its first key is ``rackproof:``; no other tool has such files, so
nothing else is touched. ``rackproof_collect = false`` in the ini file turns it off. Nothing heavy
is imported before a scenario runs: a broken engine must not stop pytest itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from rackproof.testing import asked

if TYPE_CHECKING:
    from rackproof.checker.verify import Report

_ENOUGH: Final = 64 * 1024
"""A scenario's comments end before this many bytes."""


class ScenarioFailed(Exception):
    """A scenario is not as expected; the message is the report."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the ini file."""
    parser.addini(
        "rackproof_collect", "collect rackproof scenarios (*.yaml)", type="bool", default=True
    )
    parser.addini(
        "rackproof_time_limit", "time for each exploration of a scenario, such as 30s", default=""
    )
    parser.addini(
        "rackproof_runs", "runs of a test by rackproof.testing that does not say it", default=""
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that every collected scenario has, and take down what the ini file asks of
    tests by ``rackproof.testing``.
    """
    runs = config.getini("rackproof_runs")
    if runs and not (runs.isdecimal() and int(runs)):
        raise pytest.UsageError(f"rackproof_runs = {runs}: expected a number, at least 1")
    asked.runs = int(runs) if runs else None
    asked.time_limit = config.getini("rackproof_time_limit")
    config.addinivalue_line(
        "markers", "rackproof: verifies a model of a recovery protocol (every scenario file has it)"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a YAML file whose first key is ``rackproof:``."""
    if file_path.suffix not in (".yaml", ".yml") or not parent.config.getini("rackproof_collect"):
        return None
    return ScenarioFile.from_parent(parent, path=file_path) if is_ours(file_path) else None


def is_ours(path: Path) -> bool:
    """Whether the first key of a YAML file is ``rackproof``."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            lines = file.read(_ENOUGH).removeprefix(b"\xef\xbb\xbf").splitlines()
    except OSError:
        return False
    keys = (line for line in lines if line.strip() and not line.startswith((b"#", b"---", b"%")))
    return next(keys, b"").split(b":")[0].rstrip() == b"rackproof"


class ScenarioFile(pytest.File):
    """A scenario file."""

    def collect(self) -> Iterable[pytest.Item]:
        """One test: all that the scenario expects."""
        yield ScenarioItem.from_parent(self, name="scenario")


class ScenarioItem(pytest.Item):
    """A scenario as a test."""

    def __init__(self, **arguments: Any) -> None:
        """Mark it."""
        super().__init__(**arguments)
        self.add_marker("rackproof")

    def runtest(self) -> None:
        """Verify it."""
        check(str(self.path), self.config)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """The report itself, rather than a traceback of ours."""
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """What pytest calls it."""
        return self.path, None, self.name


SAMPLED: Final = "rackproof-sampled"
"""The property of a test that has what its sampled runs have been through."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Note at each test what its sampled runs have been through, whatever came of it."""
    try:
        return (yield)
    finally:
        module = sys.modules.get("rackproof.testing.sampled")
        if module is not None and module.told:
            item.user_properties.append((SAMPLED, list(module.told)))
            module.told.clear()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell what sampled runs have been through, of the tests that had any."""
    reports = [report for those in terminalreporter.stats.values() for report in those]
    told = [
        line
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, lines in report.user_properties
        if name == SAMPLED
        for line in lines
    ]
    if told:
        terminalreporter.section("rackproof: sampled runs")
        for line in told:
            terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what a test made by ``rackproof.testing`` has found, without lines of ours before it."""
    report = yield
    made = getattr(getattr(item, "function", None), "__module__", "") == "rackproof.testing"
    if made and call.excinfo is not None and _is_told(call.excinfo):
        report.longrepr = str(call.excinfo.value)
    return report


def _is_told(excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether an error is a finding, or bad input; where one of an adapter or a driver is behind
    it, what matters is its place.
    """
    from rackproof.scenarios.errors import ScenarioError  # noqa: PLC0415
    from rackproof.scenarios.worlds import InputError  # noqa: PLC0415

    place = excinfo.traceback[-1].frame.f_globals.get("__name__", "")
    ours = (AssertionError, InputError, ScenarioError)
    is_ours = place.startswith("rackproof.") and excinfo.value.__cause__ is None
    return is_ours and excinfo.errisinstance(ours)


@pytest.fixture
def recovery_machine(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that samples a target as ``rackproof.testing.machine`` does, at once."""

    def sample(target: str | Path, **how: Any) -> None:
        __tracebackhide__ = True
        from rackproof.testing.sampled import check as sampled  # noqa: PLC0415

        sampled(str(target), request.path.parent, **how)

    return sample


@pytest.fixture
def verify_scenario(request: pytest.FixtureRequest) -> Callable[[str | Path], Report]:
    """A function that verifies a target, as ``rackproof verify`` does, and returns the report; the
    test fails with it unless all is as expected.
    """

    def verify(target: str | Path) -> Report:
        __tracebackhide__ = True
        return check(asked.nearest(str(target), request.path.parent), request.config)

    return verify


def check(text: str, config: pytest.Config) -> Report:
    """Verify one target; raise ``ScenarioFailed`` unless it is as expected."""
    __tracebackhide__ = True
    from rackproof.checker.engines import Options  # noqa: PLC0415
    from rackproof.checker.exams import report_on  # noqa: PLC0415
    from rackproof.checker.report.plain import as_text, shortfalls  # noqa: PLC0415
    from rackproof.checker.targets import expand  # noqa: PLC0415
    from rackproof.scenarios.quantities import duration  # noqa: PLC0415

    limit = config.getini("rackproof_time_limit")
    target, *others = expand([text]).found
    if others:
        raise ValueError(f"{text} stands for {1 + len(others)} scenarios; verify one at a time")
    report = report_on(target, Options(seconds=duration(limit) if limit else None))
    if shortfalls(report):
        raise ScenarioFailed(as_text(report))
    return report
