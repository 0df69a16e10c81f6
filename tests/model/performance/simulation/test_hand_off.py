"""The hand-off: channels, layers, room at decode."""

import random
from math import inf

import pytest
from attrs import evolve
from serving import GB200, LINKS, study, workload

from rackproof.model.performance.hardware import Link
from rackproof.model.performance.simulation import HandOff, Pool, Request, simulate
from rackproof.model.performance.simulation.channels import Channels


def layer_by_layer(
    now: float, end: float, free: float, size: float, layers: int, link: Link
) -> float:
    """Each layer by itself: made, then sent behind the one before it; when the last is there."""
    made_s = (end - now) / (layers - 1) if layers > 1 else 0.0
    sent = free
    for layer in range(layers):
        sent = max(sent, now + layer * made_s) + size / layers / link.bytes_per_s
    return sent + link.latency_s


@pytest.mark.parametrize("seed", range(50))
def test_streams_are_sent_layer_by_layer(seed: int) -> None:
    chance = random.Random(seed)
    link = Link("any", chance.choice([0.1, 1, 100]), chance.choice([0, 1000]))
    channels, free, now = Channels(1), 0.0, 0.0
    for _ in range(10):
        layers, size = chance.choice([1, 2, 80]), chance.uniform(1e6, 1e9)
        now += chance.expovariate(2)
        end = now + (chance.expovariate(10) if layers > 1 else 0.0)
        expected = layer_by_layer(now, end, free, size, layers, link)
        told = channels.stream(now, end, size, layers, link)
        assert told == pytest.approx(expected, rel=1e-12)
        free = told


def test_what_begins_at_infinity_never_arrives_and_takes_nothing() -> None:
    channels, link = Channels(2), Link("slow", 1, 0, 1)
    assert channels.stream(inf, 5.0, 1e9, 80, link) == channels.send(inf, 1e9, link) == inf
    assert (channels.busy_s, channels.joules) == (0, 0)


def test_channels_are_taken_in_the_order_they_get_free() -> None:
    channels, link = Channels(2), Link("slow", 1, 0)
    assert [channels.send(0.0, size * 1e9, link) for size in (3, 1, 1, 5)] == [3, 1, 2, 7]


@pytest.mark.parametrize("link", LINKS)
def test_streaming_hides_most_of_a_hand_off(link: str) -> None:
    stored, streamed = (
        simulate(study(12, 6, hand_off=HandOff(LINKS[link], streaming=streaming)), workload(300))
        for streaming in (False, True)
    )
    assert streamed.hand_off.mean < stored.hand_off.mean
    piece = 3000 * GB200.kv_bytes_per_token / 80 / LINKS[link].bytes_per_s
    if link != "100GbE":  # over which a layer takes longer than its prefill
        assert streamed.hand_off.p50 < 3 * piece + LINKS[link].latency_s
    assert [r.prefilled_s for r in streamed.records] == [r.prefilled_s for r in stored.records]


def test_how_much_channels_are_taken() -> None:
    link, given = LINKS["100GbE"], list(workload(200))
    run = simulate(study(6, 6, hand_off=HandOff(link, channels=2)), given, warm_up=0)
    seconds = sum(link.seconds(r.prompt * GB200.kv_bytes_per_token) for r in given)
    assert run.hand_off_utilisation * 2 * run.horizon_s == pytest.approx(seconds)
    assert run.hand_off.mean > 2 * seconds / 200  # they wait


def test_one_request_that_is_streamed() -> None:
    request, link = Request(0.0, 3000, 10), LINKS["4x400G"]
    setting = study(1, 1, hand_off=HandOff(link, streaming=True))
    (record,) = simulate(setting, [request], warm_up=0).records
    seconds = GB200.prefill([(3000, 0)]).seconds
    piece = 3000 * GB200.kv_bytes_per_token / 80 / link.bytes_per_s
    assert piece < seconds / 80
    assert record.handed_over_s == pytest.approx(seconds + piece + link.latency_s, rel=1e-12)


def test_decode_that_is_full_holds_up_prefill() -> None:
    """With back-pressure KV is never in more places than there are, and waits at prefill."""
    small = evolve(GB200, gpu=evolve(GB200.gpu, memory_GB=199.5 / 4))  # for about 110,000 tokens
    given = list(workload(400))
    free, held = (
        simulate(
            evolve(study(6, 2, back_pressure=pressure), decode=Pool(small, 2)), given, warm_up=0
        )
        for pressure in (False, True)
    )
    assert held.completed == free.completed == 400
    assert held.pool("decode").kv_peak <= 1
    assert held.pool("prefill").kv_mean > 2 * free.pool("prefill").kv_mean
    assert held.hand_off.p99 > 100 * free.hand_off.p99
    assert free.decode_wait.p99 > 100 * held.decode_wait.p99
    assert free.pool("decode").blocked_kv > 0.3


def test_paths_of_their_own() -> None:
    """Each prefill instance is near one decode instance; told the cost, routing stays near."""
    near, far = LINKS["nvlink"], Link("far", 1, 1000)
    paths = ((near, far), (far, near))
    requests = [Request(float(i), 3000, 20) for i in range(20)]
    blind, seeing = (
        simulate(study(2, 2, paths=paths, decode_routing=routing), requests, warm_up=0)
        for routing in ("round-robin", "estimated-completion")
    )
    assert blind.hand_off.most == pytest.approx(far.seconds(3000 * 327_680))
    assert seeing.hand_off.most == pytest.approx(near.seconds(3000 * 327_680))
