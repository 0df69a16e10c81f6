"""What came of holding a record against the model."""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from rackproof.checker.trace import Trace
from rackproof.model.kernel import Observation, Place
from rackproof.model.kernel.evidence import Case, Value


class Answer(Enum):
    """Whether the model explains a record."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    OPEN = "open"
    """The model explains all that was recorded of it, and it is not over."""
    INCONCLUSIVE = "inconclusive"

    @property
    def words(self) -> str:
        """What is said of a case."""
        return "open at the end of the record" if self is Answer.OPEN else self.value


@frozen
class Allowed:
    """What the model would have allowed at a point where something else was observed.

    words: the step, in a sentence. written: what would have been recorded of it.
    """

    words: str
    written: str


@frozen
class Rejection:
    """The first observation that nothing explains, after the longest run that explains the others.

    expected: what the model allowed there instead. failed: for the transitions that would write
    such a record, the parts of their guards that were not so, in words with their values. after:
    whether all of it is explained, and something is missing after this observation.
    """

    at: Observation
    expected: tuple[Allowed, ...]
    failed: tuple[str, ...]
    after: bool = False


@frozen
class Broken:
    """A property that the recorded run breaks.

    sentence: what is so instead. at: the observation by which it is broken. predicted: whether the
    model has such runs too (a known defect of the stack), and not the record alone.
    """

    prop: str
    sentence: str
    at: Observation | None
    predicted: bool


@frozen
class Misattributed:
    """What a log says beside that is not so in the run that explains it: an error of the log.

    name: of what, such as worker. said, truth: the values. times: in how many observations; at: the
    first of them.
    """

    name: str
    said: Value
    truth: Value
    times: int
    at: Observation


@frozen(eq=False)
class Explained:
    """What came of one case.

    trace: the run of the model that explains the record; of a rejected one, what comes before the
    rejection. written: for each step of it, what was recorded of it. assumed: steps of it that
    nobody owes and no log tells of, such as a crash. changes: mechanisms with another value
    of which the record would be explained; None where nobody asked. untold: of how many others that
    is not known; tried: of how many it is. reason: why it is inconclusive.
    """

    case: Case
    answer: Answer
    trace: Trace
    written: tuple[tuple[Observation, ...], ...]
    rejection: Rejection | None = None
    broken: tuple[Broken, ...] = ()
    misattributed: tuple[Misattributed, ...] = ()
    assumed: tuple[str, ...] = ()
    changes: tuple[str, ...] | None = None
    untold: int = 0
    tried: int = 0
    reason: str | None = None

    @property
    def place(self) -> Place | None:
        """Where the record goes wrong, if it does."""
        return self.rejection.at.place if self.rejection else None


def lacking(case: Case) -> str:
    """Why nothing is accepted, whatever explains the record."""
    stops = [f"the log of the {who} stops at {place}" for who, place in case.stopped.items()]
    missing = [f"there is no {', no '.join(case.missing)}"] if case.missing else []
    return "; ".join([*stops, *missing])
