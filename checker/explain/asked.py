"""What the commands that ask one thing of a world say of themselves, as verify does of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rackproof.checker.explain.explanation import Footing
from rackproof.checker.report.shell import argument

LARGER = "anything larger than this scope"
UNTIMED = "how long steps take (every order of steps counts)"
MOST_CUTS = 4
"""The largest sets that can be asked for."""


def line(name: str, target: str, *options: tuple[str, str]) -> str:
    """A command as a shell takes it; options: names with values, those without one left out."""
    told = (f"{option} {argument(value)}" for option, *rest in options for value in rest if value)
    return " ".join([f"rackproof {name} {argument(target)}", *told])


def duration(seconds: float) -> str:
    """Seconds as an option takes them."""
    return f"{f'{seconds:.9f}'.rstrip('0').rstrip('.')}s"


def of_cuts(
    target: str,
    most: int,
    properties: Sequence[str],
    faults: Sequence[str],
    exam: str | None,
    is_conclusive: bool,
) -> Footing:
    """Of the minimal cut sets of a target."""
    where = [("--exam", exam or ""), *(("--property", name) for name in properties)]
    where.append(("--faults", ",".join(faults)))
    unseen = [] if is_conclusive else ["the sets that are open"]
    unseen += [f"sets of more than {most} faults", LARGER, UNTIMED]
    if faults:
        unseen.insert(-2, f"other faults than {', '.join(faults)}")
    more = [line("cuts", target, *where, ("--at-most", str(most))) + " -v  # the run of each set"]
    if is_conclusive and most < MOST_CUTS:
        larger = line("cuts", target, *where, ("--at-most", str(most + 1)))
        more.append(f"{larger}  # sets of one fault more")
    again = line("cuts", target, *where, ("--at-most", str(most)))
    return Footing(again, tuple(unseen), tuple(more))


def of_guards(
    target: str, properties: Sequence[str], exam: str | None, is_found: bool, has_mechanisms: bool
) -> Footing:
    """Of the missing guards of a target."""
    where = [("--exam", exam or ""), *(("--property", name) for name in properties)]
    unseen = (
        "guards of more than two steps, and tests that no step, timer or property makes",
        "guards of faults, clients and the environment, which nobody can forbid",
        LARGER,
    )
    moves = ["add the guard to the protocol, and verify it again"] if is_found else []
    if has_mechanisms:
        again = line("verify", target)
        moves.append(f"{again} --repair  # the changes of mechanisms that stop it")
    return Footing(line("guards", target, *where), unseen, tuple(moves))


def of_cost(
    target: str,
    values: Mapping[str, float],
    exam: str | None,
    is_fixed: bool,
    reasons: Iterable[str | None],
    durations: Sequence[str],
) -> Footing:
    """Of what the paths of a target take."""
    where = [("--exam", exam or ""), *(("--set", f"{n}={duration(v)}") for n, v in values.items())]
    fixed = " --fixed" if is_fixed else ""
    again = line("cost", target, *where) + fixed
    return Footing(again, tuple(_unseen(reasons, values)), tuple(_moves(again, durations)))


def _unseen(reasons: Iterable[str | None], values: Mapping[str, float]) -> Iterator[str]:
    yield from dict.fromkeys(f"all runs: {reason}" for reason in reasons if reason)
    yield "other values of the times than these" if values else "other times than the defaults"
    yield LARGER


def _moves(again: str, durations: Sequence[str]) -> Iterator[str]:
    yield f"{again} -v  # a run of each class"
    if durations:
        yield f"{again} --set {durations[0]}=1s  # with another value"
