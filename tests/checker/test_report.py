"""Pages for a design review: what they say, that they hang together, and how they look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import Browser, browser  # noqa: F401

from rackproof.checker.cli import run
from rackproof.checker.engines import Options
from rackproof.checker.report.review.matrix import matrix
from rackproof.checker.targets import expand
from rackproof.checker.verify import verify

BUG = "scenarios/bugs/dynamo-7930-guided-request-migrated.yaml"
RELAY = "tests/support/reviewed.py:world"
LEASE = "docs/examples/lease.py:world"
MISSING = "scenarios/bugs/no-such.yaml"
HOSTILE = '''\
"""A world with names that are to be taken for nothing else."""

from enum import Enum

from rackproof.model import kernel
from rackproof.model.kernel import evolve, frozen, step


class Light(Enum):
    OFF = "<b>off</b>"
    ON = "</svg><script>alert(1)</script>\\u202e"


@frozen
class World:
    light: Light = Light.OFF


@kernel.transition(step)
def turn_on(world: World) -> World | None:
    """<img src=x onerror=alert(1)> "on" & on."""
    return evolve(world, light=Light.ON) if world.light == Light.OFF else None


@kernel.always()
def dark(world: World) -> bool:
    """It is never <i>light</i>."""
    return world.light == Light.OFF


world = kernel.System("<script>alert(1)</script>", World(), (turn_on,), (dark,))
'''


class Page(HTMLParser):
    """What a page links to, its identifiers, its text, its elements."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self._within: list[str] = []
        self.feed(file.read_text("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.text += " " if tag in ("td", "th", "dt", "dd", "li", "p") else ""
        self._within.append(tag)
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.links.append(value)
            if name == "id" and value is not None:
                self.ids.append(value)

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._within):
            self.text += data

    @property
    def words(self) -> str:
        """The text, with single spaces."""
        return " ".join(self.text.split())


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A report on two worlds and a file that is not there; the exit status."""
    folder = tmp_path_factory.mktemp("report") / "review"
    return folder, run(["report", RELAY, LEASE, MISSING, "--out", str(folder), "--title", "Both"])


def pages(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.rglob("*.html"))


def test_the_exit_status_is_as_of_verify(review: tuple[Path, int]) -> None:
    assert review[1] == run(["verify", LEASE, MISSING, "-q"]) == 2


def test_every_link_leads_somewhere(review: tuple[Path, int]) -> None:
    found = {file: Page(file) for file in pages(review[0])}
    assert {file.name for file in found if file.parent == review[0]} == {
        "costs.html",
        "index.html",
        "machines.html",
        "recovery.html",
    }
    for file, page in found.items():
        assert len(page.ids) == len(set(page.ids)), file
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("https", "data"):
                continue
            assert not parts.scheme, link
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert target.is_file(), f"{file}: {link}"
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in found[target].ids, f"{file}: {link}"


def test_every_file_is_led_to_from_the_index(review: tuple[Path, int]) -> None:
    folder, seen = review[0], set[Path]()
    pending = [folder / "index.html"]
    while pending:
        file = pending.pop()
        if file not in seen and file.is_file():
            seen.add(file)
            if file.suffix == ".html":
                links = (urlsplit(link).path for link in Page(file).links)
                pending += [(file.parent / link).resolve() for link in links if link]
    assert {*folder.rglob("*.*")} == {*seen, folder / "report.json"}


def test_the_index_says_what_was_found(review: tuple[Path, int]) -> None:
    words = Page(review[0] / "index.html").words
    assert "3 violations that nobody expected, 1 target not checked." in words
    assert f"{MISSING} could not be checked: {MISSING}: there is no such file" in words
    assert "violated: 1 fault, 3 steps nobody expected it" in words
    assert "A read takes longer than the lease: the block is freed under its reader." in words
    assert "Broken reader-0 reads the block, which holds another request's KV by now." in words
    assert f"rackproof guards {RELAY}" in words
    assert words.index("request-with-the-living") < words.index("no-overwrite-in-flight")
    assert "Each transition, in how many cases it fired" in words


def test_the_other_pages_say_what_they_are_for(review: tuple[Path, int]) -> None:
    folder = review[0]
    machines = Page(folder / "machines.html").words
    assert "held freed expire, slow-read (fault)" in machines
    costs = Page(folder / "costs.html").words
    assert "Worst stall: client may wait for ever" in costs
    recovery = Page(folder / "recovery.html").words
    told = "sometimes lost at 18 of 24 moments never comes back 14 states end without it"
    assert f"request on a worker what a worker that dies takes along worker ◐ {told}" in recovery


def test_the_matrix_has_a_row_a_case_and_a_column_a_property() -> None:
    (target,) = expand([BUG]).found
    found = verify(target, Options())
    drawn = matrix([found], ["bug"], lambda result: result.prop.name)
    assert [prop.name for prop in drawn.columns] == ["no-duplicate-tokens", "bounded-retries"]
    told = [
        (row.case, [cell and (cell.word, cell.size) for cell in row.cells]) for row in drawn.rows
    ]
    assert told == [
        ("as reported", [("violated", "1 fault, 10 steps"), ("holds", "")]),
        ("with the fix", [("holds", ""), None]),
    ]
    assert [row.follows for row in drawn.rows] == [False, True]
    assert not any(cell.wrong for row in drawn.rows for cell in row.cells if cell)


def test_the_same_targets_give_the_same_bytes(tmp_path: Path) -> None:
    def written() -> dict[str, bytes]:
        folder = tmp_path / "review"
        assert run(["report", LEASE, "--out", str(folder)]) == 1
        files = (file for file in folder.rglob("*") if file.is_file())
        return {f"{file.relative_to(folder)}": file.read_bytes() for file in files}

    first = written()
    assert first == written()
    assert len(first) > 10


def test_an_earlier_report_is_written_over_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "review"
    assert run(["report", LEASE, "--out", str(folder)]) == 1
    (folder / "notes.txt").write_text("mine")
    (folder / "counterexamples" / "mine.html").write_text("mine")
    (old,) = folder.glob("counterexamples/lease-py-world-*.html")
    old.write_text("changed")
    assert run(["report", LEASE, "--out", str(folder)]) == 1
    assert old.read_text() != "changed"
    assert run(["report", "docs/examples/lease.yaml", "--out", str(folder)]) == 0
    assert not old.exists()
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "counterexamples" / "mine.html").read_text() == "mine"


def test_a_file_that_is_not_of_a_report_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.html").write_text("mine")
    assert run(["report", LEASE, "--out", str(tmp_path)]) == 2
    assert "index.html is there already, and is not of a report" in capsys.readouterr().err
    assert (tmp_path / "index.html").read_text() == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["index.html"]


def test_a_list_of_files_that_somebody_wrote_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    folder = tmp_path / "review"
    folder.mkdir()
    names = '["../precious.txt", "/etc/hosts", "counterexamples/../../precious.txt", 3]'
    (folder / "report.json").write_text(f'{{"rackproof": "report", "files": {names}}}')
    assert run(["report", LEASE, "--out", str(folder)]) == 2
    (folder / "report.json").write_text(
        f'{{"rackproof": "report", "files": ["report.json", {names[1:]}}}'
    )
    assert run(["report", LEASE, "--out", str(folder)]) == 1
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_a_folder_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert run(["report", LEASE, "--out", str(file)]) == 2
    assert f"--out {file}: is a file, not a folder" in capsys.readouterr().err
    assert run(["report", LEASE, "--out", str(file / "below")]) == 2
    assert "not a directory" in capsys.readouterr().err


def test_hostile_names_are_inert(tmp_path: Path) -> None:
    model = tmp_path / "hostile.py"
    model.write_text(HOSTILE)
    folder = tmp_path / "review"
    title = '<script>alert("title")</script>\u202e'
    arguments = ["report", f"{model}:world", "--out", str(folder), "--title", title]
    assert run(arguments) == 1
    for file in pages(folder):
        page = Page(file)
        assert not {"img", "i", "iframe"} & set(page.tags), file
        assert page.tags.count("script") <= 2, file
        assert "\u202e" not in file.read_text("utf-8"), file
        if file.parent == folder:
            assert '<script>alert("title")</script>\\u202e' in page.words, file
    names = [file.name for file in folder.rglob("*.*")]
    assert all(re.fullmatch(r"[a-z0-9_-]+(\.[a-z]+)+", name) for name in names), names


def test_targets_whose_names_come_to_the_same_have_pages_of_their_own(tmp_path: Path) -> None:
    for name in ("a b", "a-b"):
        (tmp_path / f"{name}.yaml").write_text(
            Path("docs/examples/lease.yaml")
            .read_text()
            .replace("world: lease.py", f"world: {Path('docs/examples/lease.py').resolve()}")
        )
    folder = tmp_path / "review"
    assert (
        run(
            ["report", str(tmp_path / "a b.yaml"), str(tmp_path / "a-b.yaml"), "--out", str(folder)]
        )
        == 0
    )
    names = sorted(file.name for file in (folder / "counterexamples").glob("*.html"))
    assert names == [
        "a-b-no-overwrite-in-flight-2.html",
        "a-b-no-overwrite-in-flight.html",
    ]


def test_a_proof_has_its_certificate_beside_it(tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.py"
    text = Path("docs/examples/lease.py").read_text()
    fixed.write_text(text.replace("initial=1", "initial=0"))
    folder = tmp_path / "review"
    assert run(["report", f"{fixed}:world", "--engine", "prove", "--out", str(folder)]) == 0
    (certificate,) = (folder / "certificates").glob("*.smt2")
    assert f"certificates/{certificate.name}" in Page(folder / "index.html").links
    assert run(["check-certificate", str(certificate), "--solver", "z3"]) == 0


@pytest.mark.parametrize("name", ["index", "machines", "recovery", "costs"])
def test_pages_look_right_in_a_browser(
    review: tuple[Path, int],
    name: str,
    browser: Browser,  # noqa: F811
) -> None:
    browser.open(review[0] / f"{name}.html")
    for width in (1600, 400):
        browser.wide(width)
        assert browser.clipped == []
    for is_dark in (False, True):
        browser.dark(is_dark)
        assert browser.axe() == []
    assert browser.complaints == []
    assert browser.requests == []


def test_what_a_link_leads_to_is_unfolded(
    review: tuple[Path, int],
    browser: Browser,  # noqa: F811
) -> None:
    browser.open(review[0] / "index.html", "#target-2")
    assert browser.run("return document.getElementById('target-2').open")


def test_an_interrupt_while_pages_are_explained_leaves_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rackproof.checker.report.review.violations._violation", interrupted)
    folder = tmp_path / "review"
    assert run(["report", LEASE, "--out", str(folder)]) == 130
    words = Page(folder / "index.html").words
    assert "Interrupted: 1 of 1 targets were verified. 1 violation that nobody expected." in words
    assert "1 counterexample without a page: there was an interrupt." in words
    assert f"rackproof report {LEASE} --out {folder}" in words


def test_what_cannot_be_written_leaves_the_earlier_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "review"
    assert run(["report", LEASE, "--out", str(folder)]) == 1
    before = {file: file.read_bytes() for file in folder.rglob("*.*")}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rackproof.checker.report.review.folder._write", full)
    assert run(["report", "docs/examples/lease.yaml", "--out", str(folder)]) == 2
    assert {file: file.read_bytes() for file in folder.rglob("*.*")} == before


def test_a_world_without_mechanisms_among_others_is_a_note(tmp_path: Path) -> None:
    folder = tmp_path / "review"
    assert run(["report", LEASE, "--repair", "--out", str(folder)]) == 1
    words = Page(folder / "index.html").words
    assert "Note: nothing to repair: lease: there are no mechanisms to change" in words
    (page,) = folder.glob("counterexamples/*.html")
    assert "<title>no-overwrite-in-flight: lease" in page.read_text("utf-8")
