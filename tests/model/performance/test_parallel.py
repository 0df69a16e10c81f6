"""Experts, latent attention, and what GPUs of an instance tell one another."""

import random
from itertools import combinations

import pytest
from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import Mixture, architecture
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import gpu, link
from rackproof.model.performance.parallel import ExpertParallel, TensorParallel
from rackproof.model.performance.roofline import Engine

DEEPSEEK = architecture("deepseek-v3")


def engine(gpus: int, parallel: TensorParallel | ExpertParallel | None = None) -> Engine:
    return Engine(
        gpu("gb200"), gpus, DEEPSEEK, kv_format("bf16"), parallel=parallel or ExpertParallel()
    )


def test_experts_touched_by_a_batch() -> None:
    mixture = DEEPSEEK.mixture
    assert mixture is not None
    assert mixture.touched(0) == 0
    assert mixture.touched(1) == pytest.approx(8)
    assert mixture.touched(10_000) == pytest.approx(256)
    draw = random.Random(1)
    counted = [len({e for _ in range(32) for e in draw.sample(range(256), 8)}) for _ in range(2000)]
    assert mixture.touched(32) == pytest.approx(sum(counted) / len(counted), rel=0.005)


@pytest.mark.parametrize("members", [1, 2, 3, 6])
def test_gpus_that_a_token_reaches(members: int) -> None:
    """Against all choices of 2 of 6 experts, for a token whose own GPU is the first."""
    mixture, own = Mixture(6, 2, 1), 6 // members
    choices = list(combinations(range(6), 2))
    reached = [len({e // own for e in choice} - {0}) for choice in choices]
    assert mixture.reached(members) == pytest.approx(sum(reached) / len(choices))


def test_weights_read_are_those_of_experts_touched() -> None:
    """One token reads 8 experts a layer, many read all of them."""
    instance = engine(8)
    one, many = instance.decode(1, 1), instance.decode(4096, 4096)
    read = (one.memory_bytes, many.memory_bytes)
    common = 8 * (DEEPSEEK.common_bytes - 2 * DEEPSEEK.head_parameters)
    assert read[0] == pytest.approx(common + DEEPSEEK.routed_bytes * 8 / 256, rel=1e-4)
    assert read[1] == pytest.approx(common + DEEPSEEK.routed_bytes, rel=0.01)


def test_latent_kv_is_kept_whole_by_every_tensor_parallel_gpu() -> None:
    tensor, expert = engine(8, TensorParallel()), engine(8)
    assert tensor.kv_bytes_per_token == expert.kv_bytes_per_token == 70_272
    assert (tensor.kv_copies, expert.kv_copies) == (8, 1)
    assert tensor.kv_capacity_tokens * 6 < expert.kv_capacity_tokens


def test_more_gpus_than_kv_heads_keep_copies() -> None:
    model = architecture("llama-3-70b")
    eight, sixteen = (Engine(gpu("gb200"), n, model, kv_format("bf16")) for n in (8, 16))
    assert (eight.kv_copies, sixteen.kv_copies) == (1, 2)


def test_prefill_and_decode_of_latent_attention() -> None:
    """Per head, unfolded: 192 and 128 dimensions; over the vectors as they are: 576 and 512."""
    pairs = 1000 * 1001 / 2
    assert DEEPSEEK.prefill_attention_flops(1000) == 61 * 128 * 2 * (192 + 128) * pairs
    assert DEEPSEEK.decode_attention_flops(1000) == 61 * 128 * 2 * (576 + 512) * 1000
    unfolded = 2 * 61 * 512 * 128 * 256 * 500
    behind = DEEPSEEK.prefill_attention_flops(1000, 500)
    assert behind == 61 * 128 * 2 * 320 * (pairs + 500 * 1000) + unfolded
    assert DEEPSEEK.prefill_attention_flops(0, 500) == 0


def test_all_to_all_at_deepep_s_own_measure() -> None:
    """8,192 tokens a GPU, 8 GPUs over NVLink 5: 726 and 740 GB/s, tokens that stay included."""
    work = ExpertParallel().traffic(DEEPSEEK, 8 * 8192, 8, link("nvlink5"))
    mixture = DEEPSEEK.mixture
    assert mixture is not None
    # Of the copies of a token one in eight stays on its GPU.
    sent = 8192 * 7168 * 3 * mixture.reached(8) * 8 / 7
    seconds = work.seconds / DEEPSEEK.mixture_layers - 2 * 5e-6
    assert sent / seconds / 1e9 == pytest.approx(733, rel=0.03)


def test_tokens_that_leave_the_nvlink_domain() -> None:
    inside = ExpertParallel().traffic(DEEPSEEK, 4096, 16, link("nvlink5"))
    over = ExpertParallel(scale_out=link("400g"), domain=8)
    outside = over.traffic(DEEPSEEK, 4096, 16, link("nvlink5"))
    assert outside.bytes == inside.bytes
    # 8 of the 15 others are outside, over a link of 50 rather than 900 GB/s.
    ratio = (outside.seconds / 58 - 20e-6) / (inside.seconds / 58 - 10e-6)
    assert ratio == pytest.approx(8 / 15 * 900 / 50)
    assert outside.joules / inside.joules == pytest.approx((7 * 5 + 8 * 15) / (15 * 5))


def test_the_busiest_gpu_of_a_small_batch() -> None:
    """One token is sent by one GPU while seven wait: no sooner than eight, one from each."""
    ways = [ExpertParallel().traffic(DEEPSEEK, n, 8, link("nvlink5")) for n in (1, 8, 9)]
    assert ways[0].seconds == ways[1].seconds < ways[2].seconds
    assert ways[0].bytes * 8 == pytest.approx(ways[1].bytes)


def test_imbalance_slows_experts_and_their_traffic() -> None:
    even, uneven = engine(8), engine(8, ExpertParallel(imbalance=1.5))
    one, other = even.prefill([(8192, 0)]), uneven.prefill([(8192, 0)])
    assert other.flops == one.flops
    assert other.compute_J == one.compute_J
    experts = 2 * DEEPSEEK.expert_multiplied / 2 * 8192 / (2500e12 * 0.55 * 8)
    assert other.compute_s - one.compute_s == pytest.approx(0.5 * experts)
    assert other.link_s > one.link_s


def test_one_gpu_says_nothing() -> None:
    small = evolve(DEEPSEEK, layers=4, weights="fp8")
    instance = Engine(gpu("gb200"), 1, small, kv_format("bf16"), parallel=ExpertParallel())
    assert instance.decode(8, 8000).link_bytes == 0
    assert instance.decode(8, 8000).link_s == 0


def test_lower_precision_of_weights() -> None:
    """FP8 halves the layers' bytes and their time; the LM head and attention stay in BF16."""
    whole = Engine(gpu("gb200"), 4, architecture("llama-3-70b"), kv_format("bf16"))
    half = evolve(whole, model=evolve(whole.model, weights="fp8"))
    layers = whole.model.layer_multiplied
    assert whole.weight_bytes - half.weight_bytes == layers
    one, other = whole.prefill([(3000, 0)]), half.prefill([(3000, 0)])
    assert one.flops == other.flops
    saved = layers * 3000 / (2500e12 * 0.55 * 4)
    assert one.compute_s - other.compute_s == pytest.approx(saved)


@pytest.mark.parametrize(
    ("gpus", "parallel", "told"),
    [
        (12, ExpertParallel(), "256 experts of deepseek-v3 have no even share of 12 GPUs"),
        (16, ExpertParallel(domain=8), "16 GPUs are more than the 8 of an NVLink domain"),
        (4, ExpertParallel(), "deepseek-v3 does not fit"),
    ],
)
def test_experts_that_cannot_be_dealt(gpus: int, parallel: ExpertParallel, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        engine(gpus, parallel)


def test_what_is_no_parallelism() -> None:
    with pytest.raises(ModelError, match="llama-3-8b has no experts; it needs tensor parallelism"):
        Engine(
            gpu("gb200"),
            1,
            architecture("llama-3-8b"),
            kv_format("bf16"),
            parallel=ExpertParallel(),
        )
    with pytest.raises(ModelError, match="parallelism: imbalance is 1 or more"):
        ExpertParallel(imbalance=0.5)
    with pytest.raises(ModelError, match="parallelism: scale_out is a link, not '400g'"):
        ExpertParallel(scale_out="400g")  # type: ignore[arg-type]


def test_ring_and_switch() -> None:
    """A ring of 8 has 14 hops, the switch two; and it sends a message once, not 14/8 times."""
    model = architecture("llama-3-405b")
    ring = TensorParallel().traffic(model, 1, 8, link("nvlink5"))
    switch = TensorParallel(in_switch=True).traffic(model, 1, 8, link("nvlink5"))
    message = 16384 * 2
    assert ring.seconds == pytest.approx(252 * (14 * 5e-6 + 14 / 8 * message / 900e9))
    assert switch.seconds == pytest.approx(252 * (2 * 5e-6 + message / 900e9))
    assert (ring.bytes, switch.bytes) == (252 * 14 * message, 252 * 8 * message)
    assert TensorParallel(in_switch=True).traffic(model, 1, 1, link("nvlink5")).seconds == 0
