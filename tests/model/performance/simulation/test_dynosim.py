"""The same to the digit as NVIDIA's DynoSim, where steps take fixed times."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from serving import workload

from rackproof.model.performance.hardware import Link
from rackproof.model.performance.simulation import (
    Disaggregated,
    FixedEngine,
    HandOff,
    Pool,
    Request,
    simulate,
)

replay = pytest.importorskip(
    "dynamo.replay.api", reason="DynoSim is not installed (ai-dynamo, ai-dynamo-runtime: no deps)"
)

ENGINE = FixedEngine(prefill_ms=96.37, decode_ms=13.1)


def dynosim(
    requests: Sequence[Request], prefill: int, decode: int, link: Link, folder: Path
) -> list[dict[str, Any]]:
    """What became of each request, as DynoSim has it."""
    trace, block = folder / "trace.jsonl", 0
    with trace.open("w") as file:
        for request in requests:
            blocks = list(range(block, block := block - -request.prompt // 512 + 1))
            line = {
                "timestamp": request.arrival_s * 1e3,
                "input_length": request.prompt,
                "output_length": request.output,
                "hash_ids": blocks,
            }
            print(json.dumps(line), file=file)
    run = replay.run_trace_replay(
        str(trace),
        num_prefill_workers=prefill,
        num_decode_workers=decode,
        prefill_engine_args={"engine": {**_engine("prefill", link), "max_num_seqs": 1}},
        decode_engine_args={"engine": _engine("decode", link)},
        trace_format="mooncake",
        trace_block_size=512,
        capture_per_request=True,
    )
    return sorted(run.per_request, key=lambda told: told["arrival_time_ms"])


def _engine(kind: str, link: Link) -> dict[str, Any]:
    times = {"type": "fixed", "prefill_ms": ENGINE.prefill_ms, "decode_ms": ENGINE.decode_ms}
    return {
        "worker_type": kind,
        "timing_model": times,
        "kv_transfer_bytes_per_token": int(ENGINE.kv_bytes_per_token),
        "kv_transfer_bandwidth": link.bandwidth_GB_s,
        "max_num_batched_tokens": 65_536,
    }


def ours(requests: Sequence[Request], prefill: int, decode: int, link: Link) -> Any:
    """In its terms: prefill gives no token, so that there is one more to decode; decode reserves
    room between two steps, and then KV is sent, on a link that has no latency and no queue.
    """
    setting = Disaggregated(
        prefill=Pool(ENGINE, prefill),
        decode=Pool(ENGINE, decode),
        hand_off=HandOff(link, channels=len(requests)),
        prefill_tokens=1,
        prefill_routing="round-robin",
        decode_routing="round-robin",
        back_pressure=True,
    )
    longer = [Request(r.arrival_s, r.prompt, r.output + 1) for r in requests]
    return simulate(setting, longer, warm_up=0).records


@pytest.mark.parametrize(
    ("bandwidth", "ttft_ms"), [(3600, 109.743067), (200, 114.3852), (12.5, 188.1132)]
)
def test_one_request(bandwidth: float, ttft_ms: float, tmp_path: Path) -> None:
    link, requests = Link("link", bandwidth, 0), [Request(0.0, 3000, 20)]
    (theirs,) = dynosim(requests, 1, 1, link, tmp_path)
    (record,) = ours(requests, 1, 1, link)
    assert round(theirs["ttft_ms"], 6) == ttft_ms
    assert round(record.decoded_s * 1e3, 6) == ttft_ms
    assert record.finished_s * 1e3 == pytest.approx(theirs["e2e_latency_ms"], abs=1e-9)


def second(told: dict[str, Any], all_told: list[dict[str, Any]]) -> bool:
    """Whether another asked the same decode instance for room in the same step, earlier.

    DynoSim then takes the second one a step later; we have room for both.
    """
    return any(
        other["decode_worker_idx"] == told["decode_worker_idx"]
        and other["source_held_ms"] < told["source_held_ms"] < other["destination_reserved_ms"]
        and other["destination_reserved_ms"] - other["source_held_ms"] < ENGINE.decode_ms
        for other in all_told
    )


def check(requests: Sequence[Request], prefill: int, decode: int, link: Link, folder: Path) -> None:
    theirs = dynosim(requests, prefill, decode, link, folder)
    start, late = requests[0].arrival_s, 0
    for record, told in zip(ours(requests, prefill, decode, link), theirs, strict=True):
        later_ms = ENGINE.decode_ms if second(told, theirs) else 0.0
        late += later_ms > 0
        expected = [
            told["source_held_ms"],
            told["first_token_ms"] - later_ms,
            told["terminal_time_ms"] - later_ms,
        ]
        times = record.prefilled_s, record.decoded_s, record.finished_s
        assert [(time - start) * 1e3 for time in times] == pytest.approx(expected, abs=1e-6)
    assert late < 0.05 * len(requests)


@pytest.mark.parametrize(("prefill", "decode"), [(12, 6), (14, 4), (9, 3)])
def test_the_study(prefill: int, decode: int, tmp_path: Path) -> None:
    check(list(workload(500)), prefill, decode, Link("link", 3600, 0), tmp_path)


@pytest.mark.parametrize("seed", range(5))
def test_any_requests(seed: int, tmp_path: Path) -> None:
    chance, time, requests = random.Random(seed), 0.0, []
    for _ in range(100):
        time += chance.expovariate(20)
        requests.append(Request(time, chance.randint(1, 8000), chance.randint(2, 300)))
    check(requests, 3, 2, Link("link", 3600, 0), tmp_path)
