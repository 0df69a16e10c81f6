"""Records read: what is observed in real captures, and what becomes of damaged ones."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rackproof.model.kernel import Observation
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.recorded import reader
from rackproof.scenarios.recorded.expressions import CHANGES, SOURCES, TESTS, Known, path
from rackproof.scenarios.recorded.formats import FORMATS, decode
from rackproof.scenarios.recorded.lines import lines
from rackproof.scenarios.recorded.mapping import (
    FILE_KEYS,
    ROOT_KEYS,
    RULE_KEYS,
    UNITS,
    bundled,
    find_mapping,
    read_mapping,
)
from rackproof.scenarios.recorded.neutral import neutral_line
from rackproof.scenarios.recorded.noted import Doubt, Noted
from rackproof.scenarios.recorded.reader import MOST_DOUBTS, read, recognise
from rackproof.scenarios.worlds import InputError

CAPTURES = Path(__file__).parents[1] / "data" / "dynamo-1.6.1"
OTHER = "otlp_traces.json"
NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())


def observed(path: Path, mapping: str = "dynamo", **options: object) -> list[Noted]:
    doubts: list[Doubt] = []
    notes = list(read(path, find_mapping(mapping), doubts.append, options))
    assert doubts == []
    return notes


def doubted(path: Path, mapping: str = "dynamo") -> tuple[list[Noted], list[str]]:
    doubts: list[Doubt] = []
    notes = list(read(path, find_mapping(mapping), doubts.append))
    return notes, [
        f"{Path(doubt.place.file).name}:{doubt.place.line}: {doubt.words}" for doubt in doubts
    ]


def told(notes: list[Noted], witness: str, about: str | None = None) -> list[tuple[object, ...]]:
    """Kinds and values of what a witness noted, of the requests whose names begin so."""
    return [
        (noted.observation.kind, *noted.observation.values.values())
        for noted in notes
        if noted.observation.witness == witness and (noted.about or "").startswith(about or "")
    ]


def complete(notes: list[Noted]) -> list[tuple[str | None, object]]:
    facts = [noted for noted in notes if noted.observation.kind == "complete"]
    return [(noted.about and noted.about[:8], noted.observation.values["by"]) for noted in facts]


# -- real captures ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_capture_is_read_without_a_doubt(name: str) -> None:
    notes = observed(CAPTURES / name)
    assert {"client", "frontend", "facts"} <= {noted.observation.witness for noted in notes}
    assert recognise(CAPTURES / name).name == "dynamo"


def test_a_kill_without_a_retry() -> None:
    notes = observed(CAPTURES / "basic_SIGKILL_lim0_w2_round-robin")
    assert told(notes, "operator") == [("crash", "w0")]
    client = told(notes, "client", "1a5485e6")
    assert client == [("token",)] * 20 + [("error",), ("end",)]  # random tokens: no positions
    assert told(notes, "frontend", "1a5485e6") == [
        ("dispatch", 0, "w0", 0),
        ("failed", 0, "w0", "disconnected"),
        ("over", "failed"),
    ]
    (error,) = [noted.observation for noted in notes if noted.observation.kind == "error"]
    assert error.aside == {"code": 503}
    assert error.place is not None
    assert error.place.file.endswith("sse_s0.jsonl")
    assert error.place.line == 23
    assert error.time == 1795963973.5848606
    facts = told(notes, "facts")
    assert facts.count(("limit", 0)) == 2
    assert ("worker", "w1", "aggregated", "16900349499355034311") in facts
    assert complete(notes) == [(None, "operator"), (None, "frontend"), ("1a5485e6", "client")]


def test_an_answer_without_an_id_is_known_by_what_its_client_called_it(tmp_path: Path) -> None:
    """Unless two requests are called so."""
    sent = {"ts": 1.0, "request": {"max_tokens": 2}}
    lines_of_log = [
        {"request_id": "r0", "x_request_id": "mine"},
        {"request_id": "r1", "x_request_id": "same"},
        {"request_id": "r2", "x_request_id": "same", "request.outcome": "error"},
    ]
    answer = {"time": "2026-11-30T10:00:00Z", "message": "http response sent", "status": "503"}
    log = "".join(json.dumps({**answer, **line}) + "\n" for line in lines_of_log)
    (tmp_path / "fe.log").write_text(log)
    for tag, called in (("a", "mine"), ("b", "same"), ("c", "nobody's")):
        said = [{**sent, "x_request_id": called}, {"ts": 1.1, "status": 503}, {"ts": 1.2, "end": 1}]
        lines_of_client = "".join(json.dumps(line) + "\n" for line in said)
        (tmp_path / f"sse_{tag}.jsonl").write_text(lines_of_client)
    notes, _ = doubted(tmp_path)
    assert told(notes, "frontend", "r0") == [("over", "failed")]
    assert told(notes, "frontend", "r2") == []  # it is told by another line
    clients = {noted.about for noted in notes if noted.observation.witness == "client"}
    assert clients == {"r0", str(tmp_path / "sse_b.jsonl"), "c"}


def test_two_kills_with_tokens_of_known_positions() -> None:
    notes = observed(CAPTURES / "kills_lim1_w4_cw_round-robin")
    assert told(notes, "client", "1dd04d2e") == [
        *(("token", position) for position in range(20)),
        ("error",),
        ("end",),
    ]
    assert told(notes, "w1") == [("started", 0), *(("emitted", p) for p in range(10))]
    assert told(notes, "w3") == [("started", 10), *(("emitted", p) for p in range(10, 20))]
    assert told(notes, "frontend", "1dd04d2e") == [
        ("dispatch", 0, "w1", 0),
        ("failed", 0, "w1", "disconnected"),
        ("dispatch", 1, "w3", 10),
        ("failed", 1, "w3", "disconnected"),
        ("over", "failed"),
    ]
    over = [noted.observation for noted in notes if noted.observation.kind == "over"]
    assert over[0].aside == {"worker": "w1", "tokens": 20}  # it was w3 in the end


def test_a_worker_that_was_never_told_of_before_it_failed() -> None:
    notes = observed(CAPTURES / "zombie_lim3_tmo3_round-robin")
    assert told(notes, "operator") == [("hang", "w1"), ("resume", "w1")]
    assert told(notes, "discovery") == [("removed", "w1")]
    assert told(notes, "frontend", "af8c606f") == [
        ("dispatch", 0, "w1", 0),
        ("failed", 0, "w1", "disconnected"),
        ("dispatch", 1, "w0", 0),
        ("done", 1, "w0"),
        ("over", "done"),
    ]


def test_a_request_in_two_halves() -> None:
    notes = observed(CAPTURES / "disagg_decode_SIGKILL_lim3_b1_kv_n1")
    assert told(notes, "frontend", "101464c5") == [
        ("dispatch", 0, "p1", 0),
        ("decode", 0, "d0", 0),
        ("failed", 0, "d0", "disconnected"),
        ("dispatch", 1, "p0", 15),
        ("decode", 1, "d1", 15),
        ("done", 1, "d1"),
        ("over", "done"),
    ]
    roles = {values[1]: values[2] for values in told(notes, "facts") if values[0] == "worker"}
    assert roles == {"p0": "prefill", "p1": "prefill", "d0": "decode", "d1": "decode"}


def test_a_replay_begins_again_and_positions_say_so() -> None:
    notes = observed(CAPTURES / "misc_replay_kill")
    tokens = [position for _, position in told(notes, "client")[:80]]
    assert tokens == [*range(20), *range(60)]
    assert ("usage", 27, 80) in told(notes, "client")
    other = observed(CAPTURES / "misc_replay_kill", **{"replay-base": 5990})
    assert told(other, "client")[0] == ("token", 10)


def test_spans_say_what_the_log_says() -> None:
    """Two ways to the same: the frontend's log, and its spans by OTLP."""
    log = observed(CAPTURES / "observability")
    spans = observed(CAPTURES / "observability", "otlp")
    for about in {noted.about for noted in log if noted.observation.witness == "frontend"}:
        assert about is not None
        assert told(spans, "frontend", about) == told(log, "frontend", about)
    assert told(spans, "client") == told(log, "client")


