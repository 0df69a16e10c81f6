"""What the paths of a world take, in the words of ``rackproof cost``."""

from __future__ import annotations

from rackproof.checker.diff.side import Costs
from rackproof.checker.report.cost import in_words
from rackproof.checker.searched import Progress
from rackproof.checker.timing.amounts import in_units
from rackproof.checker.timing.classes import Bounds
from rackproof.checker.timing.moves import Moves, moves_of
from rackproof.checker.timing.paths import paths
from rackproof.checker.timing.stalls import Stalls, worst_stall
from rackproof.model.kernel import System


def costs(system: System, seconds: float, progress: Progress | None) -> Costs:
    """The worst stall and the classes of paths, each looked for within so many seconds."""
    moves, bounds = moves_of(system), Bounds(seconds)
    stalls, found = worst_stall(moves, bounds, progress), paths(moves, bounds, progress)
    told = [in_words(kind) for kind in found.classes]
    worst = stalls.worst.seconds if stalls.worst else None
    return Costs(
        stall=_told(moves, stalls),
        seconds=None if worst is None else float(worst),
        paths={cells.pop("path"): cells for cells in told},
        reason=stalls.reason or found.reason,
    )


def _told(moves: Moves, stalls: Stalls) -> str:
    """The worst stall and whose it is."""
    if stalls.worst is None:
        return "nobody waits"
    clients, number = moves.durations.timing.clients, stalls.worst.client
    who = clients[number] if number < len(clients) else f"client {number}"
    if stalls.worst.seconds is None:
        return f"{who} may wait for ever: {stalls.worst.reason}"
    return (
        f"{'' if stalls.reason is None else 'at least '}{in_units(stalls.worst.seconds)}, of {who}"
    )
