"""How Hypothesis is run where its runs are only a means."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Verbosity, settings


def quiet(runs: int, steps: int, **more: Any) -> settings:
    """Nothing kept, nothing printed, no limit but the numbers, whatever profile is loaded."""
    return settings(
        settings.get_profile("default"),
        max_examples=runs,
        stateful_step_count=steps,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        **more,
    )
