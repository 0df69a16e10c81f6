"""What came of a case, told of another one that looks the same, and under the names in its logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from attrs import evolve

from rackproof.checker.conform.outcome import Allowed, Explained, Rejection
from rackproof.model.kernel import Observation
from rackproof.model.kernel.evidence import Case


def renamed(found: Explained, called: Mapping[str, str]) -> Explained:
    """The same with the names that the logs have for the identifiers of the system."""
    if not called:
        return found
    names = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w-])(?:{names})(?![\w-])")

    def said(text: str) -> str:
        return pattern.sub(lambda match: called[match[0]], text)

    return evolve(
        found,
        rejection=found.rejection and _rejection(found.rejection, said),
        broken=tuple(evolve(each, sentence=said(each.sentence)) for each in found.broken),
        assumed=tuple(map(said, found.assumed)),
    )


def _rejection(found: Rejection, said: Callable[[str], str]) -> Rejection:
    expected = tuple(Allowed(said(one.words), said(one.written)) for one in found.expected)
    return evolve(found, expected=expected, failed=tuple(map(said, found.failed)))


def retold(found: Explained, case: Case) -> Explained:
    """The same of a case whose logs say the same, elsewhere and at other times."""
    pairs = zip(found.case.logs, case.logs, strict=True)
    here = {id(old): new for a, b in pairs for old, new in zip(a, b, strict=True)}

    def at(seen: Observation) -> Observation:
        return here.get(id(seen), seen)

    return evolve(
        found,
        case=case,
        written=tuple(tuple(map(at, each)) for each in found.written),
        rejection=found.rejection and evolve(found.rejection, at=at(found.rejection.at)),
        broken=tuple(evolve(each, at=each.at and at(each.at)) for each in found.broken),
        misattributed=tuple(evolve(each, at=at(each.at)) for each in found.misattributed),
    )