def test_a_log_without_spans_says_the_same(tmp_path: Path) -> None:
    """What the ends of attempts tell is told by what comes next, too."""
    name = "kills_lim3_w5_cw_kv"
    shutil.copytree(CAPTURES / name, tmp_path / name)
    log = tmp_path / name / "fe.log"
    kept = [line for line in log.read_text().splitlines(True) if "route request failed" not in line]
    log.write_text("".join(kept))
    less, whole = observed(tmp_path / name), observed(CAPTURES / name)
    assert told(less, "frontend") == told(whole, "frontend")


def test_a_request_trace_tells_the_client_asked_for() -> None:
    notes = observed(CAPTURES / "observability" / "request_trace.jsonl", "request-trace")
    asked = [values for values in told(notes, "facts") if values[0] == "asked"]
    assert [values[1] for values in asked] == [20, 10, 30, 40]
    assert ("traced", "6717741585988087310", 20, 105) in told(notes, "facts")


def test_compressed_files_say_the_same(tmp_path: Path) -> None:
    name = "fault_incomplete"
    for file in (CAPTURES / name).iterdir():
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert told(observed(tmp_path), "client") == told(observed(CAPTURES / name), "client")


def test_a_spilled_stream_of_events_as_curl_writes_it(tmp_path: Path) -> None:
    mapping = tmp_path / "curl.yaml"
    mapping.write_text(
        "rackproof: 1\nfiles:\n  client:\n    name: '{tag}.sse'\n    format: sse\n"
        "    one-at-a-time:\n      begins: {data.never: {present: true}}\n"
        "      about: data.id\n      otherwise: {file: tag}\n    rules:\n"
        "      - {when: {data.choices.0.delta.content: {present: true}}, observe: client/token}\n"
        "      - {when: {data: '[DONE]'}, observe: client/end}\n"
    )
    line = 'data: {"id": "r1", "choices": [{"delta": {"content": "Hello"}}]}\n\n'
    (tmp_path / "a.sse").write_text(f": hello\n{line}{line}data: [DONE]\n\n")
    doubts: list[Doubt] = []
    notes = list(read(tmp_path, read_mapping(mapping), doubts.append))
    assert [(noted.about, noted.observation.kind) for noted in notes] == [
        ("r1", "token"),
        ("r1", "token"),
        ("r1", "end"),
    ]
    assert doubts == []


