"""YAML read with care: one document of plain values, each with its line, whatever the file holds.

Only YAML's events come from the library. The tree is built here, so that its size, its depth and
what aliases expand to are limited before anything is built, tags never mean a Python object, and a
key that is given twice is seen.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from rackproof.scenarios.errors import Problem, ScenarioError

MOST_BYTES: Final = 256 * 1024
BEGINS: Final = "a scenario begins with rackproof: 1"
MOST_NODES: Final = 20_000
MOST_DEPTH: Final = 16
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")

_BRACES: Final = re.compile(r"(?:\s|#.*\n|---)*\{")
_TOP_KEY: Final = re.compile(r"""^(["']?)([A-Za-z][^:"'\n]*?)\1[ \t]*:""", re.MULTILINE)


@frozen
class Scalar:
    """A value that is neither a list nor a map; ``text`` is how it was written."""

    line: int
    value: bool | int | float | str | None
    text: str
    column: int = field(default=0, eq=False)


@frozen
class Items:
    """A list."""

    line: int
    items: tuple[Node, ...]
    column: int = field(default=0, eq=False)


@frozen
class Pairs:
    """A map, as written: in order, and with any key that was given twice."""

    line: int
    entries: tuple[tuple[Scalar, Node], ...]
    column: int = field(default=0, eq=False)


Node = Scalar | Items | Pairs


def read(path: Path, begins: str = BEGINS) -> Node:
    """Return the one document of a file; ``ScenarioError`` where there is no such thing.

    begins: what should be in it, to be told where nothing is.
    """
    return parse(read_text(path), path, begins)


def read_text(path: Path) -> str:
    """Return the text of a file; ``ScenarioError`` unless it is a small regular file of UTF-8."""
    try:
        data = _read_bytes(path)
    except OSError as error:
        raise _refused(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _refused(path, "is UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        begun = data[data.rfind(b"\n", 0, error.start) + 1 : error.start]
        column = len(begun.decode("utf-8-sig" if line == 1 else "utf-8")) + 1
        what = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        raise _refused(path, what, line, column) from None


def parse(text: str, path: object, begins: str = BEGINS) -> Node:
    """Return the one document of a text; ``path`` is what messages call it."""
    if control := _CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        column = control.start() - text.rfind("\n", 0, control.start())
        what = "a NUL byte" if control[0] == "\0" else f"the character U+{ord(control[0]):04X}"
        raise _refused(path, f"{what} has no place in a YAML file", line, column)
    try:
        root = _Builder(path).build(YAML(typ="safe", pure=True).parse(text))
    except MarkedYAMLError as error:
        unclosed = error.context_mark and "stream" in (error.problem or "")
        mark = error.context_mark if unclosed else error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise _refused(path, _syntax(error), line, column) from None
    except (YAMLError, ValueError) as error:
        if isinstance(error, ScenarioError):
            raise
        raise _refused(path, f"is not YAML: {' '.join(str(error).split())}") from None
    if root is None:
        raise _refused(path, f"is empty: {begins}")
    return root


def top_keys(text: str) -> set[str]:
    """The keys at the top of a document, plain, quoted or in braces; of one with mistakes too."""
    if _BRACES.match(text):
        try:
            root = parse(text, "")
        except ScenarioError:
            return set()
        return {key.text for key, _ in root.entries} if isinstance(root, Pairs) else set()
    return {found[2] for found in _TOP_KEY.finditer(text)}


def _read_bytes(path: Path) -> bytes:
    """The bytes of a regular file; a pipe or a device is not opened: that might never return."""
    try:
        mode = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise _refused(path, f"is a broken link to {path.readlink()}") from None
        raise _refused(path, "there is no such file") from None
    if stat.S_ISDIR(mode.st_mode):
        raise _refused(path, "is a folder, not a file")
    if not stat.S_ISREG(mode.st_mode):
        raise _refused(path, "is not a regular file")
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        size = f"{mode.st_size / 1e6:.1f} MB" if mode.st_size > MOST_BYTES else "more"
        raise _refused(path, f"is too large for a scenario: {size}, at most {MOST_BYTES >> 10} KiB")
    return data


def _refused(path: object, message: str, line: int = 0, column: int = 0) -> ScenarioError:
    return ScenarioError(path, [Problem(line, "", message, column)])


def _syntax(error: MarkedYAMLError) -> str:
    """What the parser found, in one line."""
    problem = " ".join(str(error.problem or "").split())
    if "'\\t'" in problem:
        return "a tab is used to indent; YAML takes spaces"
    context = " ".join(str(error.context or "").split())
    return f"is not YAML: {problem}{f' ({context})' if context else ''}"


@define
class _Open:
    """A list or a map whose end has not come yet."""

    line: int
    column: int
    is_map: bool
    anchor: str | None
    children: list[Node] = field(factory=list)
    size: int = 1

    def close(self) -> Node:
        if not self.is_map:
            return Items(self.line, tuple(self.children), self.column)
        keys, values = self.children[::2], self.children[1::2]
        pairs = ((k, v) for k, v in zip(keys, values, strict=True) if isinstance(k, Scalar))
        return Pairs(self.line, tuple(pairs), self.column)


class _Builder:
    """The tree of a document from its events, without recursion and within the limits."""

    def __init__(self, path: object) -> None:
        self.path = path
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.root: Node | None = None
        self.documents = 0

    def build(self, events: Iterator[Any]) -> Node | None:
        for event in events:
            line, column = event.start_mark.line + 1, event.start_mark.column + 1
            match type(event).__name__:
                case "DocumentStartEvent":
                    self._document(line, column)
                case "MappingStartEvent" | "SequenceStartEvent":
                    self._begin(event, line, column)
                case "MappingEndEvent" | "SequenceEndEvent":
                    self._end()
                case "ScalarEvent":
                    self._tag(event, line, column)
                    self._add(_scalar(event, line, column), 1, event.anchor)
                case "AliasEvent":
                    self._alias(event.anchor, line, column)
        return self.root

    def _document(self, line: int, column: int) -> None:
        self.documents += 1
        if self.documents > 1:
            what = "a second document begins here; one scenario a file"
            raise _refused(self.path, what, line, column)

    def _begin(self, event: Any, line: int, column: int) -> None:
        self._tag(event, line, column)
        if len(self.open) == MOST_DEPTH:
            raise _refused(self.path, f"is nested more than {MOST_DEPTH} levels deep", line, column)
        is_map = type(event).__name__ == "MappingStartEvent"
        self.open.append(_Open(line, column, is_map, event.anchor))

    def _end(self) -> None:
        item = self.open.pop()
        self._add(item.close(), item.size, item.anchor)

    def _add(self, node: Node, size: int, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = node, size
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        if parent.is_map and len(parent.children) % 2 == 0 and not isinstance(node, Scalar):
            what = "a key is a list or a map; keys are names"
            raise _refused(self.path, what, node.line, node.column)
        parent.children.append(node)
        parent.size += size
        if parent.size > MOST_NODES:
            what = f"holds more than {MOST_NODES:,} values, aliases expanded"
            raise _refused(self.path, what, node.line, node.column)

    def _alias(self, anchor: str, line: int, column: int) -> None:
        if anchor not in self.anchors:
            inside = any(item.anchor == anchor for item in self.open)
            why = "stands inside what it names" if inside else "names nothing above it"
            raise _refused(self.path, f"the alias *{anchor} {why}", line, column)
        node, size = self.anchors[anchor]
        self._add(node, size, None)

    def _tag(self, event: Any, line: int, column: int) -> None:
        if event.tag:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            what = f"the tag {tag} is not allowed: values are plain"
            raise _refused(self.path, what, line, column)


_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def _scalar(event: Any, line: int, column: int) -> Scalar:
    """A scalar by YAML 1.2's core rules: what stands in quotes is a text."""
    text = event.value
    return Scalar(line, text if event.style else plain(text), text, column)


def plain(text: str) -> bool | int | float | str | None:
    """The value of a scalar that is written without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        # Python refuses to read thousands of digits; as a float it is just as much out of range.
        return int(text, 0 if text[1:2] in ("o", "x") else 10) if len(text) <= 30 else math.inf
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.lower().replace(".", ""))
    return text
