"""Workloads: figures of the published study, samples of published traces, and broken ones."""

import gzip
import math
import statistics
import tracemalloc
from itertools import islice, pairwise
from pathlib import Path

import pytest

from rackproof.model.kernel import ModelError
from rackproof.model.performance.workload import (
    Arrivals,
    Lengths,
    Replayed,
    Synthetic,
    azure_rows,
    mooncake_rows,
)
from rackproof.model.performance.workload.records import LONGEST_LINE

DATA = Path(__file__).parents[3] / "scenarios" / "performance" / "data"
CONV = DATA / "azure-conv-200.csv"
MOONCAKE = DATA / "mooncake-synthetic-200.jsonl"
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
ROW = "2023-11-16 18:17:03.9799600,4808,10\n"


def study(**changes) -> Synthetic:
    parts = {"arrivals": Arrivals(90), "prompt": Lengths(3000), "output": Lengths(600)}
    return Synthetic(**{**parts, "requests": 1500, **changes})


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# Synthetic


def test_the_workload_of_the_study_to_the_last_digit() -> None:
    requests = list(study())
    assert [(r.arrival_s, r.prompt, r.output) for r in requests[:3]] == [
        (0.0016032340456612133, 1811, 477),
        (0.018876421514882988, 4335, 458),
        (0.02176262762536945, 4658, 475),
    ]
    assert requests[-1].arrival_s == 16.83232573525625
    assert sum(r.prompt for r in requests) == 4_522_974
    assert sum(r.output for r in requests) == 889_156


def test_it_is_the_same_every_time_and_another_with_another_seed() -> None:
    workload = study()
    assert list(workload) == list(workload)
    assert list(workload) != list(study(seed=2))


@pytest.mark.parametrize("cv", [0, 0.5, 1, 2])
def test_gaps_have_the_mean_and_the_deviation_asked_for(cv: float) -> None:
    requests = list(study(arrivals=Arrivals(10, cv), requests=20_000))
    gaps = [b.arrival_s - a.arrival_s for a, b in pairwise(requests)]
    assert statistics.mean(gaps) == pytest.approx(0.1, rel=0.05)
    assert statistics.pstdev(gaps) == pytest.approx(0.1 * cv, rel=0.05, abs=1e-9)