def test_what_an_oracle_worker_is_told_to_do(tmp_path: Path) -> None:
    said = [
        {"ev": "start", "id": "a", "n_in": 6, "already": 0},
        {"ev": "tok", "id": "a", "tok": 2000},
        {"ev": "fault", "id": "a", "kind": "end", "at": 1},
        {"ev": "end", "id": "a", "sent": 1},
        {"ev": "start", "id": "b", "n_in": 6, "already": 0},
        {"ev": "end", "id": "b", "sent": 0},
        {"ev": "refused", "id": "c", "max_tokens": 0},
        {"ev": "fault", "id": "d", "kind": "exit", "at": "finish"},
    ]
    (tmp_path / "cw3.jsonl").write_text(
        "".join(f"{json.dumps({'ts': 1.5, **line})}\n" for line in said)
    )
    notes = observed(tmp_path)
    assert told(notes, "w3", "a") == [("started", 0), ("emitted", 0)]  # and it did not finish
    assert told(notes, "w3", "b") == [("started", 0), ("finished",)]
    assert told(notes, "w3", "c") == [("refused",)]
    assert told(notes, "operator") == [("crash", "w3")]


def test_a_client_that_leaves_and_one_whose_connection_breaks(tmp_path: Path) -> None:
    begun = [
        {"request": {"max_tokens": 5}},
        {"status": 200},
        {"line": 'data: {"id": "chatcmpl-a", "choices": [{"delta": {"content": "Hello"}}]}'},
    ]
    for tag, last in (("left", {"left": True}), ("broken", {"end": True})):
        (tmp_path / f"sse_{tag}.jsonl").write_text(
            "".join(f"{json.dumps({'ts': 1.5, **line})}\n" for line in [*begun, last])
        )
    notes, doubts = doubted(tmp_path)
    assert len(doubts) == 1
    assert "sse_broken.jsonl:4: the stream ended without [DONE]" in doubts[0]
    assert told(notes, "client") == [("token",), ("end",), ("token",), ("left",)]


