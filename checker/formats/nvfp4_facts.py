"""What the tensor scale of NVFP4 is for: facts about block scales, decided over all of float32.

The functions that choose scales (``Convention.block_scale``) are run on symbolic numbers of IEEE
754, rounding and all; so what is proved is proved of the code that quantises. z3 decides the claim
by circuits, and cvc5 confirms a proof by its own. A claim that fails has a witness, which the same
function confirms on plain numbers before anyone sees it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import z3
from attrs import frozen

from rackproof.checker.proof.solvers import NAMES, UNSAT, started
from rackproof.checker.verdicts import Verdict
from rackproof.model.performance.nvfp4.bounds import LEAST_AMAX
from rackproof.model.performance.nvfp4.convention import CONVENTIONS, RANGE, Convention

_SORT: Final = z3.FPSort(8, 24)
_NEAREST: Final = z3.RNE()
SECONDS: Final = 60.0
"""How long a claim may take by default; each takes a few seconds."""
OVERFLOW: Final = 464
"""The largest number that rounds to 448, the largest of E4M3: half-way to what would be 480, and a
tie to even. What is larger is NaN where it is not cut."""
LEAST: Final = 2.0**-149
"""The least number of float32."""
UNDERFLOW: Final = 2.0**-10
"""The largest number that rounds to 0 in E4M3: half of its least, and a tie to even."""


class Single:
    """A symbolic number of float32, which numpy's functions can be called with."""

    def __init__(self, term: z3.FPRef) -> None:
        self.term = term

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Any) -> Single:
        """What numpy calls in place of its own function."""
        if method != "__call__" or ufunc not in self._DONE_BY:
            raise TypeError(f"{ufunc.__name__} is not known of symbolic numbers")
        return Single(self._DONE_BY[ufunc](*map(_term, given)))

    def __mul__(self, other: Any) -> Single:
        return Single(z3.fpMul(_NEAREST, self.term, _term(other)))

    def __truediv__(self, other: Any) -> Single:
        return Single(z3.fpDiv(_NEAREST, self.term, _term(other)))

    _DONE_BY: ClassVar[Mapping[Any, Callable[..., z3.FPRef]]] = {
        np.multiply: lambda one, other: z3.fpMul(_NEAREST, one, other),
        np.true_divide: lambda one, other: z3.fpDiv(_NEAREST, one, other),
        np.maximum: lambda one, other: z3.If(z3.fpLT(one, other), other, one),
    }


def _term(number: Any) -> z3.FPRef:
    return number.term if isinstance(number, Single) else z3.FPVal(float(number), _SORT)


@frozen
class Claim:
    """Something that is said of the block scale of any block.

    scale: the block scale before it is rounded to E4M3, of the block's largest absolute value and
    the tensor's. holds: of the block's largest value and the scale, as terms. tests: the same, of
    plain numbers. least_amax: of which tensors it is said: by default of all but zeros.
    """

    name: str
    text: str
    scale: Callable[[Any, Any], Any]
    holds: Callable[[z3.FPRef, z3.FPRef], z3.BoolRef]
    tests: Callable[[float, float], bool]
    least_amax: float = LEAST


@frozen
class Fact:
    """A claim, and what is known of it: over all finite float32 values, in IEEE 754.

    checkers: the solvers that showed it, each by itself. witness: values for which it fails, as
    ``block_amax``, ``amax`` (of the tensor) and the ``scale`` they give. reason: why nothing is
    known.
    """

    name: str
    text: str
    verdict: Verdict
    checkers: tuple[str, ...] = ()
    witness: Mapping[str, float] | None = None
    reason: str | None = None


def facts(seconds: float = SECONDS) -> Iterator[Fact]:
    """Decide each claim, in the order of ``claims``."""
    for claim in claims():
        yield decide(claim, seconds)


def claims(ways: Sequence[Convention] = CONVENTIONS) -> Iterator[Claim]:
    """What is said of each convention: with its tensor scale, and with a tensor scale of 1."""
    for way in ways:
        yield no_overflow(f"{way.name}-never-overflows", way.block_scale)
        yield fills(way)
        yield no_underflow(f"{way.name}-never-underflows", way.block_scale)
        yield no_overflow(f"{way.name}-without-tensor-scale-never-overflows", alone(way))
        yield no_underflow(f"{way.name}-without-tensor-scale-never-underflows", alone(way))


