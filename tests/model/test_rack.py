import json
from pathlib import Path

import networkx as nx
import pytest

from rackproof.model.kernel import ModelError
from rackproof.model.rack import Part, Placement, Rack, checked, load_rack, place, preset, presets
from rackproof.model.rack.symmetry import is_automorphism, swap

RACKS = Path(__file__).parents[2] / "scenarios" / "racks"


def pair() -> nx.Graph:
    graph = nx.Graph()
    graph.add_node("switch", kind="nvlink-switch")
    for tray in range(2):
        graph.add_node(f"tray-{tray}", kind="tray")
        for gpu in (2 * tray, 2 * tray + 1):
            graph.add_node(f"gpu-{gpu}", kind="gpu", parent=f"tray-{tray}")
            graph.add_edge(
                f"gpu-{gpu}", "switch", kind="nvlink", bandwidth_GB_s=900, latency_us=2.5
            )
    return graph


def classes(placement: Placement) -> list[list[list[str]]]:
    """The bundles in words: trays and workers by their names."""
    names = {"tray": placement.trays, "worker": [i.name for i in placement.instances]}
    return [
        [[names[sort][index] for sort, index in bundle] for bundle in group]
        for group in placement.bundles
    ]


@pytest.mark.parametrize(
    ("name", "trays", "gpus", "hosts"),
    [("nvl72", 18, 72, 36), ("hgx", 4, 32, 8), ("two-rack", 36, 144, 72)],
)
def test_presets_have_their_parts(name: str, trays: int, gpus: int, hosts: int) -> None:
    rack = load_rack(name)
    assert len(rack.parts(Part.TRAY)) == trays
    assert len(rack.parts(Part.GPU)) == len(rack.parts(Part.NIC)) == gpus
    assert len(rack.parts(Part.HOST)) == hosts


def test_every_preset_is_listed() -> None:
    assert set(presets()) == {"nvl72", "hgx", "two-rack"}


@pytest.mark.parametrize(
    ("name", "start", "end", "bandwidth", "latency"),
    [
        ("nvl72", "gpu-0", "gpu-3", 900, 5),
        ("nvl72", "gpu-0", "gpu-71", 900, 5),
        ("nvl72", "gpu-0", "host-0", 450, 10),
        ("two-rack", "gpu-0", "gpu-72", 50, 10),
        ("hgx", "gpu-0", "gpu-7", 450, 5),
        ("hgx", "gpu-0", "gpu-8", 50, 10),
    ],
)
def test_the_widest_path_is_taken(
    name: str, start: str, end: str, bandwidth: float, latency: float
) -> None:
    path = load_rack(name).path(start, end)
    assert path is not None
    assert (path.bandwidth_GB_s, path.latency_us) == (bandwidth, latency)
    assert (path.nodes[0], path.nodes[-1]) == (start, end)


def test_a_path_may_not_be() -> None:
    graph = pair()
    graph.remove_edge("gpu-0", "switch")
    assert checked("pair", graph).path("gpu-0", "gpu-1") is None


@pytest.mark.parametrize(
    ("node", "gpus"),
    [("tray-3", 4), ("host-0", 2), ("nvlink-0", 72), ("rack-0", 72), ("gpu-5", 1), ("nic-5", 0)],
)
def test_failure_domains(node: str, gpus: int) -> None:
    rack = load_rack("nvl72")
    lost = rack.failure_domains()[node]
    assert node in lost
    assert sum(rack.kind(other) is Part.GPU for other in lost) == gpus


def test_a_domain_of_one_rack_spares_the_other() -> None:
    lost = load_rack("two-rack").lost_with("nvlink-0")
    assert "gpu-71" in lost
    assert "gpu-72" not in lost


def test_one_instance_a_tray_in_turn() -> None:
    placed = place(load_rack("nvl72"), prefill=1, decode=2, aggregated=1)
    assert [i.name for i in placed.instances] == ["prefill-0", "decode-0", "decode-1", "worker-0"]
    assert [i.tray for i in placed.instances] == [0, 1, 2, 3]
    assert placed.instances[1].gpus == ("gpu-4", "gpu-5", "gpu-6", "gpu-7")
    assert placed.trays == ("tray-0", "tray-1", "tray-2", "tray-3")