def test_spans_in_one_document_over_many_lines(tmp_path: Path) -> None:
    lines_of_it = (CAPTURES / "observability" / "otlp_traces.jsonl").read_text().splitlines()
    groups = [group for line in lines_of_it for group in json.loads(line)["resourceSpans"]]
    (tmp_path / "otlp_traces.json").write_text(json.dumps({"resourceSpans": groups}, indent=2))
    whole = observed(CAPTURES / "observability" / "otlp_traces.jsonl", "otlp")
    assert told(observed(tmp_path, "otlp"), "frontend") == told(whole, "frontend")
    (tmp_path / "otlp_traces.json").write_text('{\n\n  "resourceSpans": [,\n')
    _, doubts = doubted(tmp_path, "otlp")
    assert doubts == ["otlp_traces.json:3: is no JSON: expecting value (column 21)"]


def test_a_table(tmp_path: Path) -> None:
    mapping = tmp_path / "table.yaml"
    mapping.write_text(
        "rackproof: 1\nfiles:\n  table:\n    name: a.csv\n    format: csv\n    time: at\n"
        "    about: request\n    rules:\n      - observe: client/token\n"
        "        values: {position: {of: n, as: number}}\n"
    )
    (tmp_path / "a.csv").write_text('at,request,n\n1.5,"r,1",0\n2.5,r2\n3.5,"r\n')
    doubts: list[Doubt] = []
    (note,) = read(tmp_path, read_mapping(mapping), doubts.append)
    assert (note.about, note.observation.time) == ("r,1", 1.5)
    assert note.observation.values == {"position": 0}
    assert [doubt.words for doubt in doubts] == [
        "has 2 values under 3 names",
        "is no line of values: unexpected end of data",
    ]


# -- one observation a line -------------------------------------------------------------------