def alone(way: Convention) -> Callable[[Any, Any], Any]:
    """The block scale under a tensor scale of 1, whatever the values of the tensor are."""
    return lambda largest, _: way.block_scale(largest, RANGE)


def no_overflow(name: str, scale: Callable[[Any, Any], Any]) -> Claim:
    """No block scale is too large for E4M3."""
    return Claim(
        name,
        f"No block scale is over {OVERFLOW}, beyond which E4M3 has none.",
        scale,
        lambda _, term: z3.fpLEQ(term, _term(OVERFLOW)),
        lambda _, number: number <= OVERFLOW,
    )


def fills(way: Convention) -> Claim:
    """The block with the tensor's largest value has the largest scale."""
    return Claim(
        f"{way.name}-fills-the-range",
        f"The scale of the block with the largest value rounds to 448: it is 432 to {OVERFLOW}.",
        lambda _, amax: way.block_scale(amax, amax),
        lambda _, term: z3.And(z3.fpGT(term, _term(432)), z3.fpLEQ(term, _term(OVERFLOW))),
        lambda _, number: 432 < number <= OVERFLOW,
        least_amax=LEAST_AMAX,
    )


def no_underflow(name: str, scale: Callable[[Any, Any], Any]) -> Claim:
    """No block of anything but zeros has a scale that rounds to 0."""
    return Claim(
        name,
        "No block with a value other than 0 has a scale that rounds to 0 before any clamp.",
        scale,
        lambda largest, term: z3.Or(z3.fpIsZero(largest), z3.fpGT(term, _term(UNDERFLOW))),
        lambda largest, number: not largest or number > UNDERFLOW,
    )


def decide(claim: Claim, seconds: float = SECONDS) -> Fact:
    """Prove a claim, or refute it with a witness that is confirmed; or say why neither."""
    block, amax = z3.FP("block_amax", _SORT), z3.FP("amax", _SORT)
    solver = _solver(seconds)
    solver.add(z3.fpGEQ(block, _term(0)), z3.fpLEQ(block, amax), z3.Not(z3.fpIsInf(amax)))
    solver.add(z3.fpGEQ(amax, _term(claim.least_amax)))
    scale = claim.scale(Single(block), Single(amax))
    solver.add(z3.Not(claim.holds(block, scale.term)))
    answer = solver.check()
    if answer == z3.unsat:
        return _proved(claim, solver, seconds)
    if answer == z3.unknown:
        reason = f"z3: {solver.reason_unknown()}"
        return Fact(claim.name, claim.text, Verdict.INCONCLUSIVE, reason=reason)
    model = solver.model()
    witness = confirmed(claim, *(_plain(model.eval(term, True)) for term in (block, amax)))
    return Fact(claim.name, claim.text, Verdict.VIOLATED, witness=witness)


def _proved(claim: Claim, solver: z3.Solver, seconds: float) -> Fact:
    """What z3 showed, if cvc5 does too."""
    other = started("cvc5")
    other.run("(set-logic QF_FP)")
    other.run(solver.to_smt2().replace("(check-sat)", ""))
    if other.check(seconds) == UNSAT:
        return Fact(claim.name, claim.text, Verdict.PROVED, NAMES)
    reason = "z3 shows it, and cvc5 does not confirm it"
    return Fact(claim.name, claim.text, Verdict.INCONCLUSIVE, ("z3",), reason=reason)


def confirmed(claim: Claim, block: float, amax: float) -> Mapping[str, float]:
    """A witness, once the function that quantises agrees on plain numbers."""
    with np.errstate(over="ignore", under="ignore"):
        scale = float(claim.scale(np.float32(block), np.float32(amax)))
    if claim.tests(block, scale) or not 0 <= block <= amax < math.inf:
        raise AssertionError(f"{claim.name}: {block} of {amax} is no witness")
    return {"block_amax": block, "amax": amax, "scale": scale}


def _solver(seconds: float) -> z3.Solver:
    steps = ("simplify", "fpa2bv", "simplify", "max-bv-sharing", "bit-blast", "aig", "sat")
    solver = z3.Then(*steps).solver()
    solver.set("timeout", round(seconds * 1000))
    return solver


def _plain(number: z3.FPNumRef) -> float:
    bits = z3.simplify(z3.fpToIEEEBV(number)).as_long()
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])
