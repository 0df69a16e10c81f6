"""Plots as SVG, by matplotlib where it is installed: the same data, the same bytes."""

from __future__ import annotations

import math
import os
import re
import textwrap
import warnings
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

from attrs import evolve

from rackproof.checker.performance.answers import Axis, Plot
from rackproof.checker.report.screen import shown
from rackproof.scenarios.files import is_folder
from rackproof.scenarios.worlds import InputError

ABSENT: Final = "--plot needs matplotlib, which is not installed: pip install 'rackproof[plots]'"
MARKED: Final = 40
"""Points of a curve up to which each is marked."""
WRAPPED: Final = 70
LONGEST: Final = 100
"""Bytes of a text in the name of a file, which has at most 255."""
DECADES: Final = 3.5
"""Of a logarithmic axis, below which 2 and 5 are named beside 1."""
_STYLE: Final[dict[str, Any]] = {
    "svg.hashsalt": "rackproof",  # identifiers in the file, otherwise random
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "text.parse_math": False,  # names of variants are no formulas
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.figsize": (7.5, 4.5),
    "figure.constrained_layout.use": True,
}


def check(folder: Path) -> None:
    """Raise ``InputError`` where plots cannot be drawn, or not there; the folder is made."""
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise InputError(ABSENT) from None
    if os.path.lexists(folder) and not is_folder(folder):
        raise InputError(f"--plot {folder}: is a file, not a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"--plot {folder}: {(error.strerror or '').lower()}") from None


def draw(plot: Plot, path: Path) -> None:
    """Write a plot to a file; ``InputError`` where there can be none."""
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    plot = _drawable(plot)
    style: dict[Any, Any] = {**mpl.rcParamsDefault, **_STYLE}
    with mpl.rc_context(style), warnings.catch_warnings():
        # The letters are in the file as such, for a font of the reader.
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure()
        _fill(figure.subplots(), plot)
        try:
            figure.savefig(path, metadata={"Date": None, "Creator": "rackproof"})
        except OSError as error:
            raise InputError(f"--plot {path}: {(error.strerror or '').lower()}") from None


def _drawable(plot: Plot) -> Plot:
    """The same with texts that a picture can hold."""
    return evolve(
        plot,
        title=shown(plot.title),
        series=tuple(evolve(one, label=shown(one.label)) for one in plot.series),
        marks=tuple(evolve(one, label=shown(one.label)) for one in plot.marks),
    )


def _fill(axes: Any, plot: Plot) -> None:
    for series in plot.series:
        few = len(series.xs) <= MARKED
        axes.plot(series.xs, series.ys, marker="o" if few else "", ms=4, label=series.label)
    for mark in plot.marks:
        axes.axvline(mark.x, color="0.35", ls="--", lw=1, label=mark.label)
    axes.set_xscale("log" if plot.x.log else "linear")
    axes.set_yscale("log" if plot.y.log else "linear")
    for axis, wanted in ((axes.xaxis, plot.x), (axes.yaxis, plot.y)):
        _scale(axis, wanted)
    for level, label in plot.levels:
        axes.axhline(level, color="0.35", ls=":", lw=1.2)
        place = axes.get_yaxis_transform()
        axes.text(1.0, level, f" {label}", transform=place, va="center", fontsize="small")
    title = textwrap.fill(plot.title, WRAPPED)
    axes.set(title=title, xlabel=plot.x.label, ylabel=plot.y.label)
    if len(plot.series) + len(plot.marks) > 1:
        axes.legend(frameon=False, fontsize="small")


def _scale(axis: Any, wanted: Axis) -> None:
    """Plain numbers, on a logarithmic axis too."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    if not wanted.log:
        return
    low, high = axis.get_view_interval()
    decades = math.log10(high / low)
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < DECADES else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def slug(text: str) -> str:
    """A text as part of the name of a file; texts that differ may come to the same."""
    letters = re.sub(r"[\W_]+", "-", text.lower()).strip("-").encode()[:LONGEST]
    return letters.decode(errors="ignore") or "plot"
