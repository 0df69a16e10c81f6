"""Every path of a plain function run on symbolic values.

Where Python asks a symbolic value for a truth value, the run forks: it takes one way, and is run
again
from the start with the recorded choices for the other, until every path is covered.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

import attr
import attrs

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.lowering.facts import Facts
from rackproof.checker.lowering.relation import Disabled, Raises, Test, Tree, Update, Verdict
from rackproof.model.kernel import ModelError

MOST_FORKS: Final = 2_000
MOST_QUESTIONS: Final = 100_000
MOST_PATHS: Final = 50_000
_OURS: Final = (
    str(Path(__file__).parent),
    str(Path(attrs.__file__).parent),
    str(Path(attr.__file__).parent),
    "<attrs generated",
)


Fork = tuple[Node, bool]
"""A question that was open, and the way that was taken."""

IMPURE: Final = (
    "the same state has different outcomes: a transition may depend on the world alone, not on "
    "chance, time or what happened before"
)

ENDLESS: Final = (
    "an index, a divisor or a member by a number without upper bound; it has no finite case "
    "distinction"
)

Place = tuple[str, int, int]
"""File, line and instruction of a model at which a question is asked."""


NOWHERE: Final = "the model"


class LoweringError(ModelError):
    """Python in a model that has no meaning for symbolic values.

    ``latest`` is the last one that was made: a model that catches it must not hide it.
    """

    latest: LoweringError | None = None

    def __init__(self, message: str) -> None:
        """Say what cannot be followed, where, and how to write it."""
        super().__init__(message)
        LoweringError.latest = self


class Trees:
    """Decision trees with one object per distinct tree, so that equal ones are the same."""

    def __init__(self) -> None:
        """Start with none."""
        self._index: dict[object, Tree] = {}

    def leaf(self, leaf: Update | Disabled | Raises | Verdict) -> Tree:
        """The one object equal to this leaf."""
        return self._index.setdefault(leaf, leaf)

    def test(self, condition: Node, yes: Tree, no: Tree) -> Tree:
        """The test, or its outcome where both ways lead to the same."""
        if yes is no:
            return yes
        return self._index.setdefault((condition, id(yes), id(no)), Test(condition, yes, no))


class Run:
    """The run under way: the choices it repeats, then new ones (true first), and what they decide.

    One object serves every run of a model, so that symbolic values, which ask it, are made once.
    places: where given, the lines of the model at which each question was asked.
    """

    def __init__(self, arena: Arena, lows: Sequence[int]) -> None:
        """Take the arena and the lowest ordinal of each slot; ``begin`` starts a run."""
        self.arena, self._lows = arena, lows
        self.places: dict[Node, set[Place]] | None = None
        self.begin((), (), set())

    def begin(self, masks: Sequence[int], choices: Sequence[Fork], consulted: set[int]) -> None:
        """Start a run that repeats ``choices``, from these sets of values."""
        self.facts = Facts(self.arena, masks, self._lows, consulted)
        self._given = choices
        self.questions = 0
        self.forks: list[Fork] = []

    def decide(self, node: Node) -> bool:
        """Answer Python's question for the truth of a node, forking where it is open."""
        if self.arena.op(node) is Op.NOT:
            return not self.decide(self.arena.operands(node)[0])
        self.questions += 1
        if self.questions > MOST_QUESTIONS:
            raise LoweringError(f"{here()}: a loop that asks more than {MOST_QUESTIONS} questions")
        known = self.facts.truth(node)
        if known is not None:
            return known
        at = len(self.forks)
        if at == MOST_FORKS:
            raise LoweringError(f"{here()}: a path that takes more than {MOST_FORKS} decisions")
        if self.places is not None and at >= len(self._given):
            self.places.setdefault(node, set()).add(_question())
        asked, choice = self._given[at] if at < len(self._given) else (node, True)
        if asked != node:
            raise LoweringError(f"{here()}: {IMPURE}")
        self.forks.append((node, choice))
        self.facts.assume(node, choice)
        return choice

    def choose(self, node: Node) -> int:
        """Answer Python's question for the value of a node, forking over those it can have."""
        if self.facts.is_endless(node):
            raise LoweringError(f"{here()}: {ENDLESS}")
        values, places = self.facts.values(node), self.places
        self.places = None  # an index is no guard
        chosen = values[-1]
        for value in values[:-1]:
            if self.decide(self.arena.eq(node, self.arena.const(value))):
                chosen = value
                break
        self.places = places
        return chosen


def explore(
    run: Callable[[], Tree], path: Run, begin: Callable[[Sequence[Fork]], None], trees: Trees
) -> Tree:
    """Return the decision tree of ``run``, one leaf a path; ``begin`` starts each."""
    paths = 0

    def below(choices: tuple[Fork, ...]) -> Tree:
        nonlocal paths
        paths += 1
        if paths > MOST_PATHS:
            raise LoweringError(
                f"more than {MOST_PATHS} paths; test fewer fields, or take parameters"
            )
        begin(choices)
        tree = run()
        taken = tuple(path.forks)
        if len(taken) < len(choices):
            raise LoweringError(f"{here()}: {IMPURE}")
        for at in range(len(taken) - 1, len(choices) - 1, -1):
            condition, choice = taken[at]
            other = below((*taken[:at], (condition, not choice)))
            tree = trees.test(condition, *((tree, other) if choice else (other, tree)))
        return tree

    return below(())


def _question() -> Place:
    """Where the model's code that is running asks."""
    for frame, line in traceback.walk_stack(None):
        if not frame.f_code.co_filename.startswith(_OURS):
            return frame.f_code.co_filename, line, frame.f_lasti
    return NOWHERE, 0, 0


def here() -> str:
    """File and line of the model's code that is running."""
    return _place(traceback.walk_stack(None))


def place_of(error: BaseException) -> str:
    """File and line of the model's code in which an exception arose."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return _place(reversed(frames))


def _place(frames: Iterable[tuple[FrameType, int]]) -> str:
    for frame, line in frames:
        name = frame.f_code.co_filename
        if not name.startswith(_OURS):
            return f"{name}:{line}"
    return NOWHERE