def test_the_neutral_format(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(
        '{"witness": "client", "kind": "token", "about": "r1", "position": 3, "time": 7.5,'
        ' "clock": "laptop", "aside": {"worker": "a"}}\n'
        '{"witness": "operator", "kind": "crash", "worker": "a"}\n'
        '{"step": "grant", "client": "client-0"}\n'
    )
    token, crash, step = observed(file, "neutral")
    assert token.about == "r1"
    assert token.clock == "laptop"
    assert token.observation == Observation(
        "client", "token", {"position": 3}, {"worker": "a"}, token.observation.place, 7.5
    )
    assert (crash.about, crash.observation.values) == (None, {"worker": "a"})
    assert step.observation.witness == "run"
    assert (step.observation.kind, step.observation.values) == ("grant", {"client": "client-0"})
    assert recognise(file).name == "neutral"


def test_a_neutral_line_that_means_nothing_is_told(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(
        '{"kind": "token"}\n{"witness": "client", "kind": "token", "about": "a", "x": [1]}\n'
        '{"witness": "client", "about": 7}\n{"witness": "c", "kind": "k", "time": "now"}\n'
        '{"witness": "c", "kind": "k", "about": "a", "aside": 3, "y": "\\ud800"}\n'
    )
    notes, doubts = doubted(file, "neutral")
    assert doubts == [
        "run.jsonl:1: is of no kind that neutral knows",
        "run.jsonl:2: the x is no flag, number or text: [1]",
        "run.jsonl:3: is missing",
        "run.jsonl:4: the time is no time: now",
        "run.jsonl:5: the y is no text: it has half of a letter in it",
        "run.jsonl:5: what it says aside is no object: 3",
    ]
    assert len(notes) == 3


# -- damaged files ----------------------------------------------------------------------------


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    shutil.copytree(CAPTURES / "kills_lim1_w4_cw_round-robin", tmp_path / "run")
    return tmp_path / "run"


def change(file: Path, line: int, text: bytes) -> None:
    written = file.read_bytes().split(b"\n")
    written[line - 1] = text
    file.write_bytes(b"\n".join(written))


def test_a_line_that_is_cut_off(capture: Path) -> None:
    log = capture / "fe.log"
    log.write_bytes(log.read_bytes()[:-40])
    notes, doubts = doubted(capture)
    last = log.read_bytes().count(b"\n") + 1
    assert doubts == [f"fe.log:{last}: is cut off: the file ends in the middle of it"]
    assert (None, "frontend") not in complete(notes)  # it may have told of more
    assert (None, "operator") in complete(notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\x00\x01\x02", "is binary: there is a NUL byte in it"),
        (b'{"ts": 1, "ev": "\xff"}', "is not UTF-8: there is the byte 0xff in it"),
        (b"[1, 2]", "is no object but a list"),
        (b"ERROR: disk full", "is no JSON: expecting value (column 1)"),
        (b'{"ts": NaN}', "is no JSON: NaN is no value of JSON"),
        (b"[" * 100_000, "is no JSON: it is nested too deep"),
        (b'{"message": "of another program"}', "has no ts: it is of another kind of log"),
        (b'{"ts": "soon", "ev": "tok", "id": "a", "tok": 2000}', "the time is no time: soon"),
        (b'{"ts": 1795964148, "ev": "tok", "id": "a"}', "has no position"),
        (b'{"ts": 1795964148, "ev": "tok", "tok": 2000}', "what it is about is missing"),
        (
            b'{"ts": 1795964148, "ev": "tok", "id": "a", "tok": "x"}',
            "the position is no whole number: x",
        ),
        (b'{"ts": 1000, "ev": "tok", "id": "a", "tok": 2000}', "the time goes back by"),
    ],
)
def test_a_line_that_is_not_as_it_should_be(capture: Path, text: bytes, words: str) -> None:
    change(capture / "cw1.jsonl", 4, text)
    notes, doubts = doubted(capture)
    assert len(doubts) == 1
    assert doubts[0].startswith(f"cw1.jsonl:4: {words}")
    assert told(notes, "w1")[-1] == ("emitted", 9)  # the rest was read on


def test_only_the_request_whose_lines_are_damaged_is_not_complete(capture: Path) -> None:
    change(capture / "sse_s0.jsonl", 5, b'{"ts": 1795964148.1, "line": "data: {\\"id\\": "}')
    notes, doubts = doubted(capture)
    assert doubts == [
        "sse_s0.jsonl:5: the event in it is no JSON: expecting value (column 7)",
    ]
    assert [by for by in complete(notes) if by[1] == "client"] == [("e50c39c1", "client")]


def test_a_stream_whose_first_line_is_damaged_is_not_complete(capture: Path) -> None:
    change(capture / "sse_s0.jsonl", 1, b"{")
    notes, _ = doubted(capture)
    assert [by for by in complete(notes) if by[1] == "client"] == [("e50c39c1", "client")]


def test_an_error_that_nobody_knows_is_left_out_and_told(capture: Path) -> None:
    log = capture / "fe.log"
    log.write_text(log.read_text().replace('"disconnected"', '"backend_boom"'))
    notes, doubts = doubted(capture)
    assert doubts[0] == "fe.log:27: the error has no name here: backend_boom"
    assert ("failed", 0, "w1") in told(notes, "frontend")
    assert (None, "frontend") in complete(notes)


def test_a_traceback_in_a_log_is_no_record_and_the_rest_of_one_is_told(capture: Path) -> None:
    change(capture / "fe.log", 3, b'Traceback (most recent call last):\n  File "main.py"')
    assert observed(capture)
    change(capture / "fe.log", 6, b'00Z","message":"request completed"}')
    notes, doubts = doubted(capture)
    assert doubts == ["fe.log:6: is no JSON: extra data (column 2)"]
    assert (None, "frontend") not in complete(notes)


def test_lines_of_two_requests_in_one_stream_are_told(capture: Path) -> None:
    stream = capture / "sse_s0.jsonl"
    stream.write_text(stream.read_text().replace("1dd04d2e", "ffffffff", 5))
    _, doubts = doubted(capture)
    assert len(doubts) == 1
    assert " amid lines about ffffffff-" in doubts[0]


def test_only_some_doubts_of_a_file_are_told(capture: Path) -> None:
    (capture / "cw0.jsonl").write_text("junk\n" * 1000)
    _, doubts = doubted(capture)
    assert len(doubts) == MOST_DOUBTS + 1
    assert doubts[-1] == f"cw0.jsonl:0: and {1000 - MOST_DOUBTS} more that are not told"


def test_an_empty_file_and_one_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").touch()
    (tmp_path / "otlp_traces.json").write_text('{\n  "spans": []\n}\n')
    notes, doubts = doubted(tmp_path, "otlp")
    assert doubts == [
        "events.jsonl:0: is empty",
        "otlp_traces.json:0: is empty",
    ]
    assert notes == []


def test_a_file_of_which_no_rule_speaks(tmp_path: Path) -> None:
    (tmp_path / "otlp_logs.json").write_text(
        json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {}}]}]}]})
    )
    _, doubts = doubted(tmp_path, "otlp")
    assert doubts == ["otlp_logs.json:0: holds nothing that the mapping otlp knows"]