def test_trays_are_used_again_when_all_have_an_instance() -> None:
    placed = place(load_rack("hgx"), aggregated=8)
    assert [i.tray for i in placed.instances] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert len({gpu for i in placed.instances for gpu in i.gpus}) == 32


def test_instances_are_put_where_one_says() -> None:
    on = {"decode-0": "tray-0", "prefill-0": ["gpu-8", "gpu-9"]}
    placed = place(load_rack("hgx"), prefill=1, decode=1, on=on)
    assert [i.gpus for i in placed.instances] == [
        ("gpu-8", "gpu-9"),
        ("gpu-0", "gpu-1", "gpu-2", "gpu-3"),
    ]


def test_trays_that_are_alike_are_exchanged_by_role() -> None:
    assert classes(place(load_rack("nvl72"), prefill=2, decode=3)) == [
        [["tray-0", "prefill-0"], ["tray-1", "prefill-1"]],
        [["tray-2", "decode-0"], ["tray-3", "decode-1"], ["tray-4", "decode-2"]],
    ]


def test_trays_go_with_all_that_is_on_them() -> None:
    found = classes(place(load_rack("hgx"), prefill=3, decode=5))
    assert found[0][:2] == [
        ["tray-0", "prefill-0", "decode-1"],
        ["tray-1", "prefill-1", "decode-2"],
    ]
    assert found[1] == [["decode-0"], ["decode-4"]]


def test_workers_on_one_tray_are_exchanged() -> None:
    on = {"worker-0": "tray-0", "worker-1": "tray-0"}
    assert classes(place(load_rack("hgx"), aggregated=2, on=on)) == [[["worker-0"], ["worker-1"]]]


def test_bundles_share_nothing() -> None:
    for counts in ({"aggregated": 8}, {"prefill": 2, "decode": 6}, {"prefill": 4, "decode": 3}):
        placed = place(load_rack("hgx"), **counts)
        lanes = [lane for group in placed.bundles for bundle in group for lane in bundle]
        assert len(lanes) == len(set(lanes))


def test_a_slower_link_makes_a_tray_another() -> None:
    graph = pair()
    graph.edges["gpu-0", "switch"]["bandwidth_GB_s"] = 450
    assert classes(place(checked("pair", graph), aggregated=2)) == []


def test_a_label_makes_a_tray_another() -> None:
    graph = pair()
    graph.nodes["tray-1"]["tenant"] = "other"
    assert classes(place(checked("pair", graph), aggregated=2)) == []


def test_trays_that_are_written_down_in_another_order_are_alike() -> None:
    graph = pair()
    for gpu in ("gpu-0", "gpu-3"):
        graph.edges[gpu, "switch"]["bandwidth_GB_s"] = 450
    assert classes(place(checked("pair", graph), aggregated=2)) == [
        [["tray-0", "worker-0"], ["tray-1", "worker-1"]]
    ]


def test_racks_of_a_two_rack_system_are_not_mixed() -> None:
    rack = preset("two-rack", {"trays": 1})
    assert classes(place(rack, aggregated=2)) == []


def test_automorphisms() -> None:
    rack = load_rack("nvl72")
    assert is_automorphism(rack, swap(rack.within("tray-0"), rack.within("tray-9")))
    assert not is_automorphism(rack, swap(["gpu-0"], ["gpu-4"]))
    assert not is_automorphism(rack, {"gpu-0": "gpu-1"})


def same(one: Rack, graph: nx.Graph) -> bool:
    return dict(one.graph.nodes(data=True)) == dict(graph.nodes(data=True)) and all(
        one.graph.edges[edge] == graph.edges[edge] for edge in graph.edges
    )


def test_racks_come_from_node_link_json_and_graphml(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(nx.node_link_data(pair(), edges="links")))
    (tmp_path / "b.json").write_text(json.dumps(nx.node_link_data(pair(), edges="edges")))
    nx.write_graphml(pair(), tmp_path / "c.graphml")
    for file in ("a.json", "b.json", "c.graphml"):
        rack = load_rack(tmp_path / file)
        assert same(rack, pair()), file
        assert rack.name == file[0]


