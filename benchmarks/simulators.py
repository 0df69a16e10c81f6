"""One simulator on one workload, in a process of its own; prints what it took as JSON.

python benchmarks/simulators.py NAME REQUESTS [LONGER]

A step with prompts takes PREFILL_MS, one that decodes DECODE_MS, for all of them: what is measured
is the simulators, not their models of hardware. LONGER multiplies the outputs.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PREFILL_MS, DECODE_MS, KV_BYTES, CHUNK = 96.37, 13.1, 327_680, 2048
PREFILL, DECODE, GB_S = 12, 6, 3600
Row = tuple[float, int, int]


def workload(count: int, longer: int) -> list[Row]:
    """The published rack study's: arrival in seconds, prompt, output."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
    import serving  # noqa: PLC0415 (Vidur's process has no rackproof)

    return [(r.arrival_s, r.prompt, r.output * longer) for r in serving.workload(count)]


def rackproof(rows: Sequence[Row]) -> Callable[[], float]:
    """Disaggregated, as DynoSim has it: decode reserves room, then KV is sent."""
    from rackproof.model.performance import simulation as s  # noqa: PLC0415
    from rackproof.model.performance.hardware import Link  # noqa: PLC0415

    engine = s.FixedEngine(PREFILL_MS, DECODE_MS, kv_bytes_per_token=KV_BYTES)
    deployment = s.Disaggregated(
        prefill=s.Pool(engine, PREFILL),
        decode=s.Pool(engine, DECODE),
        hand_off=s.HandOff(Link("link", GB_S, 0), channels=len(rows)),
        prefill_tokens=1,
        prefill_routing="round-robin",
        decode_routing="round-robin",
        back_pressure=True,
    )
    requests = [s.Request(time, prompt, output + 1) for time, prompt, output in rows]
    return lambda: s.simulate(deployment, requests, warm_up=0).e2e.mean


def rackproof_aggregated(rows: Sequence[Row]) -> Callable[[], float]:
    """Aggregated, in chunks, as Vidur's Sarathi has it."""
    from rackproof.model.performance import simulation as s  # noqa: PLC0415

    engine = s.FixedEngine(PREFILL_MS, DECODE_MS)
    pool = s.Pool(engine, PREFILL + DECODE)
    deployment = s.Aggregated(pool=pool, chunk_tokens=CHUNK, routing="round-robin")
    requests = [s.Request(*row) for row in rows]
    return lambda: s.simulate(deployment, requests, warm_up=0).e2e.mean