def test_a_damaged_archive(tmp_path: Path) -> None:
    packed = gzip.compress((CAPTURES / NAMES[0] / "events.jsonl").read_bytes())
    (tmp_path / "events.jsonl.gz").write_bytes(packed[:-30])
    _, doubts = doubted(tmp_path)
    assert any("cannot be unpacked to its end" in doubt for doubt in doubts)


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"first\n" + b"x" * 5000 + b"\nlast")
    doubts: list[tuple[int, str]] = []
    found = list(lines(file, lambda *doubt: doubts.append(doubt), most=1000))
    assert found == [(1, "first", True), (3, "last", False)]
    assert [number for number, _ in doubts] == [2]


def test_more_requests_than_can_be_remembered_are_told(
    capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_REMEMBERED", 1)
    log = capture / "fe.log"
    log.write_text(
        "".join(
            line for line in log.read_text().splitlines(True) if "request completed" not in line
        )
    )
    notes, doubts = doubted(capture)
    assert doubts[0].startswith("fe.log:38: is about one of more than 1 requests at a time")
    assert (None, "frontend") not in complete(notes)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events.jsonl")
    _, doubts = doubted(tmp_path)
    assert doubts == ["events.jsonl:0: is not a regular file"]


def test_a_folder_with_nothing_known(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match=r"nothing that the mapping dynamo reads .*fe\{number\}"):
        read(tmp_path, find_mapping("dynamo"), print)
    with pytest.raises(InputError, match="there is no such file or folder"):
        read(tmp_path / "other", find_mapping("dynamo"), print)
    with pytest.raises(InputError, match="is no record that a bundled mapping knows"):
        recognise(tmp_path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(
        ["fe.log", "events.jsonl", "cw0.jsonl", "sse_s.jsonl", "otlp_traces.json"]
    ),
    data=st.binary(max_size=300)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["ts", "ev", "id", "tok", "kind", "message", "time", "data", "line"]
                )
                | st.sampled_from(
                    ["resourceSpans", "scopeSpans", "spans", "attributes", "request"]
                ),
                inner | st.sampled_from(["tok", "start", "chaos", "Selected worker", "data: {}"]),
                max_size=5,
            )
        ),
        max_leaves=12,
    ).map(lambda value: json.dumps(value).encode()),
)
def test_whatever_a_file_holds_there_are_doubts_and_no_failure(
    tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    doubts: list[Doubt] = []
    list(read(tmp_path, find_mapping("otlp" if name == OTHER else "dynamo"), doubts.append))
    assert all(doubt.words and doubt.place.file for doubt in doubts)
    (tmp_path / name).unlink()


# -- mapping files ----------------------------------------------------------------------------


def test_every_bundled_mapping_is_sound() -> None:
    assert bundled() == ("dynamo", "neutral", "otlp", "request-trace")
    for name in bundled():
        assert find_mapping(name).sections


def test_mistakes_of_a_mapping_are_told_with_line_and_key(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "rackproof: 1\nfiles:\n  log:\n    name: '*.log'\n    formt: jsonl\n    rules:\n"
        "      - when: {a: {matches: '('}}\n        observe: client\n"
        "      - observe: client/token\n        values: {position: {of: x, as: numbr}}\n"
        "      - when: {a: 1}\n"
    )
    with pytest.raises(ScenarioError) as caught:
        read_mapping(file)
    text = str(caught.value)
    assert f"{file}:5: files.log.formt: there is no such key; did you mean format?" in text
    assert "mine.yaml:7: files.log.rules[1].when.a.matches: is no regular expression" in text
    assert "mine.yaml:8: files.log.rules[1].observe: expected a witness and a kind" in text
    assert "values.position.as: there is no kind of value 'numbr'; did you mean number?" in text
    assert "mine.yaml:11: files.log.rules[3]: tells nothing" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty: a mapping begins with rackproof: 1, and has files"),
        ("observe: frontend/dipatch", "no kind of frontend 'dipatch'; did you mean dispatch?"),
        (
            "{observe: client/token, values: {positon: x}}",
            "values.positon: there is no value of client/token 'positon'; did you mean position?",
        ),
    ],
)
def test_what_no_witness_writes_is_a_mistake_of_a_mapping(
    text: str, words: str, tmp_path: Path
) -> None:
    file, line = tmp_path / "mine.yaml", f"    rules:\n      - {text}\n"
    file.write_text(f"rackproof: 1\nfiles:\n  log:\n    name: '*.log'\n{line}" if text else "#\n")
    with pytest.raises(ScenarioError, match=re.escape(words)):
        read_mapping(file)


