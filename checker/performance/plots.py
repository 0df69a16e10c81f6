"""Plots as SVG, by matplotlib where it is installed: the same data, the same bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from rackproof.checker.performance.answers import Plot
from rackproof.scenarios.worlds import InputError

ABSENT: Final = "--plot needs matplotlib, which is not installed: pip install 'rackproof[plots]'"
_STYLE: Final[dict[str, Any]] = {
    "svg.hashsalt": "rackproof",  # identifiers in the file, otherwise random
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.figsize": (7.5, 4.5),
    "figure.constrained_layout.use": True,
}


def check() -> None:
    """Raise ``InputError`` where plots cannot be drawn."""
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise InputError(ABSENT) from None


def draw(plot: Plot, folder: Path, stem: str) -> Path:
    """Write a plot; its file. ``InputError`` where the folder takes none."""
    check()
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    path = folder / f"{slug(stem)}-{slug(plot.name)}.svg"
    style: dict[Any, Any] = {**mpl.rcParamsDefault, **_STYLE}
    with mpl.rc_context(style):
        figure = Figure()
        _fill(figure.subplots(), plot)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, metadata={"Date": None, "Creator": "rackproof"})
        except OSError as error:
            raise InputError(f"--plot {folder}: {(error.strerror or '').lower()}") from None
    return path


def _fill(axes: Any, plot: Plot) -> None:
    for series in plot.series:
        style = "-" if series.line else ""
        few = len(series.xs) <= 40
        axes.plot(series.xs, series.ys, style, marker="o" if few else "", ms=4, label=series.label)
    for mark in plot.marks:
        axes.axvline(mark.x, color="0.35", ls="--", lw=1, label=mark.label)
    for level, label in plot.levels:
        axes.axhline(level, color="0.35", ls=":", lw=1.2, label=label)
    axes.set(title=plot.title, xlabel=plot.x.label, ylabel=plot.y.label)
    axes.set_xscale("log" if plot.x.log else "linear")
    axes.set_yscale("log" if plot.y.log else "linear")
    if len(plot.series) + len(plot.marks) + len(plot.levels) > 1:
        axes.legend(frameon=False, fontsize="small")


def slug(text: str) -> str:
    """A text as part of the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "plot"