def dynosim(rows: Sequence[Row]) -> Callable[[], float]:
    """NVIDIA's, of the packages ai-dynamo and ai-dynamo-runtime."""
    from dynamo.replay.api import run_trace_replay  # noqa: PLC0415

    def engine(kind: str) -> dict[str, Any]:
        times = {"type": "fixed", "prefill_ms": PREFILL_MS, "decode_ms": DECODE_MS}
        kv = {"kv_transfer_bytes_per_token": KV_BYTES, "kv_transfer_bandwidth": GB_S}
        return {"worker_type": kind, "timing_model": times, "max_num_batched_tokens": 65_536, **kv}

    path, block = Path(tempfile.mkdtemp()) / "trace.jsonl", 0
    with path.open("w") as file:
        for time_s, prompt, output in rows:
            first, block = block, block + -(-prompt // 512)
            line = {"timestamp": time_s * 1e3, "input_length": prompt, "output_length": output}
            print(json.dumps({**line, "hash_ids": list(range(first, block))}), file=file)
    given = {
        "num_prefill_workers": PREFILL,
        "num_decode_workers": DECODE,
        "prefill_engine_args": {"engine": {**engine("prefill"), "max_num_seqs": 1}},
        "decode_engine_args": {"engine": {**engine("decode"), "num_gpu_blocks": 1_000_000}},
        "trace_format": "mooncake",
        "trace_block_size": 512,
    }
    return lambda: run_trace_replay(str(path), **given).summary["mean_e2e_latency_ms"] / 1e3


def vidur(rows: Sequence[Row], metrics: bool = True) -> Callable[[], float]:
    """Microsoft's, of a checkout named by VIDUR_HOME; its step times replaced by the fixed ones."""
    sys.path.insert(0, os.environ["VIDUR_HOME"])
    os.environ["WANDB_MODE"] = "disabled"
    from vidur.execution_time_predictor import ExecutionTimePredictorRegistry  # noqa: PLC0415
    from vidur.simulator import Simulator  # noqa: PLC0415

    ExecutionTimePredictorRegistry.get = classmethod(lambda cls, *a, **k: Fixed())  # noqa: ARG005
    simulator = Simulator(vidur_setting(rows, metrics, Path(tempfile.mkdtemp())))
    requests = [event._request for _, event in simulator._event_queue]

    def run() -> float:
        simulator.run()
        return sum(r.completed_at - r.arrived_at for r in requests) / len(requests)

    return run


class Taken:
    """What a step takes, as Vidur asks."""

    def __init__(self, seconds: float) -> None:
        self.total_time = self.model_time = seconds
        self.model_time_ms = seconds * 1e3


class Fixed:
    """Vidur's predictor."""

    def get_execution_time(self, batch: Any, stage: int) -> Taken:  # noqa: ARG002
        """The same for all batches of a kind."""
        done = [request.is_prefill_complete for request in batch.requests]
        milliseconds = (not all(done)) * PREFILL_MS + any(done) * DECODE_MS
        return Taken(milliseconds / 1e3)


def vidur_setting(rows: Sequence[Row], metrics: bool, folder: Path) -> Any:
    """As many replicas as there are instances, in turn, with Sarathi's chunks."""
    from vidur import config as c  # noqa: PLC0415
    from vidur.config.config import ClusterConfig, ReplicaConfig  # noqa: PLC0415

    trace = folder / "trace.csv"
    with trace.open("w", newline="") as file:
        header = ("arrived_at", "num_prefill_tokens", "num_decode_tokens")
        csv.writer(file).writerows([header, *rows])
    kept = {f"store_{name}_metrics": metrics for name in ("request", "batch", "utilization")}
    off = dict.fromkeys(("write_json_trace", "enable_chrome_trace", "store_plots"), False)
    chunks = c.SarathiSchedulerConfig(batch_size_cap=256, chunk_size=CHUNK, num_blocks=1_000_000)
    return c.SimulationConfig(
        log_level="error",
        cluster_config=ClusterConfig(
            num_replicas=PREFILL + DECODE,
            replica_config=ReplicaConfig(model_name="meta-llama/Meta-Llama-3-8B"),
            global_scheduler_config=c.RoundRobinGlobalSchedulerConfig(),
            replica_scheduler_config=chunks,
        ),
        request_generator_config=c.TraceRequestGeneratorConfig(
            trace_file=str(trace), max_tokens=200_000
        ),
        metrics_config=c.MetricsConfig(
            write_metrics=metrics, output_dir=str(folder), cache_dir=str(folder), **kept, **off
        ),
    )


def vidur_without_metrics(rows: Sequence[Row]) -> Callable[[], float]:
    """The same, with all its metrics off."""
    return vidur(rows, metrics=False)


def main(name: str, rows: Sequence[Row]) -> None:
    """Measure the run alone: not the imports, nor making the workload."""
    run = globals()[name](rows)
    cpu, wall = time.process_time(), time.perf_counter()
    mean_s = run()
    taken = {
        "requests": len(rows),
        "cpu_s": time.process_time() - cpu,
        "wall_s": time.perf_counter() - wall,
        "peak_MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "mean_stay_s": mean_s,
    }
    print(json.dumps(taken), flush=True)
    os._exit(0)  # Vidur writes plots when it ends


if __name__ == "__main__":
    # The workload comes from a file where this Python has no rackproof.
    given = Path(sys.argv[2])
    rows = json.loads(given.read_text()) if given.exists() else workload(*map(int, sys.argv[2:4]))
    main(sys.argv[1], [tuple(row) for row in rows])
