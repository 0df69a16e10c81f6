"""What stands between an implementation and the model: what can be done to it, and what it is seen
to do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from attrs import frozen

from rackproof.model.kernel.evidence import Kinds, Observation
from rackproof.model.kernel.system import System

Method = TypeVar("Method", bound=Callable[..., Any])


class Ineffective(Exception):
    """Something was to be done, and nothing can come of it: it counts as not done.

    Raised by an adapter's method, such as ``partition`` of a request that no connection carries.
    """


@frozen
class Operation:
    """Something that is done to an implementation from outside, by its method of that name.

    parameter: of what it is done, by the name that the transition has for it. transition: what it
    is in the model; None for what the model does not tell, which is done once to each. witness,
    kind: what is recorded of it. needs: what must have been done to the same before.
    """

    name: str
    parameter: str
    transition: str | None = None
    witness: str = "operator"
    kind: str = ""
    needs: str | None = None

    def seen(self, of: str) -> Observation:
        """What is recorded of it."""
        return Observation(self.witness, self.kind, {self.parameter: of})


def optional(method: Method) -> Method:
    """Declare an operation that an adapter need not have."""
    method.is_optional = True  # type: ignore[attr-defined]
    return method


class Implementation(ABC):
    """Something that runs, and is to do nothing but what the model does.

    operations: all that may be done to it from outside. complete: the witnesses and kinds of which
    ``observe`` gives every single record, so that what is not there did not happen; what else it
    gives is used where it is there. outside: the witness who sees it from outside, whose word is
    told first. asynchronous: it goes on by itself while nobody looks, so that
    what is seen after an operation may have happened before it. Of such a one only give what is
    seen as soon as it happens: what clients get.
    """

    operations: ClassVar[Sequence[Operation]] = ()
    complete: Kinds = frozenset()
    outside: ClassVar[str] = ""
    asynchronous: bool = False

    @abstractmethod
    def start(self, system: System) -> None:
        """Bring it up as the initial state of the model says, with nothing of an earlier run."""

    @abstractmethod
    def stop(self) -> None:
        """End it, whatever state it is in; called once after each ``start``, a failed one too."""

    @abstractmethod
    def advance(self) -> bool:
        """Let it go on a little: by one step where it is stepped, else by a moment of real time.

        False once it is quiet: unless something is done to it, nothing more will be observed. One
        that is asynchronous says so after a wait that is longer than any of its own time-outs.
        """

    @abstractmethod
    def observe(self) -> Sequence[Observation]:
        """What was seen since this was last asked, in the order in which each witness saw it."""

    def do(self, name: str, of: str) -> None:
        """Do an operation."""
        getattr(self, name)(of)

    def looked_at(self, system: System) -> System:
        """The world as its evidence is to be held against what is observed."""
        return system

    @property
    def supported(self) -> frozenset[str]:
        """The names of the operations that it has; no other one is ever chosen."""
        return frozenset(item.name for item in self.operations if self._has(item.name))

    def _has(self, name: str) -> bool:
        method = getattr(self, name, None)
        return method is not None and not getattr(method, "is_optional", False)
