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

from rackproof.testing import asked

if TYPE_CHECKING:
    from rackproof.checker.sample.machine import Driver, WorldMachine
    from rackproof.model.kernel.implementation import Implementation

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
    runs: int | None = None,
    steps: int = 100,
    seed: int = 0,
    driver: Callable[[], Driver] | None = None,
) -> Callable[[], None]:
    """A test function that samples a target, to be assigned to a name that pytest collects.

    ::

        test_recovery = rackproof.testing.machine("protocols/mine.yaml")

    It fails with the least counterexample where a property is violated that should not be, and
    where one that is expected to be violated was not found to be. What was expected to hold and was
    not seen to be violated passes. target: one scenario or world, as for ``rackproof
    verify``, by its path from the folder of the file that calls this, or from one above it; what
    cannot be loaded fails the test with what is wrong. runs, steps: how much is sampled, at least 1
    (200 runs, or ``rackproof_runs`` in pytest's ini file); Hypothesis's own profile decides instead
    where one other than its default ones is loaded. driver: makes what goes along with each run.
    """
    if (runs is not None and runs < 1) or steps < 1:
        raise ValueError(f"{target}: runs and steps are at least 1, not {runs} and {steps}")
    base = _folder()

    def test() -> None:
        __tracebackhide__ = True
        from rackproof.testing.sampled import check  # noqa: PLC0415

        check(str(target), base, runs, steps, seed, driver)

    test.__doc__ = f"Sampled runs of {target} are as they should be."
    return test


def lockstep(
    world: str,
    adapter: Callable[[], Implementation],
    *,
    examples: int | None = None,
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
    property that is not ``known``. world: a scenario, by its path from the folder of the file that
    calls this or from one above it, or ``stack:NAME``. adapter: makes a new adapter for each run.
    examples, steps: how many runs (100, or ``rackproof_runs`` in pytest's ini file), of so many
    actions each. seed: of what is drawn. save: the folder for the scenario of a failure.
    actions: only these, such as ``submit request-0; wait 2``. seconds: that one call of the adapter
    may take.
    """
    base = _folder()

    def test() -> None:
        __tracebackhide__ = True
        from rackproof.checker.lockstep.check import Options, conforms  # noqa: PLC0415
        from rackproof.checker.lockstep.run import Limits  # noqa: PLC0415

        folder = None if save is None else Path(save)
        many = examples or asked.runs or 100
        options = Options(many, steps, seed, known, folder, actions, Limits(seconds))
        conforms(asked.nearest(world, base), adapter, options)

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

    return machine_of(asked.nearest(str(target), _folder()), driver)


def _folder() -> Path:
    """The folder of the file that called the function that calls this."""
    return Path(sys._getframe(2).f_globals.get("__file__", "")).absolute().parent