def test_the_bundled_racks_load() -> None:
    found = {path.stem: load_rack(path) for path in RACKS.glob("*.yaml")}
    assert {"nvl72-100gbe", "pair"} <= set(found)
    slow = found["nvl72-100gbe"].path("gpu-0", "frontend")
    assert slow is not None
    assert slow.bandwidth_GB_s == 3.125
    assert classes(place(found["pair"], prefill=1, decode=1)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preset: nvl73", "there is no rack 'nvl73'"),
        ("preset: nvl72\nnodes: []", "cannot go with a preset"),
        ("preset: nvl72\noptions: {tray: 4}", "no option 'tray'"),
        ("preset: nvl72\noptions: {trays: 0}", "trays is a whole number from 1"),
        ("preset: nvl72\noptions: {trays: 1.5}", "trays is a whole number from 1"),
        ("preset: nvl72\noptions: {hosts: 3}", "4 GPUs have no even share of 3 hosts"),
        ("options: {trays: 4}", "options are of a preset"),
        ("nods: []", "no key 'nods'"),
        ("[1, 2]", "a rack is a map"),
        ("rack: [", "is not YAML"),
        ("nodes: []", "there is no GPU"),
        ("nodes: [{kind: gpu}]", "a node needs a name"),
        ("nodes: [{name: a, kind: gpu}]", "must be part of one tray, not 0"),
        ("nodes: [{name: a, kind: gpx}]", "has the kind 'gpx'"),
        ("nodes: [{name: a, kind: gpu, parent: t}]", "the parent of a, 't', is not in it"),
        ("nodes: [{name: a, kind: tray, parent: a}]", "a is part of itself"),
        ("nodes: [{name: a, kind: tray}, {name: a, kind: gpu}]", "two nodes a"),
        ("nodes: [{name: a, kind: tray}]\nlinks: [{between: [a, b]}]", "between two of the nodes"),
        ("nodes: [{name: a, kind: tray}]\nlinks: [{between: [a, a]}]", "a is linked with itself"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ModelError, match=message) as error:
        load_rack(file)
    assert str(file) in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bandwidth_GB_s": None}, "needs bandwidth_GB_s, a number"),
        ({"bandwidth_GB_s": 0}, "cannot have bandwidth_GB_s 0"),
        ({"latency_us": -1}, "cannot have latency_us -1"),
        ({"latency_us": float("nan")}, "cannot have latency_us nan"),
        ({"kind": "rope"}, "has the kind 'rope'"),
    ],
)
def test_what_is_wrong_with_a_link_is_told(change: dict[str, object], message: str) -> None:
    graph = pair()
    graph.edges["gpu-0", "switch"].update(change)
    with pytest.raises(ModelError, match=f"rack pair: the link of .*{message}"):
        checked("pair", graph)


def test_a_graph_with_directions_is_refused() -> None:
    with pytest.raises(ModelError, match="no direction"):
        checked("pair", pair().to_directed())


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("a.json", "{", "is not JSON"),
        ("a.json", "[]", "node-link JSON is a map"),
        ("a.json", "{}", "is not node-link JSON"),
        ("a.graphml", "<graphml", "is not GraphML"),
        ("a.graphml", "<!DOCTYPE x><graphml/>", "has a document type"),
        ("a.txt", "", "a rack is read from"),
    ],
)
def test_other_files_that_are_no_racks(tmp_path: Path, file: str, text: str, message: str) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(ModelError, match=message):
        load_rack(tmp_path / file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such file"):
        load_rack(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({}, "there is no instance"),
        ({"prefill": 1}, "need each other"),
        ({"aggregated": -1}, "aggregated is a number of instances"),
        ({"aggregated": 9}, "there is no room left on hgx"),
        ({"aggregated": 1, "on": {"worker-1": "tray-0"}}, "there is no instance 'worker-1'"),
        ({"aggregated": 1, "on": {"worker-0": "tray-9"}}, "there is no tray 'tray-9'"),
        ({"aggregated": 1, "on": {"worker-0": ["gpu-99"]}}, "there is no GPU 'gpu-99'"),
        ({"aggregated": 1, "on": {"worker-0": ["gpu-0", "gpu-8"]}}, "GPUs of one tray, not of 2"),
        ({"aggregated": 1, "on": {"worker-0": []}}, "GPUs of one tray, not of 0"),
        (
            {"aggregated": 2, "on": {"worker-0": ["gpu-0"], "worker-1": ["gpu-0"]}},
            "worker-1: gpu-0 is taken",
        ),
    ],
)
def test_what_cannot_be_placed_is_told(counts: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        place(load_rack("hgx"), **counts)  # type: ignore[arg-type]
