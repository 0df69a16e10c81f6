"""Capacity, energy and roofline, as people ask for them."""

import pytest
from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.formats import KvFormat, kv_format
from rackproof.model.performance.hardware import gpu
from rackproof.model.performance.paths import Fabric, Messages
from rackproof.model.performance.questions import energy, roofline
from rackproof.model.performance.questions.capacity import capacities
from rackproof.model.performance.questions.paths import transfers
from rackproof.model.performance.roofline import Engine
from rackproof.model.rack import Part, checked, load_rack, place

LLAMA = Engine(gpu("gb200"), 4, architecture("llama-3-70b"), kv_format("bf16"))


def test_capacity_of_the_study() -> None:
    (row,) = capacities(LLAMA, [kv_format("bf16")], [3600])
    assert row.instance_tokens == 1_612_839
    assert row.requests == 1_612_839 // 3600
    assert row.request_bytes == 3600 * 327_680


def test_512_mib() -> None:
    """Llama 3 8B, 4,096 tokens, BF16: 512 MiB; half of it in FP8."""
    engine = Engine(gpu("gb200"), 1, architecture("llama-3-8b"), kv_format("bf16"))
    rows = capacities(engine, [kv_format("bf16"), kv_format("fp8")], [4096])
    assert [row.request_bytes / 1024**2 for row in rows] == [512, 256]
    room = 0.9 * 186e9 - 16_059_990_016
    assert [row.requests for row in rows] == [room // 512 // 1024**2, room // 256 // 1024**2]


def test_formats_side_by_side() -> None:
    """4.5 bits hold 16 / 4.5 times as many tokens as 16."""
    formats = [kv_format("bf16"), kv_format("fp8"), KvFormat("small", 4.5)]
    rows = capacities(LLAMA, formats, [4096, 131_072])
    assert [(row.kv, row.context_tokens) for row in rows] == [
        (each.name, length) for each in formats for length in (4096, 131_072)
    ]
    assert rows[4].instance_tokens / rows[0].instance_tokens == pytest.approx(16 / 4.5)
    assert [row.requests for row in rows[1::2]] == [12, 24, 43]


def test_energy_of_a_token_adds_up() -> None:
    """Of 3,000 prompt tokens and of a batch, against the constants of the study."""
    (prompt,) = energy.prefills(LLAMA, [3000])
    flops = 2 * 69_501_714_432 * 3000 + 2 * 80 * 8192 * 3000 * 3001
    size = 2 * 69_501_714_432 + 3000 * (8192 * 2 + 327_680)
    reduced = 160 * 6 * 3000 * 8192 * 2
    assert prompt.compute_J == pytest.approx(flops * 0.6e-12 / 3000)
    assert prompt.memory_J == pytest.approx(size * 45e-12 / 3000)
    assert prompt.link_J == pytest.approx(reduced * 8 * 5e-12 / 3000)
    assert prompt.idle_J == pytest.approx(4 * 140 * 0.09637 / 3000, rel=1e-3)
    step = LLAMA.decode(64, 64 * 3000)
    (token,) = energy.decodes(LLAMA, [64], [3000])
    assert token.total_J == pytest.approx((step.joules + 560 * step.seconds) / 64)


def test_a_larger_batch_shares_weights_and_idle_power() -> None:
    rows = energy.decodes(LLAMA, [1, 8, 64], [3000])
    for name in ("memory_J", "idle_J", "total_J"):
        values = [getattr(row, name) for row in rows]
        assert values == sorted(values, reverse=True)
    assert rows[0].compute_J == pytest.approx(rows[2].compute_J)


def test_side_of_the_roofline() -> None:
    """Prefill is bound by compute from some hundred tokens on, decode by memory."""
    prompts = roofline.prefills(LLAMA, [16, 512, 4096])
    assert [row.bound for row in prompts] == ["memory", "compute", "compute"]
    steps = roofline.decodes(LLAMA, [1, 64], [1000, 100_000])
    assert {row.bound for row in steps} == {"memory"}
    assert [(row.batch, row.context_tokens, row.fits) for row in steps] == [
        (1, 1000, True),
        (1, 100_000, True),
        (64, 1000, True),
        (64, 100_000, False),
    ]
    for row in (*prompts, *steps):
        busy = max(row.compute_s, row.memory_s)
        assert row.step_s == pytest.approx(busy + row.link_s + row.overhead_s)
    assert steps[2].token_s == steps[2].step_s / 64


def test_the_context_part_decodes_slower_and_prefills_as_fast() -> None:
    part = evolve(LLAMA, gpu=gpu("gb200-context"))
    whole_step, part_step = (roofline.decodes(e, [64], [3300])[0] for e in (LLAMA, part))
    assert part_step.memory_s == pytest.approx(4 * whole_step.memory_s)
    whole_prompt, part_prompt = (roofline.prefills(e, [3000])[0] for e in (LLAMA, part))
    assert part_prompt == whole_prompt or part_prompt.step_s == whole_prompt.step_s


def test_ways_of_a_rack_and_what_is_left_of_them() -> None:
    """3,000 tokens, 983 MB: NVLink, its fallback, C2C to the host, one port of the store."""
    placement = place(load_rack("nvl72"), prefill=12, decode=6)
    rows = transfers(Fabric(placement.rack), placement, LLAMA, [3000])
    assert [(row.source, row.target, row.way) for row in rows] == [
        ("prefill-0", "prefill-1", "nvlink"),
        ("prefill-0", "host", "c2c"),
        ("prefill-0", "store", "pcie, network"),
    ]
    assert [f"{row.seconds * 1e3:.3f}" for row in rows] == ["0.278", "0.556", "19.671"]
    assert rows[0].joules == pytest.approx(8 * 983_040_000 * 5e-12)
    cut = transfers(Fabric(placement.rack, lost={"nvlink-0", "store"}), placement, LLAMA, [3000])
    assert [(row.way, f"{row.seconds * 1e3:.3f}") for row in cut] == [
        ("pcie, network", "4.925"),
        ("c2c", "0.556"),
    ]
    uneven = Fabric(placement.rack, lost={"nvlink-0", "nic-0", "store"})
    rows_of_it = transfers(uneven, placement, LLAMA, [3000])
    assert [(row.way, f"{row.seconds * 1e3:.2f}") for row in rows_of_it[:3]] == [
        ("c2c, pcie, network", "9.86"),
        ("pcie, network, c2c", "9.86"),
        ("pcie, network", "4.93"),
    ]
    paged = transfers(Fabric(placement.rack), placement, LLAMA, [3000], Messages(16))
    assert paged[0].posted_s == pytest.approx(188 * 80 * 0.9e-6)
    assert paged[0].seconds == pytest.approx(rows[0].seconds + paged[0].posted_s)


def test_a_slower_port_is_a_way_of_its_own() -> None:
    rack = load_rack("nvl72")
    graph = rack.graph.copy()
    graph.edges["nic-0", "network"]["bandwidth_GB_s"] = 25
    placement = place(checked("uneven", graph), prefill=2, decode=1)
    fabric = Fabric(placement.rack, lost={"nvlink-0", "store", *rack.parts(Part.HOST)})
    found = [row.seconds - row.latency_s for row in transfers(fabric, placement, LLAMA, [3000])]
    assert found == pytest.approx([983_040_000 / 100e9, 983_040_000 / 200e9])


@pytest.mark.parametrize("bad", [0, -3, 1.5, "8", None, True])
def test_questions_that_make_no_sense(bad: object) -> None:
    with pytest.raises(ModelError, match=f"a batch size is a whole number .*, not {bad!r}"):
        energy.decodes(LLAMA, [1, bad], [3000])  # type: ignore[list-item]
    with pytest.raises(ModelError, match=f"a prompt length is a whole number .*, not {bad!r}"):
        roofline.prefills(LLAMA, [bad])  # type: ignore[list-item]
    with pytest.raises(ModelError, match=f"a context length is a whole number .*, not {bad!r}"):
        capacities(LLAMA, [kv_format("bf16")], [bad])  # type: ignore[list-item]