def test_lengths_that_do_not_vary_and_lengths_that_are_clipped() -> None:
    assert {r.prompt for r in study(prompt=Lengths(3000, 0))} == {3000}
    clipped = {r.prompt for r in study(prompt=Lengths(90, 3, longest=100))}
    assert min(clipped) >= 1
    assert max(clipped) == 100


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Arrivals(-1), "rate_per_s is positive, not -1"),
        (lambda: Arrivals(0), "rate_per_s is positive"),
        (lambda: Arrivals(math.nan), "rate_per_s is a number, not nan"),
        (lambda: Arrivals(1, math.inf), "cv is a number, not inf"),
        (lambda: Lengths(0), "mean is positive"),
        (lambda: Lengths(0.5), "the mean is from 1 to 32,768, not 0.5"),
        (lambda: Lengths(40_000), "the mean is from 1 to 32,768, not 40000"),
        (lambda: Lengths(3000, -1), "cv is not negative"),
        (lambda: study(requests=0), "requests is positive"),
        (lambda: study(requests=1.5), "requests is a whole number"),
    ],
)
def test_what_is_no_workload(make, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


# Traces


def test_the_samples_have_the_lengths_of_what_they_were_taken_from() -> None:
    samples = {
        "azure-code-200.csv": (azure_rows, 414_215, 4_907, 199.089585),
        "azure-conv-200.csv": (azure_rows, 180_695, 47_050, 61.263537),
        "mooncake-synthetic-200.jsonl": (mooncake_rows, 2_663_480, 38_364, 58.501),
    }
    for name, (rows, prompt, output, last) in samples.items():
        requests = list(Replayed(DATA / name, rows))
        assert len(requests) == 200
        assert sum(r.prompt for r in requests) == prompt
        assert sum(r.output for r in requests) == output
        assert requests[0].arrival_s == 0
        assert requests[-1].arrival_s == last


def test_seven_digits_of_a_second_are_kept() -> None:
    first, second = islice(azure_rows(CONV), 2)
    assert second.time_ns - first.time_ns == 4_314_579_000  # 46.6805900 to 50.9951690


def test_blocks_of_a_prompt_are_read() -> None:
    first = next(iter(Replayed(MOONCAKE, mooncake_rows)))
    assert first.blocks == tuple(range(79))
    assert len(first.blocks) == math.ceil(first.prompt / 512)


def test_twice_as_fast_is_half_as_long() -> None:
    plain, fast = (Replayed(CONV, azure_rows, speed) for speed in (1, 2))
    assert [r.arrival_s for r in fast] == [r.arrival_s / 2 for r in plain]


def test_a_repeated_trace_goes_on_seamlessly() -> None:
    once = [r.arrival_s for r in Replayed(CONV, azure_rows)]
    twice = [r.arrival_s for r in Replayed(CONV, azure_rows, passes=None, requests=500)]
    assert len(twice) == 500
    assert twice[:200] == once
    gap = twice[200] - twice[199]
    assert gap == pytest.approx(once[-1] / 199)
    assert twice[200:400] == pytest.approx([time + twice[200] for time in once])
    assert twice == sorted(twice)


def test_a_repeated_trace_shares_no_prefix_with_itself() -> None:
    requests = list(Replayed(MOONCAKE, mooncake_rows, passes=2))
    first, second = (
        {b for r in half for b in r.blocks} for half in (requests[:200], requests[200:])
    )
    assert len(first) == len(second)
    assert not first & second


@pytest.mark.parametrize(
    ("passes", "requests", "there"),
    [(1, None, 200), (1, 7, 7), (1, 300, 200), (2, None, 400), (2, 300, 300), (None, 450, 450)],
)
def test_how_many_requests_there_are(passes, requests, there: int) -> None:
    workload = Replayed(CONV, azure_rows, passes=passes, requests=requests)
    assert len(workload) == len(list(workload)) == there


@pytest.mark.parametrize("cv", [1e-200, 9e-7, 1001, 1e11])
@pytest.mark.parametrize("kind", [Arrivals, Lengths])
def test_a_variation_that_no_float_can_tell(kind: type, cv: float) -> None:
    with pytest.raises(ModelError, match="cv is 0, or from 1e-06 to 1,000; it is"):
        kind(100.0, cv)


@pytest.mark.parametrize("cv", [0, 1e-6, 1000])
def test_the_least_and_the_most_variation_can_be_drawn(cv: float) -> None:
    lengths = Lengths(100.0, cv)
    for request in Synthetic(Arrivals(5.0, cv), lengths, lengths, 200):
        assert 0 <= request.arrival_s < math.inf
        assert 1 <= request.prompt <= lengths.longest


def test_a_repetition_without_end() -> None:
    with pytest.raises(ModelError, match="is repeated without end; say how many requests"):
        Replayed(CONV, azure_rows, passes=None)


def test_a_trace_of_one_request_can_be_repeated(tmp_path: Path) -> None:
    one = written(tmp_path / "one.csv", HEADER + ROW)
    assert [r.arrival_s for r in Replayed(one, azure_rows, passes=3)] == [0, 0, 0]


def test_a_packed_trace_is_the_same_trace(tmp_path: Path) -> None:
    packed = tmp_path / "conv.csv.gz"
    packed.write_bytes(gzip.compress(CONV.read_bytes()))
    assert list(azure_rows(packed)) == list(azure_rows(CONV))


def test_rows_are_read_as_they_are_wanted(tmp_path: Path) -> None:
    broken = written(tmp_path / "late.csv", HEADER + ROW * 3 + "nonsense\n")
    assert len(list(islice(azure_rows(broken), 3))) == 3


def test_memory_does_not_grow_with_the_requests() -> None:
    peaks = []
    for many in (1_000, 10_000):
        tracemalloc.start()
        for _ in Replayed(CONV, azure_rows, passes=None, requests=many):
            pass
        for _ in study(requests=many):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] < 1e6


