"""Names as they may go into a file: whatever a world or a scenario calls its things, it is text.

What steers a reader (control characters, marks that turn the direction of writing, lone surrogates,
line breaks) is shown escaped, as on a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from rackproof.checker.report.screen import shown

MENTIONS: Final = re.compile(
    r"""(?<=@)(?=\w)                     # @somebody
      | (?<=\#)(?=\d)                    # #123, owner/name#123
      | (?<=\bGH-)(?=\d)                 # GH-123
      | (?<=:)(?=//)                     # https://...
      | (?<=\bwww)(?=\.)                 # www...
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Where GitHub begins to see more in a text than a text."""
_COMMIT: Final = re.compile(
    r"(?<!\w)(?<!\d\.)(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}(?!\w)", re.IGNORECASE
)
"""What GitHub takes for the name of a commit; a number is none."""
UNSEEN: Final = "<!-- -->"
_BREAK: Final = "\0"
"""No text has one, as it was shown escaped."""
_PUNCTUATION: Final = re.compile(
    r"""[\\`*\[|~$]
      | (?<!\w)_ | _(?!\w)   # inside a word it is a letter
      | :(?=[\w+-]+:)        # :smile:
    """,
    re.VERBOSE,
)
_BEGINNING: Final = re.compile(r"^\d*(?=[-+=#>.)])")
"""Of a list, a heading, a quotation."""
_HTML: Final = str.maketrans({"<": "&lt;", "&": "&amp;"})
_LINK: Final = re.compile(r"https?://[\w.~%/?#=&+:@,-]+")


def line(text: str) -> str:
    """A text on one line, in which nothing steers."""
    return visible(text.strip())


def visible(text: str) -> str:
    """A text on one line, with the blanks around it, in which nothing steers."""
    return shown(text).replace("\n", "\\n")


def in_markdown(text: str) -> str:
    """A text that Markdown, as GitHub reads it, shows as it is."""
    pieces = (piece.translate(_HTML) for piece in unlinked(line(text)))
    escaped = UNSEEN.join(_PUNCTUATION.sub(r"\\\g<0>", piece) for piece in pieces)
    return _BEGINNING.sub(r"\g<0>\\", escaped, count=1)


def unlinked(text: str) -> list[str]:
    """The pieces of a line of text, none of which means anything to GitHub by itself."""
    apart = MENTIONS.sub(_BREAK, text)
    return _COMMIT.sub(lambda found: _BREAK.join(_parts(found[0])), apart).split(_BREAK)


def _parts(name: str) -> Iterator[str]:
    """A name of a commit in parts that are too short for one."""
    return (name[start : start + 6] for start in range(0, len(name), 6))


def link(text: str) -> str:
    """An address as a link; whatever else it is, as a text."""
    return f"<{text}>" if _LINK.fullmatch(text) else in_markdown(text)


def fenced(lines: Iterable[str], language: str = "text") -> list[str]:
    """Lines that stay as they are, as a block of code; the fence is longer than any in them."""
    texts = [shown(text) for text in lines]
    longest = max((len(run) for run in re.findall("`+", "\n".join(texts))), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *texts, fence]
