"""For tests of one's own: ``rackproof.testing``.

``machine`` makes a test function of a scenario, ``state_machine`` the Hypothesis state machine of
it; ``lockstep`` makes one that drives an implementation beside the model, which ``adapters`` has
the interface for, and ``fake`` one to try; ``holds`` and ``no_longer`` are what the tests call that
``rackproof export --to pytest`` writes. Nothing heavy is imported before one of them is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackproof.checker.adapters import Implementation
    from rackproof.checker.sample.machine import Driver, WorldMachine

__all__ = ["holds", "lockstep", "machine", "no_longer", "state_machine"]


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
    not seen to be violated passes. target: one scenario or world, as for ``rackproof
    verify``, from the folder in which the tests run; what cannot be loaded fails the test with what
    is wrong. runs, steps: how much is sampled, at least 1; Hypothesis's own profile decides instead
    where one other than its default ones is loaded. driver: makes what goes along with each run.
    """
    if runs < 1 or steps < 1:
        raise ValueError(f"{target}: runs and steps are at least 1, not {runs} and {steps}")

    def test() -> None:
        __tracebackhide__ = True
        from rackproof.testing.sampled import check  # noqa: PLC0415

        check(str(target), runs, steps, seed, driver)

    test.__doc__ = f"Sampled runs of {target} are as they should be."
    return test


def lockstep(
    world: str,
    adapter: Callable[[], Implementation],
    *,
    examples: int = 100,
    steps: int = 12,
    seed: int = 0,
    known: Collection[str] = (),
    save: str | Path | None = None,
    actions: str | None = None,
    seconds: float = 60.0,
) -> Callable[[], None]:
    """A test function that drives an implementation in lock step with a world.

    ::

        test_my_stack = rackproof.testing.lockstep("stack:reference", MyAdapter)

    It fails where the implementation does what no run of the world does, and where it breaks a
    property that is not ``known``. world: a scenario, by its path from the file that calls this, or
    ``stack:NAME``. adapter: makes a new adapter for each run. examples, steps: how many runs, of so
    many actions each. seed: of what is drawn. save: the folder for the scenario of a failure.
    actions: only these, such as ``submit request-0; wait 2``. seconds: that one call of the adapter
    may take.
    """
    base = Path(sys._getframe(1).f_globals.get("__file__", "")).parent

    def test() -> None:
        __tracebackhide__ = True
        from rackproof.checker.adapters.check import Options, conforms  # noqa: PLC0415
        from rackproof.checker.adapters.lockstep import Limits  # noqa: PLC0415

        folder = None if save is None else Path(save)
        options = Options(examples, steps, seed, known, folder, actions, Limits(seconds))
        conforms(world, adapter, options, base)

    test.__doc__ = f"The implementation does nothing but what runs of {world} do."
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
