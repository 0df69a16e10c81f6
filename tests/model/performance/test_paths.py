"""What it costs to move bytes over a rack."""

from itertools import pairwise
from pathlib import Path as File

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import Link, link
from rackproof.model.performance.paths import Fabric, Load, Messages
from rackproof.model.rack import Instance, Part, Placement, checked, load_rack, place

RACKS = File(__file__).parents[3] / "scenarios" / "racks"

KV_3000 = 3000 * 327_680


def placed(rack: str = "nvl72", prefill: int = 12, decode: int = 6) -> tuple[Fabric, Placement]:
    placement = place(load_rack(rack), prefill=prefill, decode=decode)
    return Fabric(placement.rack), placement


def named(placement: Placement, name: str) -> Instance:
    return next(i for i in placement.instances if i.name == name)


@pytest.mark.parametrize(
    ("preset", "told"), [("4x-nvlink5", "273.1 us"), ("4x400g", "4.915 ms"), ("100gbe", "78.64 ms")]
)
def test_ideal_hand_off_of_the_study(preset: str, told: str) -> None:
    """bytes / bandwidth of 3,000 tokens: 273 us, 4.92 ms, 78.6 ms."""
    number, unit = told.split()
    seconds = KV_3000 / link(preset).bytes_per_s
    assert f"{seconds / {'us': 1e-6, 'ms': 1e-3}[unit]:.4g}" == number


def test_worked_example_of_512_mib() -> None:
    model = architecture("llama-3-8b")
    size = kv_format("bf16").bytes(4096 * model.kv_values_per_token)
    assert size == 512 * 1024**2
    assert f"{size / 100e9 * 1e3:.3f}" == "5.369"


@pytest.mark.parametrize(
    ("preset", "seconds"), [("4x200g-measured", 0.494), ("8x400g-measured", 0.226)]
)
def test_bandwidths_measured_by_mooncake(preset: str, seconds: float) -> None:
    """40 GB, as of 128k tokens of Llama 3 70B (131,072 x 327,680 B is 42.9 GB)."""
    assert link(preset).seconds(131_072 * 327_680) == pytest.approx(seconds, abs=0.001)


def test_shard_to_shard_over_nvlink_is_the_preset() -> None:
    fabric, placement = placed()
    flows = fabric.flows(named(placement, "prefill-0"), named(placement, "decode-0"))
    assert [flow.part for flow in flows] == [0.25] * 4
    found, preset = fabric.link(flows), link("4x-nvlink5")
    assert found.bandwidth_GB_s == pytest.approx(preset.bandwidth_GB_s)
    assert (found.latency_us, found.pJ_per_bit) == (preset.latency_us, preset.pJ_per_bit)


def test_fallback_when_the_nvlink_switch_is_lost() -> None:
    _, placement = placed()
    fabric = Fabric(placement.rack, lost={"nvlink-0"})
    flows = fabric.flows(named(placement, "prefill-0"), named(placement, "decode-0"))
    found, preset = fabric.link(flows), link("4x400g")
    assert found.bandwidth_GB_s == pytest.approx(preset.bandwidth_GB_s)
    assert (found.latency_us, found.pJ_per_bit) == (preset.latency_us, preset.pJ_per_bit)


