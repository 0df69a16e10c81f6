"""For tests of one's own: ``rackproof.testing``.

``machine`` makes a test function of a scenario, ``state_machine`` the Hypothesis state machine of
it; ``holds`` and ``no_longer`` are what the tests call that ``rackproof export --to pytest``
writes. Nothing heavy is imported before one of them is called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackproof.checker.sample.machine import Driver, WorldMachine

__all__ = ["holds", "machine", "no_longer", "state_machine"]


def holds(world: str, name: str, file: str) -> None:
    """Explore every run of a world's scope, and fail unless a property holds in all of them: see
    ``rackproof.testing.regression``.
    """
    __tracebackhide__ = True
    from rackproof.testing import regression  # noqa: PLC0415

    regression.holds(world, name, file)


def no_longer(run: str, file: str, world: str = "") -> None:
    """Replay the steps of a scenario, and fail where they still violate what it says they do: see
    ``rackproof.testing.regression``.
    """
    __tracebackhide__ = True
    from rackproof.testing import regression  # noqa: PLC0415

    regression.no_longer(run, file, world)


def machine(
    target: str | Path,
    *,
    runs: int = 200,
    steps: int = 100,
    seed: int = 0,
    driver: Callable[[], Driver] | None = None,
) -> Callable[[], None]:
    """A test function that samples a target, to be assigned to a name that pytest collects.

    ::

        test_recovery = rackproof.testing.machine("scenarios/drills/zombie-resumes.yaml")

    It fails with the least counterexample where a property is violated that should not be, and
    where one that is expected to be violated was not found to be. What was expected to hold and was
    not seen to be violated passes. target: as for ``rackproof verify``, from the folder in which
    the tests run. runs, steps: how much is sampled; Hypothesis's own profile decides instead where
    one other than its default ones is loaded. driver: makes what goes along with each run.
    """

    def test() -> None:
        __tracebackhide__ = True
        from rackproof.testing.sampled import check  # noqa: PLC0415

        check(str(target), runs, steps, seed, driver)

    test.__doc__ = f"Sampled runs of {target} are as they should be."
    return test


def state_machine(
    target: str | Path, *, driver: Callable[[], Driver] | None = None
) -> type[WorldMachine]:
    """The Hypothesis state machine of a target's world: to be subclassed, to be run by
    ``hypothesis.stateful.run_state_machine_as_test``, or by pytest as its ``TestCase``; settings
    and profiles are Hypothesis's own.

    A property that the target expects to be violated fails no run.
    """
    from rackproof.testing.sampled import machine_of  # noqa: PLC0415

    return machine_of(str(target), driver)
