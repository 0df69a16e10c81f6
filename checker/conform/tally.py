"""What came of many cases, in the memory of a few: counts, and of each kind of finding one case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from attrs import define, field, frozen

from rackproof.checker.conform.errors import errors
from rackproof.checker.conform.outcome import Answer, Explained
from rackproof.checker.status import Status, worst
from rackproof.model.kernel import Observation

MOST_KINDS: Final = 100
"""Kinds of findings of which one case is kept; of others, only how many there are."""
MOST_NAMES: Final = 1_000
"""Names of cases that are kept of a kind."""
MOST_GONE: Final = 1_000
"""Cases that did not go plainly well of which it is kept what became of them."""
_SUCH: Final = {
    Answer.ACCEPTED: "The model has such runs",
    Answer.REJECTED: "The model has no such run",
    Answer.OPEN: "As far as it goes, the model has such runs",
}
_OPEN: Final = "Whether the model has such runs is open"
_NUMBER: Final = re.compile(r"\d+")

Kind = tuple[object, ...]


def status_of(found: Explained, known: frozenset[str] = frozenset()) -> Status:
    """The exit status that a case asks for; known: properties whose violation is no news."""
    if found.answer is Answer.REJECTED or any(one.prop not in known for one in found.broken):
        return Status.VIOLATED
    return Status.OK if found.answer is Answer.ACCEPTED else Status.INCONCLUSIVE


def is_plain(found: Explained) -> bool:
    """Whether there is nothing to tell of a case: accepted as it stands, nothing broken, assumed or
    said wrongly, and the request went plainly well.
    """
    wrong = found.broken or found.misattributed or found.assumed or found.case.went
    return found.answer is Answer.ACCEPTED and not wrong


def kind_of(found: Explained) -> Kind:
    """What cases that look alike have in common: all that is told of them but numbers and names."""
    rejection = found.rejection
    failed = (_shape(text, found) for text in rejection.failed) if rejection else ()
    at = (rejection.at.kind, *failed) if rejection else ()
    broken = tuple((one.prop, one.predicted) for one in found.broken)
    reason = "" if found.answer is Answer.OPEN else _shape(found.reason or "", found)
    return (found.answer, at, broken, reason)


def _shape(text: str, found: Explained) -> str:
    return _NUMBER.sub("#", _of_any(text, found))


def _of_any(text: str, found: Explained) -> str:
    """What is told of a case, as it would be of another."""
    own = f" {found.case.name}"
    for name in found.case.called.values():
        if name.endswith(own):
            text = text.replace(name, f"{name.removesuffix(own)} …")
    return text


@define(eq=False)
class Group:
    """Cases that look alike: the first of them, and the names of the others.

    count: of them all, those included whose names are not kept.
    """

    first: Explained
    others: list[str] = field(factory=list)
    count: int = 1

    def add(self, found: Explained) -> None:
        """Count another one."""
        self.count += 1
        if len(self.others) < MOST_NAMES:
            self.others.append(found.case.name)


@define(eq=False)
class LogError:
    """An error of logs, of one kind of record: what the first one says and what is so, in how many
    records and in how many cases it is.
    """

    said: str
    truth: str
    first: Observation
    times: int = 0
    cases: int = 0


@frozen(eq=False)
class Tally:
    """All that is known of the cases so far.

    known: properties whose violation does not count. answers, broken (a property, and whether the
    model has such runs too), assumed, missing: in how many cases. groups: of what is not simply
    accepted; unkept: how many cases are of kinds that are not kept. errors: of logs. went: what
    became of those that did not go plainly well, and of how many (``gone``).
    """

    known: frozenset[str] = frozenset()
    answers: Counter[Answer] = field(factory=Counter)
    broken: Counter[tuple[str, bool]] = field(factory=Counter)
    assumed: Counter[str] = field(factory=Counter)
    missing: Counter[str] = field(factory=Counter)
    groups: dict[Kind, Group] = field(factory=dict)
    unkept: Counter[Answer] = field(factory=Counter)
    errors: dict[tuple[str, str, str], LogError] = field(factory=dict)
    statuses: Counter[Status] = field(factory=Counter)
    went: list[str] = field(factory=list)
    gone: Counter[Answer] = field(factory=Counter)

    @property
    def count(self) -> int:
        """How many cases there were."""
        return self.answers.total()

    @property
    def status(self) -> Status:
        """The gravest of all cases."""
        return worst(self.statuses)

    def add(self, found: Explained) -> None:
        """Count a case in."""
        self.answers[found.answer] += 1
        self.statuses[status_of(found, self.known)] += 1
        self.broken.update({(one.prop, one.predicted) for one in found.broken})
        self.assumed.update({_of_any(text, found) for text in found.assumed})
        self.missing.update(set(found.case.missing))
        if found.case.went:
            self.gone[found.answer] += 1
            if len(self.went) < MOST_GONE:
                self.went.append(
                    f"{found.case.name}: {found.case.went}. {_SUCH.get(found.answer, _OPEN)}"
                )
        if found.misattributed:
            self._note_errors(found)
        if found.answer is not Answer.ACCEPTED or found.broken:
            self._group(found)

    def has_like(self, found: Explained) -> bool:
        """Whether there was a case before that looks alike."""
        return kind_of(found) in self.groups

    def _note_errors(self, found: Explained) -> None:
        times, first = errors(found)
        kinds = dict.fromkeys(error[:3] for error in times)
        for error, seen in first.items():
            said, truth = (found.case.called.get(str(value), str(value)) for value in error[3:])
            self.errors.setdefault(error[:3], LogError(said, truth, seen))
        for kind in kinds:
            known = self.errors[kind]
            known.times += sum(count for error, count in times.items() if error[:3] == kind)
            known.cases += 1

    def _group(self, found: Explained) -> None:
        kind = kind_of(found)
        if kind in self.groups:
            self.groups[kind].add(found)
        elif len(self.groups) < MOST_KINDS:
            self.groups[kind] = Group(found)
        else:
            self.unkept[found.answer] += 1

    def findings(self) -> Iterator[Group]:
        """The kinds of findings, the gravest first: rejected, violations that are news,
        inconclusive, known violations.
        """
        ranks = {Status.VIOLATED: 1, Status.INCONCLUSIVE: 2, Status.OK: 3}

        def rank(group: Group) -> int:
            rejected = group.first.answer is Answer.REJECTED
            return 0 if rejected else ranks[status_of(group.first, self.known)]

        yield from sorted(self.groups.values(), key=rank)