@pytest.mark.parametrize("name", ["nvl72", "hgx", "two-rack", str(RACKS / "pair.yaml")])
def test_ways_are_those_of_the_rack(name: str) -> None:
    """From some nodes to all: as wide and as quick as the rack's own search finds."""
    rack = load_rack(name)
    fabric, nodes = Fabric(rack), list(rack.graph)
    for start in nodes[:: max(1, len(nodes) // 4)]:
        for end in nodes[:: max(1, len(nodes) // 20)]:
            theirs = rack.path(start, end)
            if theirs is None:
                with pytest.raises(ModelError, match="there is no way"):
                    fabric.path(start, end)
                continue
            mine = fabric.path(start, end)
            assert (mine.nodes[0], mine.nodes[-1]) == (start, end)
            assert mine.bandwidth_GB_s == theirs.bandwidth_GB_s
            assert mine.latency_us == pytest.approx(theirs.latency_us)


def test_a_lost_nic_is_gone_round() -> None:
    """Its GPU reaches the network by way of a neighbour, whose NIC the two then share."""
    _, placement = placed()
    fabric = Fabric(placement.rack, lost={"nvlink-0", "nic-0"})
    flows = fabric.flows(named(placement, "prefill-0"), named(placement, "decode-0"))
    assert fabric.link(flows).bandwidth_GB_s == pytest.approx(100)


def test_between_racks_and_over_slow_ethernet() -> None:
    fabric, placement = placed("two-rack", 18, 18)
    flows = fabric.flows(named(placement, "prefill-0"), named(placement, "decode-17"))
    assert fabric.link(flows).bandwidth_GB_s == pytest.approx(200)
    slow = Fabric(load_rack(RACKS / "nvl72-100gbe.yaml"), lost={"nvlink-0"})
    assert slow.link(flows_of(slow)).bandwidth_GB_s == pytest.approx(12.5)


def flows_of(fabric: Fabric):  # type: ignore[no-untyped-def]
    placement = place(fabric.rack, prefill=1, decode=1)
    return fabric.flows(*placement.instances)


def test_incast_shares_the_receiver() -> None:
    """Three instances that send to one take three times as long; each had the link alone before."""
    fabric, placement = placed()
    target = named(placement, "decode-0")
    loads = [
        Load(fabric.flows(named(placement, f"prefill-{i}"), target), KV_3000) for i in range(3)
    ]
    alone = fabric.seconds(loads[0])
    assert alone == pytest.approx(5e-6 + KV_3000 / 3600e9)
    assert fabric.finish_s(loads) == pytest.approx([5e-6 + 3 * KV_3000 / 3600e9] * 3)


def test_a_short_transfer_leaves_its_share_to_the_long_one() -> None:
    fabric, placement = placed()
    target = named(placement, "decode-0")
    short, long = (
        Load(fabric.flows(named(placement, f"prefill-{i}"), target), size)
        for i, size in enumerate((3600e6, 3 * 3600e6))
    )
    assert fabric.finish_s([short, long]) == pytest.approx([0.002 + 5e-6, 0.004 + 5e-6])


def test_disjoint_transfers_do_not_meet() -> None:
    fabric, placement = placed()
    loads = [
        Load(fabric.flows(named(placement, f"prefill-{i}"), named(placement, f"decode-{i}")), 1e9)
        for i in range(6)
    ]
    assert fabric.finish_s(loads) == (fabric.seconds(loads[0]),) * 6


def test_hosts_and_the_store() -> None:
    """C2C: 450 GB/s for each of 4 GPUs; the store: one port of 50 GB/s for all."""
    fabric, placement = placed()
    instance = named(placement, "decode-0")
    host = fabric.link(fabric.stored(instance, Part.HOST))
    store = fabric.link(fabric.loaded(instance, Part.STORE))
    assert host.bandwidth_GB_s == pytest.approx(1800)
    assert host.latency_us == link("c2c").latency_us
    assert store.bandwidth_GB_s == pytest.approx(50)


def test_a_gpu_without_its_host_goes_to_another() -> None:
    _, placement = placed()
    fabric = Fabric(placement.rack, lost={"host-0"})
    flows = fabric.stored(placement.instances[0], Part.HOST)
    assert all(flow.path.nodes[-1] != "host-0" for flow in flows)


def test_unequal_instances_send_what_overlaps() -> None:
    """6 GPUs to 4, as of tensor parallelism of so many: a GPU's sixth goes to a quarter or two."""
    rack = load_rack("hgx")
    gpus = rack.parts(Part.GPU)
    six, four = Instance("p", "prefill", gpus[:6], 0), Instance("d", "decode", gpus[8:12], 1)
    flows = Fabric(rack).flows(six, four)
    assert sum(flow.part for flow in flows) == pytest.approx(1)
    assert [round(12 * flow.part) for flow in flows] == [2, 1, 1, 2, 2, 1, 1, 2]


def test_pages_of_the_report_on_vllm() -> None:
    """7,500 tokens: 20 ms in pages of 16, 8 ms in pages of 128 (a model of 32 layers)."""
    small, large, whole = Messages(16), Messages(128), Messages(merged=True)
    assert small.count(7500, 32) - large.count(7500, 32) == 13_120
    assert small.seconds(7500, 32) - large.seconds(7500, 32) == pytest.approx(12e-3, rel=0.02)
    assert whole.count(7500, 32) == 1


def test_messages_and_efficiency_come_on_top() -> None:
    fabric, placement = placed()
    flows = fabric.flows(*placement.instances[:2])
    plain, slow = Load(flows, 1e9), Load(flows, 1e9, posted_s=0.01, efficiency=0.5)
    bytes_s = 1e9 / 3600e9
    assert fabric.seconds(slow) - fabric.seconds(plain) == pytest.approx(0.01 + bytes_s)
    assert fabric.joules(plain) == pytest.approx(8e9 * 5e-12)


@settings(max_examples=30, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 17), st.integers(0, 17)), min_size=1, max_size=8))
def test_rates_are_max_min_fair(pairs: list[tuple[int, int]]) -> None:
    """No link carries more than it can, and each flow has a full link on which none has more."""
    fabric, placement = placed()
    flows = tuple(
        flow
        for a, b in pairs
        if a != b
        for flow in fabric.flows(placement.instances[a], placement.instances[b])
    )
    rates = fabric.rates(flows)
    used: dict[tuple[str, str], list[float]] = {}
    for flow, rate in zip(flows, rates, strict=True):
        for edge in pairwise(flow.path.nodes):
            used.setdefault(edge, []).append(rate)
    graph = fabric.rack.graph
    room = {edge: graph.edges[edge]["bandwidth_GB_s"] * 1e9 for edge in used}
    assert all(sum(mine) <= room[edge] * (1 + 1e-9) for edge, mine in used.items())
    for flow, rate in zip(flows, rates, strict=True):
        assert any(
            sum(used[edge]) >= room[edge] * (1 - 1e-9) and rate >= max(used[edge]) * (1 - 1e-9)
            for edge in flow.edges
        )


def two_ways() -> Fabric:
    """A wide link with a high latency, a narrow one with a low; a store that joins two networks."""
    graph = nx.Graph()
    for i in range(4):
        graph.add_node(f"tray-{i}", kind="tray")
        graph.add_node(f"gpu-{i}", kind="gpu", parent=f"tray-{i}")
    for name in ("left", "right"):
        graph.add_node(name, kind="network")
    graph.add_node("store", kind="store")
    for a, b, bandwidth, latency in (
        ("gpu-0", "gpu-2", 2, 1000),
        ("gpu-1", "gpu-3", 1, 1),
        ("gpu-0", "left", 1, 1),
        ("left", "store", 1, 1),
        ("store", "right", 1, 1),
        ("right", "gpu-1", 1, 1),
    ):
        graph.add_edge(a, b, kind="network", bandwidth_GB_s=bandwidth, latency_us=latency)
    return Fabric(checked("two ways", graph))


def test_the_last_byte_counts_not_the_last_flow() -> None:
    """Half over 2 GB/s and 1 ms, half over 1 GB/s and 1 us."""
    fabric = two_ways()
    source = Instance("p", "prefill", ("gpu-0", "gpu-1"), 0)
    flows = fabric.flows(source, Instance("d", "decode", ("gpu-2", "gpu-3"), 1))
    assert fabric.seconds(Load(flows, 2e5)) == pytest.approx(1e5 / 2e9 + 1e-3)
    assert fabric.seconds(Load(flows, 2e9)) == pytest.approx(1 + 1e-6)
    assert fabric.link(flows) == Link("path", 2.0, 1000, 15)


def test_a_store_is_no_way_through() -> None:
    fabric = two_ways()
    assert fabric.path("gpu-0", "store").latency_us == 2
    with pytest.raises(ModelError, match="there is no way from gpu-0 to gpu-1"):
        fabric.path("gpu-0", "gpu-1")
    assert fabric.path("store", "gpu-1").latency_us == 2


def test_what_cannot_be_moved() -> None:
    fabric, placement = placed()
    one, other = placement.instances[:2]
    with pytest.raises(ModelError, match="rack nvl72 has no 'nvlink-7' to lose"):
        Fabric(placement.rack, lost={"nvlink-7"})
    with pytest.raises(ModelError, match="there is no way from gpu-0 to gpu-4: gpu-0 is lost"):
        Fabric(placement.rack, lost={"gpu-0"}).flows(one, other)
    with pytest.raises(ModelError, match="there is no way from gpu-0 to gpu-4 on nvl72"):
        Fabric(placement.rack, lost={"nvlink-0", "network"}).flows(one, other)
    with pytest.raises(ModelError, match="rack nvl72 has no store left"):
        Fabric(placement.rack, lost={"store"}).stored(one, Part.STORE)
    with pytest.raises(ModelError, match="hand-off: there is nothing to be moved"):
        fabric.link(fabric.flows(one, one), "hand-off")
    for size in (float("nan"), float("inf"), -1, "1 GB", True):
        with pytest.raises(ModelError, match="transfer: size is"):
            Load(fabric.flows(one, other), size)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="messages: block_tokens is positive, not 0"):
        Messages(0)
    with pytest.raises(ModelError, match="transfer: efficiency is a share"):
        Load((), 1.0, efficiency=1.5)


def test_nothing_to_move_takes_no_time() -> None:
    fabric, placement = placed()
    same = placement.instances[0]
    assert fabric.seconds(Load(fabric.flows(same, same), 1e9)) == 0
    assert fabric.seconds(Load(fabric.flows(*placement.instances[:2]), 0)) == 0