def test_a_field_that_is_to_be_taken_away_and_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "rackproof: 1\nfiles:\n  log:\n    name: '*.log'\n    about: r\n    rules:\n"
        "      - {observe: client/token, values: {position: {of: p, minus: bla}}}\n"
    )
    (tmp_path / "a.log").write_text('{"r": "r", "p": 3}\n')
    notes, doubts = doubted(tmp_path, str(tmp_path / "mine.yaml"))
    assert doubts == ["a.log:1: the position is not known, as there is no bla"]
    assert notes[0].observation.values == {}


def test_a_file_of_a_byte_order_mark_is_empty(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(b"\xef\xbb\xbf")
    _, doubts = doubted(tmp_path / "run.jsonl", "neutral")
    assert doubts == ["run.jsonl:0: is empty"]
    with pytest.raises(InputError, match="knows: is empty"):
        recognise(tmp_path / "run.jsonl")


def test_a_stream_that_ends_without_done_is_told(capture: Path) -> None:
    stream = capture / "sse_s0.jsonl"
    kept = [line for line in stream.read_text().splitlines(True) if "[DONE]" not in line]
    stream.write_text("".join(kept))
    notes, doubts = doubted(capture)
    assert doubts == [
        f"sse_s0.jsonl:{len(kept)}: the stream ended without [DONE]: its connection broke, or was "
        "closed early"
    ]
    assert any(each.observation.kind == "end" for each in notes)


def test_an_option_or_a_mapping_that_there_is_not() -> None:
    with pytest.raises(InputError, match="no mapping 'dynmo'; did you mean dynamo"):
        find_mapping("dynmo")
    with pytest.raises(InputError, match="did you mean oracle-base"):
        observed(CAPTURES / NAMES[0], oracle=1)


def test_counts_of_the_largest_capture() -> None:
    notes = observed(CAPTURES / "zombie_lim3_tmo3_round-robin")
    counts = Counter(noted.observation.kind for noted in notes if noted.about)
    assert (counts["token"], counts["emitted"], counts["over"]) == (100, 101, 5)


@pytest.mark.parametrize(
    ("record", "value"),
    [
        ({"a": {"b": {"c": 1}}}, 1),
        ({"a.b.c": 1}, 1),
        ({"a.b": {"c": 1}}, 1),
        ({"a": {"b.c": 1}}, 1),
        ({"a": {"b": {}}, "a.b": {"c": 1}}, 1),
        ({"a": [{"b": 2}]}, None),
        ({"a": "text"}, None),
        ({"a": {"b": None}}, None),
        ({}, None),
    ],
)
def test_a_path_may_go_through_names_with_dots(record: dict[str, object], value: object) -> None:
    nothing = Known({}, {}, {})
    assert path("a.b.c")(record, nothing) == value
    assert path("a.0.b")({"a": [{"b": 2}]}, nothing) == 2
    assert path("a.7.b")({"a": [{"b": 2}]}, nothing) is None


# -- the document -----------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "recorded.md").read_text(encoding="utf-8")


def shown(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_log_that_is_shown_means_what_is_shown(tmp_path: Path) -> None:
    _, gateway, stream, meaning = shown("jsonl")
    (tmp_path / "gateway.log").write_text(gateway)
    (tmp_path / "stream-r-7.jsonl").write_text(stream)
    (mapping,) = shown("yaml")
    (tmp_path / "gateway.yaml").write_text(mapping)
    doubts: list[Doubt] = []
    notes = list(read(tmp_path, find_mapping(str(tmp_path / "gateway.yaml")), doubts.append))
    assert doubts == []
    assert [json.loads(neutral_line(noted)) for noted in notes] == [
        json.loads(line) for line in meaning.splitlines()
    ]


def test_the_neutral_lines_that_are_shown_are_neutral(tmp_path: Path) -> None:
    (tmp_path / "shown.jsonl").write_text(shown("jsonl")[0] + shown("json")[0])
    notes = observed(tmp_path, "neutral")
    assert len(notes) == 7
    assert [noted.about for noted in notes] == [None, *["req-1"] * 3, None, "req-1", "run"]


@pytest.mark.parametrize(
    "name", ["disagg_decode_SIGKILL_lim3_b1_kv_n1", "zombie_lim0_tmo3_round-robin"]
)
def test_what_is_written_as_neutral_is_read_as_it_was(name: str, tmp_path: Path) -> None:
    notes = observed(CAPTURES / name)
    (tmp_path / "a.jsonl").write_text("".join(f"{neutral_line(noted)}\n" for noted in notes))
    doubts: list[Doubt] = []
    back = list(read(tmp_path, find_mapping("neutral"), doubts.append))
    assert [evolve(noted, observation=evolve(noted.observation, place=None)) for noted in back] == [
        evolve(noted, observation=evolve(noted.observation, place=None)) for noted in notes
    ]


def test_every_key_of_a_mapping_is_documented() -> None:
    for key in (*ROOT_KEYS, *FILE_KEYS, *RULE_KEYS, *SOURCES, *CHANGES, *TESTS, *FORMATS, *UNITS):
        assert re.search(rf"[`{{ ]{key}[`:, ]", PAGE), key


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ODD = ("1e400", '"\\ud800"', '{"a": 1, "a": 2}', " 1 ", f"{2**64}", "-0", "-0.0", '"\u00e9\x7f"')
NO_JSON = ("NaN", "[1,]", "01", "\ufeff1", '"\t"', "{'a': 1}", "", "[" * 100_000)


@settings(deadline=None)
@given(JSON.map(json.dumps) | st.sampled_from(ODD))
def test_the_quick_reader_of_json_reads_what_pythons_does(text: str) -> None:
    assert repr(decode(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", NO_JSON)
def test_what_is_no_json_is_none_to_the_quick_reader_either(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        decode(text)


def test_each_element_of_a_list_is_looked_into_by_itself(tmp_path: Path) -> None:
    mapping = tmp_path / "mine.yaml"
    mapping.write_text("""
rackproof: 1
files:
  log:
    name: "*.log"
    rules:
      - each: {of: tokens, into: one}
        observe: client/token
        for-all: true
        values: {position: one.at.position}
      - {observe: client/token, for-all: true, values: {position: one.at.position}}
""")
    tokens = [{"at": {"position": position}} for position in (3, 1, 2)]
    (tmp_path / "a.log").write_text(json.dumps({"tokens": tokens, "one": {"at": {"position": 9}}}))
    notes = read(tmp_path, read_mapping(mapping), print)
    found = [note.observation.values["position"] for note in notes if note.observation.values]
    assert found == [3, 1, 2, 9]
