"""Reading YAML with care: whatever a file holds, one clear message and no more than a moment."""

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rackproof.scenarios.document import Items, Pairs, Scalar, parse, plain, read
from rackproof.scenarios.errors import ScenarioError


def message(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse(text, "f.yaml")
    return str(caught.value)


def laughs(depth: int) -> str:
    first = f"a0: &a0 [{', '.join(['lol'] * 10)}]"
    rest = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, depth)]
    return "\n".join([first, *rest])


def test_a_document_keeps_the_line_of_every_value() -> None:
    root = parse("a: 1\nb:\n  - x\n  - {c: true}\n", "f.yaml")
    assert isinstance(root, Pairs)
    (a, one), (b, items) = root.entries
    assert (a.line, a.value, one.line) == (1, "a", 1)
    assert isinstance(items, Items)
    assert (b.line, [item.line for item in items.items]) == (2, [3, 4])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("08", 8),
        ("0x1f", 31),
        ("0o17", 15),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        # YAML 1.1 took all of these for something else.
        ("yes", "yes"),
        ("off", "off"),
        ("1_000", "1_000"),
        ("2024-01-31", "2024-01-31"),
        ("12:30:45", "12:30:45"),
        ("0b11", "0b11"),
        ("1 GB", "1 GB"),
    ],
)
def test_plain_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    assert plain(text) == value
    assert type(plain(text)) is type(value)


def test_a_number_of_a_thousand_digits_is_read_at_once_and_is_out_of_any_range() -> None:
    assert plain("9" * 10_000) == float("inf")


def test_what_is_quoted_is_a_text() -> None:
    assert parse("'1'", "f.yaml") == Scalar(1, "1", "1")


def test_an_alias_stands_for_its_value() -> None:
    root = parse("a: &x [1, 2]\nb: *x\n", "f.yaml")
    assert isinstance(root, Pairs)
    assert root.entries[0][1] == root.entries[1][1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "f.yaml: is empty: a scenario begins with rackproof: 1"),
        ("# nothing\n\n# more\n", "f.yaml: is empty: a scenario begins with rackproof: 1"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: a second document begins here; one scenario a file"),
        ("a:\n\t- b\n", "f.yaml:2: a tab is used to indent; YAML takes spaces"),
        ("a: 1\nb\0: 2\n", "f.yaml:2: a NUL byte has no place in a YAML file"),
        ("a: \x07\n", "f.yaml:1: the character U+0007 has no place in a YAML file"),
        ("x: 1\na: *b\n", "f.yaml:2: the alias *b names nothing above it"),
        ("a: &b [*b]\n", "f.yaml:1: the alias *b stands inside what it names"),
        ("? [a]\n: b\n", "f.yaml:1: a key is a list or a map; keys are names"),
        (
            "a: !!python/object/apply:os.system [echo]\n",
            "f.yaml:1: the tag !!python/object/apply:os.system is not allowed: values are plain",
        ),
        ("a: !mine 3\n", "f.yaml:1: the tag !mine is not allowed: values are plain"),
        ("a: !!str 3\n", "f.yaml:1: the tag !!str is not allowed: values are plain"),
        ("[" * 100_000, "f.yaml:1: is nested more than 16 levels deep"),
        ("- " * 5_000, "f.yaml:1: is nested more than 16 levels deep"),
        (
            "a: b: c\n",
            "f.yaml:1: is not YAML: mapping values are not allowed here",
        ),
        (
            'a: "no end\n',
            "f.yaml:1: is not YAML: found unexpected end of stream "
            "(while scanning a quoted scalar)",
        ),
        (
            "a: {b: 1\n",
            "f.yaml:1: is not YAML: expected ',' or '}', but got '<stream end>' "
            "(while parsing a flow mapping)",
        ),
    ],
)
def test_bad_yaml_is_told_in_one_line(text: str, expected: str) -> None:
    assert message(text) == expected


@pytest.mark.parametrize("junk", ["%", "@", "`", "'", "&", "*", "!", "|", ">", "]", "}", ",", "?"])
def test_stray_punctuation_never_gets_further_than_a_message(junk: str) -> None:
    for text in (junk, f"a: {junk}", f"{junk}: a", f"- {junk}\n- b"):
        with suppress(ScenarioError):
            parse(text, "f.yaml")


def test_a_billion_laughs_end_before_they_are_laughed() -> None:
    started = time.monotonic()
    assert message(laughs(10)).endswith("holds more than 20,000 values, aliases expanded")
    assert time.monotonic() - started < 5


def test_bytes_that_are_not_utf_8_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    assert refusal(path) == f"{path}:2: the byte 0xff is not UTF-8"
    path.write_bytes("a: 1\n".encode("utf-16"))
    assert refusal(path) == f"{path}: is UTF-16; save it as UTF-8"


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    root = read(path)
    assert isinstance(root, Pairs)
    assert [(key.value, key.line) for key, _ in root.entries] == [("a", 1), ("b", 2)]


def test_a_file_of_10_mb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"a: 1\n" * 2_000_000)
    assert refusal(path) == f"{path}: is too large for a scenario: 10.0 MB, at most 256 KiB"


def refusal(path: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        read(path)
    return str(caught.value)


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe, link, gone = tmp_path / "pipe.yaml", tmp_path / "link.yaml", tmp_path / "gone.yaml"
    os.mkfifo(pipe)
    link.symlink_to("nowhere.yaml")
    assert refusal(pipe) == f"{pipe}: is not a regular file"
    assert refusal(Path("/dev/zero")) == "/dev/zero: is not a regular file"
    assert refusal(link) == f"{link}: is a broken link to nowhere.yaml"
    assert refusal(gone) == f"{gone}: there is no such file"
    assert refusal(tmp_path) == f"{tmp_path}: is a folder, not a file"
    assert refusal(tmp_path / ("x" * 300)).endswith(": cannot be read: file name too long")


def test_a_loop_of_links_is_told(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.symlink_to(two)
    two.symlink_to(one)
    assert refusal(one) == f"{one}: cannot be read: too many levels of symbolic links"


def test_a_file_that_may_not_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "s.yaml"
    path.write_text("a: 1\n", encoding="utf-8")
    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(path) == f"{path}: cannot be read: permission denied"
