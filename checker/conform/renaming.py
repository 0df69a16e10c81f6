"""What came of a case, told of another one that looks the same, and under the names in its logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve

from rackproof.checker.conform.outcome import Allowed, Answer, Explained, Rejection, lacking
from rackproof.model.kernel import Observation
from rackproof.model.kernel.evidence import Case

Rename = Callable[[str], str]
POSITION: Final = re.compile(
    r"(\b(?:position|delivered|start|completion|tokens|number) |"
    r"\b[\w.-]+\.(?:sent|received|start|delivered|length|position|next) \()(\d+)\b"
)
"""Where texts have a position of an output or a number of tokens: a value of a record, or of a
field of the model.
"""
TOKEN: Final = re.compile(r"\btoken ([1-9]\d*)\b")
"""A token in the words of the model, which counts from 1."""


def renaming(called: Mapping[str, str]) -> Rename:
    """From a text with the names of a world to one with those of the logs; a word that such a name
    begins with is not said twice.
    """
    if not called:
        return lambda text: text
    names = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
    pattern = re.compile(rf"(?:\b([a-z]+) )?(?<![\w-])({names})(?![\w-])")

    def named(match: re.Match[str]) -> str:
        word, name = match[1] and called.get(match[1], match[1]), called[match[2]]
        return f"{word} {name}" if word and not name.startswith(f"{word} ") else name

    return lambda text: pattern.sub(named, text)


def numbering(numbered: Mapping[int, int]) -> Rename:
    """From a text with the positions of a world to one with those of the logs."""
    moved = {str(here): str(there) for here, there in numbered.items() if here != there}
    if not moved:
        return lambda text: text

    def told(match: re.Match[str]) -> str:
        return f"{match[1]}{moved.get(match[2], match[2])}"

    def counted(match: re.Match[str]) -> str:
        position = int(match[1]) - 1
        return f"token {numbered.get(position, position) + 1}"

    return lambda text: TOKEN.sub(counted, POSITION.sub(told, text))


def renamed(found: Explained, called: Mapping[str, str]) -> Explained:
    """The same with the names and the numbers that the logs have for those of the system."""
    name, number = renaming(called), numbering(found.case.numbered)

    def said(text: str) -> str:
        return name(number(text))

    return evolve(
        found,
        rejection=found.rejection and _rejection(found.rejection, said),
        broken=tuple(evolve(each, sentence=said(each.sentence)) for each in found.broken),
        assumed=tuple(map(said, found.assumed)),
    )


def _rejection(found: Rejection, said: Callable[[str], str]) -> Rejection:
    expected = tuple(Allowed(said(one.words), said(one.written)) for one in found.expected)
    return evolve(found, expected=expected, failed=tuple(map(said, found.failed)))


def _reason(found: Explained, case: Case) -> str | None:
    """Why it is not accepted: what the other case lacks, where this one lacks the same."""
    if found.answer is Answer.OPEN:
        return case.still_open
    return lacking(case) if found.reason == lacking(found.case) else found.reason


def retold(found: Explained, case: Case) -> Explained:
    """The same of a case whose logs say the same, elsewhere and at other times."""
    pairs = zip(found.case.logs, case.logs, strict=True)
    here = {id(old): new for a, b in pairs for old, new in zip(a, b, strict=True)}

    def at(seen: Observation) -> Observation:
        return here.get(id(seen), seen)

    return evolve(
        found,
        case=case,
        reason=_reason(found, case),
        written=tuple(tuple(map(at, each)) for each in found.written),
        rejection=found.rejection and evolve(found.rejection, at=at(found.rejection.at)),
        broken=tuple(evolve(each, at=each.at and at(each.at)) for each in found.broken),
        misattributed=tuple(evolve(each, at=at(each.at)) for each in found.misattributed),
    )