def test_other_columns_orders_and_offsets(tmp_path: Path) -> None:
    text = "x,GeneratedTokens,TIMESTAMP,ContextTokens\n,5,2024-05-10T00:00:01.5+02:00,7\n"
    (row,) = azure_rows(written(tmp_path / "other.csv", text))
    assert (row.prompt, row.output) == (7, 5)
    assert row.time_ns % 10**9 == 500_000_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.csv:1: there is no column TIMESTAMP, ContextTokens, GeneratedTokens"),
        (HEADER, "x.csv: has no requests"),
        ("TIMESTAMP,Tokens\n", "x.csv:1: there is no column ContextTokens, GeneratedTokens"),
        (HEADER + ROW + ROW.replace("4808", "-3"), "x.csv:3: ContextTokens: '-3' is not a whole"),
        (HEADER + ROW.replace("4808", "nan"), "x.csv:2: ContextTokens: 'nan' is not"),
        (HEADER + ROW.replace("4808", "0"), "x.csv:2: ContextTokens: '0' is not"),
        (HEADER + ROW.replace("4808", "9" * 5000), r"x.csv:2: ContextTokens: '9+\.\.\. is not"),
        (HEADER + ROW.replace("4808", "٤"), "x.csv:2: ContextTokens: '٤' is not"),
        (HEADER + ROW.replace("10\n", "1.5\n"), "x.csv:2: GeneratedTokens: '1.5' is not"),
        (HEADER + "2023-11-16 18:17:03,1\n", "x.csv:2: has 2 columns"),
        (HEADER + ROW.replace("2023-11-16", "2023-13-16"), "x.csv:2: TIMESTAMP: '2023-13-16"),
        (HEADER + ROW.replace("2023-11-16 ", ""), "x.csv:2: TIMESTAMP: '18:17:03.9799600' is not"),
        (HEADER + ROW + ROW.replace(":03.", ":02."), "x.csv:3: is 1 s earlier than the row before"),
        (HEADER + "x" * LONGEST_LINE, "x.csv:2: is longer than 1 MiB"),
        (HEADER + ROW + '"' + "x" * 200_000 + '"', "x.csv:3: is not CSV"),
    ],
)
def test_a_broken_csv(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        list(azure_rows(written(tmp_path / "x.csv", text)))


GOOD = '{"timestamp": 5, "input_length": 600, "output_length": 2, "hash_ids": [0, 1]}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.jsonl: has no requests"),
        (GOOD + "{", "x.jsonl:2: is not JSON"),
        (GOOD + "[" * 100_000, "x.jsonl:2: is not JSON"),
        ("[1]\n", "x.jsonl:1: is not a JSON object"),
        (GOOD.replace('"timestamp": 5, ', ""), "x.jsonl:1: timestamp is missing"),
        (GOOD.replace(": 5", ": NaN"), "x.jsonl:1: timestamp: nan is not a number of milli"),
        (GOOD.replace(": 5", ": -5"), "x.jsonl:1: timestamp: -5 is not"),
        (GOOD.replace(": 5", ": 1e999"), "x.jsonl:1: timestamp: inf is not"),
        (GOOD.replace(": 5", ": 1e305"), "x.jsonl:1: timestamp: 1e\\+305 is not a number of milli"),
        (
            GOOD.replace(": 5", ": 1" + "0" * 400),
            r"x.jsonl:1: timestamp: 10+\.\.\. is not a number",
        ),
        (GOOD.replace(": 5", ": 1" + "0" * 5000), "x.jsonl:1: is not JSON"),
        (GOOD.replace("600", "true"), "x.jsonl:1: input_length: True is not a whole number"),
        (GOOD.replace("600", "6.5"), "x.jsonl:1: input_length: 6.5 is not a whole number"),
        (GOOD.replace("[0, 1]", "[0]"), "x.jsonl:1: hash_ids: '1 identifiers' is not one for each"),
        (GOOD.replace("[0, 1]", "[0, -1]"), "x.jsonl:1: hash_ids: .* is not a list of whole"),
        (GOOD + GOOD.replace(": 5", ": 4"), "x.jsonl:2: is 0.001 s earlier"),
    ],
)
def test_a_broken_jsonl(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        list(mooncake_rows(written(tmp_path / "x.jsonl", text)))


def test_files_that_are_no_traces(tmp_path: Path) -> None:
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(CONV.read_bytes())[:-400])
    (tmp_path / "bent.csv.gz").write_bytes(b"no gzip at all")
    (tmp_path / "latin.csv").write_bytes(HEADER.encode() + b"\xe9\n")
    for name, message in (
        ("none.csv", "there is no such trace"),
        (".", "is no regular file"),
        ("cut.csv.gz", "cannot be read"),
        ("bent.csv.gz", "cannot be read"),
        ("latin.csv", "is no text"),
    ):
        with pytest.raises(ModelError, match=message):
            list(azure_rows(tmp_path / name))
