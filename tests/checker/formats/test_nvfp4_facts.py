"""What the tensor scale of NVFP4 is for, proved or refuted; and that the proofs are of the code."""

import numpy as np
import pytest
import z3

from rackproof.checker.formats.nvfp4_facts import (
    LEAST,
    OVERFLOW,
    UNDERFLOW,
    Claim,
    Single,
    _plain,
    _term,
    alone,
    claims,
    confirmed,
    decide,
    no_overflow,
)
from rackproof.checker.verdicts import Verdict
from rackproof.model.performance.nvfp4 import (
    CONVENTIONS,
    E4M3,
    MODELOPT,
    TRANSFORMER_ENGINE,
    Convention,
    quantise,
)

CLAIMS = {claim.name: claim for claim in claims()}


@pytest.mark.parametrize(
    "name",
    [
        "transformer-engine-never-overflows",
        "modelopt-never-overflows",
        "modelopt-fills-the-range",
    ],
)
def test_with_a_tensor_scale_no_block_scale_overflows(name: str) -> None:
    fact = decide(CLAIMS[name])
    assert (fact.verdict, fact.checkers, fact.witness) == (Verdict.PROVED, ("z3", "cvc5"), None)


def tensor_of(block: float, amax: float) -> np.ndarray:
    return np.array([[block] * 16, [amax] * 16], dtype=np.float32)


@pytest.mark.parametrize("way", CONVENTIONS, ids=lambda way: way.name)
def test_without_one_it_can_and_the_values_are_lost(way: Convention) -> None:
    fact = decide(CLAIMS[f"{way.name}-without-tensor-scale-never-overflows"])
    assert fact.verdict is Verdict.VIOLATED
    block, amax = fact.witness["block_amax"], fact.witness["amax"]
    assert fact.witness["scale"] > OVERFLOW
    read = quantise(tensor_of(block, amax), way, amax=2688).dequantise()
    assert (read == 2688).all()
    assert amax >= block > 2784 * (1 - 1e-6)


@pytest.mark.parametrize("way", CONVENTIONS, ids=lambda way: way.name)
def test_without_one_it_can_vanish(way: Convention) -> None:
    fact = decide(CLAIMS[f"{way.name}-without-tensor-scale-never-underflows"])
    assert fact.verdict is Verdict.VIOLATED
    assert 0 < fact.witness["block_amax"] <= fact.witness["amax"]
    assert fact.witness["scale"] <= UNDERFLOW


def test_a_tensor_scale_does_not_keep_tiny_blocks_from_vanishing() -> None:
    """Proved is that nothing overflows, and no more: see the conventions for what they do then."""
    fact = decide(CLAIMS["transformer-engine-never-underflows"])
    assert fact.verdict is Verdict.VIOLATED
    values = tensor_of(fact.witness["block_amax"], fact.witness["amax"])
    assert not quantise(values, TRANSFORMER_ENGINE).dequantise()[0].any()


def test_the_bounds_are_those_of_e4m3() -> None:
    above = np.nextafter(np.float32(UNDERFLOW), np.float32(1))
    assert E4M3.encode([UNDERFLOW, above]).tolist() == [0, 1]
    assert E4M3.encode([432, np.nextafter(432, 500), OVERFLOW]).tolist() == [0x7E, 0x7E, 0x7E]
    assert np.float32(LEAST) > 0 == np.float32(LEAST / 2)


@pytest.mark.parametrize("way", CONVENTIONS, ids=lambda way: way.name)
def test_symbolic_and_plain_numbers_give_the_same_scales(way: Convention) -> None:
    chance = np.random.default_rng(4)
    powers = 2.0 ** chance.integers(-120, 120, (200, 1))
    pairs = np.sort(np.abs(chance.normal(size=(200, 2))) * powers).astype(np.float32)
    for block, amax in pairs:
        term = way.block_scale(Single(_term(block)), Single(_term(amax))).term
        assert _plain(z3.simplify(term)) == way.block_scale(block, amax)


def test_a_smaller_range_would_overflow() -> None:
    """The proof has teeth: with 2,500 in place of 2,688 more than E4M3 has is asked for."""

    def wrong(largest: object, amax: object) -> object:
        return MODELOPT.block_scale(largest, np.multiply(amax, np.float32(2500 / 2688)))

    fact = decide(no_overflow("wrong", wrong))
    assert fact.verdict is Verdict.VIOLATED
    assert 464 < fact.witness["scale"] < 500


def test_too_little_time_shows_nothing() -> None:
    fact = decide(CLAIMS["transformer-engine-never-overflows"], seconds=0.001)
    assert fact.verdict is Verdict.INCONCLUSIVE
    assert fact.reason


def test_what_is_no_witness_is_not_told() -> None:
    claim = CLAIMS["modelopt-never-overflows"]
    with pytest.raises(AssertionError, match=r"1\.0 of 2\.0 is no witness"):
        confirmed(claim, 1.0, 2.0)
    lost = Claim("lost", "", alone(MODELOPT), claim.holds, claim.tests)
    assert confirmed(lost, 2688.0 * 2, 2688.0 * 2)["scale"] == 896


def test_functions_that_are_not_known_of_symbolic_numbers() -> None:
    with pytest.raises(TypeError, match="sqrt is not known of symbolic numbers"):
        np.sqrt(Single(_term(2)))
