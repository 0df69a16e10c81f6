"""Logs of KV events: what is read of them, and what the model says of it."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgpack
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from rackproof.checker.conform.explain import explain
from rackproof.checker.conform.explainer import Explainer
from rackproof.checker.conform.outcome import Answer
from rackproof.model.kernel import Observation, Place, Record, System, successors
from rackproof.model.kernel.evidence import Case, evidence_of
from rackproof.scenarios.recorded.kv import MAPPINGS, kv_cases, kv_mapping
from rackproof.scenarios.recorded.kv.batches import Batch, Stored
from rackproof.scenarios.recorded.kv.cases import file_cases
from rackproof.scenarios.recorded.kv.files import batches
from rackproof.scenarios.recorded.kv.worlds import WORKER, Worlds, complete, observed
from rackproof.scenarios.recorded.noted import Doubt
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.worlds import InputError

CAPTURES: Final = Path(__file__).parents[1] / "data" / "dynamo-1.6.1" / "observability"
VLLM: Final = CAPTURES / "kv_events_raw_vllm.jsonl"
PLANE: Final = CAPTURES / "event_plane.jsonl"
WORLDS: Final = {stack: Worlds(Bundled(stack)) for stack in ("dynamo", "llm-d")}
ACCEPTED, REJECTED, INCONCLUSIVE = Answer.ACCEPTED, Answer.REJECTED, Answer.INCONCLUSIVE

Message = tuple[int, list[dict[str, Any]]]


def stored(*blocks: int, parent: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "BlockStored",
        "block_hashes": list(blocks),
        "parent_block_hash": parent,
        "token_ids": [],
        "block_size": 16,
        **more,
    }


def removed(*blocks: int, **more: Any) -> dict[str, Any]:
    return {"type": "BlockRemoved", "block_hashes": list(blocks), **more}


CLEARED: Final = {"type": "AllBlocksCleared"}


def lines_of(messages: Sequence[Message]) -> list[str]:
    return [
        json.dumps({"seq": number, "batch": [100.0 + line, events, 0]})
        for line, (number, events) in enumerate(messages)
    ]


def no_doubt(doubt: Doubt) -> None:
    raise AssertionError(f"{doubt.place}: {doubt.words}")


EXPLAINER: Final = Explainer()


def answers(
    path: Path, lines: Sequence[str], stack: str = "dynamo", mapping: str | None = None
) -> list[tuple[str, Answer, int | None]]:
    """What is not accepted: the case, the answer, and the line where it goes wrong."""
    path.write_text("".join(f"{line}\n" for line in lines))
    found = []
    for case in file_cases(path, no_doubt, WORLDS[stack], mapping):
        answer, line = whole(case)
        if answer is not ACCEPTED:
            found.append((case.name, answer, line))
    return found


def whole(case: Case) -> tuple[Answer, int | None]:
    """What comes of a case, and the line where it goes wrong."""
    found = EXPLAINER.explain(case)
    return found.answer, found.place.line if found.place else None


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "w0.jsonl"


@pytest.mark.parametrize(("path", "cases"), [(VLLM, 37), (PLANE, 36)])
def test_the_captures_are_accepted(path: Path, cases: int) -> None:
    found = list(kv_cases(path, no_doubt, Bundled("dynamo")))
    assert len(found) == cases
    assert {whole(case) for case in found} == {(ACCEPTED, None)}


def test_a_capture_of_four_lives_under_one_name_has_three_restarts() -> None:
    found = [case for case in kv_cases(VLLM, no_doubt) if case.name.startswith("event")]
    restarts = [
        words for case in found for words in explain(case).assumed if "starts again" in words
    ]
    assert len(found) == 4
    assert len(restarts) == 3


# Each message of the capture doubled, dropped and swapped. The numbers tell, except where a life
# ends: nothing comes after its last message that would show that there was one more.

UNNOTICED: Final = (4, 7, 8, 9, 10)
"""4, 7, 8 and 10 are the last of a life; 8 and 9 are the first of two lives that begin alike."""


def capture() -> list[str]:
    return VLLM.read_text().splitlines()


@pytest.mark.parametrize("line", range(1, 11))
def test_a_message_that_comes_twice_is_rejected_there(log: Path, line: int) -> None:
    lines = capture()
    found = answers(log, [*lines[:line], lines[line - 1], *lines[line:]])
    assert [(answer, at) for _, answer, at in found] == [(REJECTED, line + 1)]


def test_a_message_that_comes_again_later_is_rejected_there(log: Path) -> None:
    lines = lines_of([(0, [stored(1)]), (1, [stored(2)]), (2, [stored(3)]), (3, [removed(3)])])
    found = answers(log, [*lines[:3], lines[1], *lines[3:]])
    assert found == [("event 1, once more, of w0", REJECTED, 4)]


@pytest.mark.parametrize("line", range(1, 11))
def test_a_message_that_is_dropped_is_a_gap_unless_nothing_shows_it(log: Path, line: int) -> None:
    lines = capture()
    found = answers(log, [*lines[: line - 1], *lines[line:]])
    assert {answer for _, answer, _ in found} == (set() if line in UNNOTICED else {INCONCLUSIVE})
    assert line in UNNOTICED or any(name.startswith("event") for name, _, _ in found)


@pytest.mark.parametrize("line", range(1, 10))
def test_two_messages_that_are_swapped_are_told(log: Path, line: int) -> None:
    """Except where one of two lives that begin alike gets what was the other one's."""
    lines = capture()
    lines[line - 1 : line + 1] = lines[line], lines[line - 1]
    found = answers(log, lines)
    assert bool(found) == (line not in (8, 9))


# What an engine may say of its cache, and what it may not.

GOES_WRONG: Final[dict[str, tuple[list[Message], str, int]]] = {
    "stored under a parent that is not there": (
        [(0, [stored(1)]), (1, [stored(3, parent=2)])],
        "block 3 of w0",
        2,
    ),
    "stored under a parent that was removed": (
        [(0, [stored(1)]), (1, [removed(1)]), (2, [stored(2, parent=1)])],
        "block 2 of w0",
        3,
    ),
    "removed though not there": ([(0, [stored(1)]), (1, [removed(2)])], "block 2 of w0", 2),
    "removed twice": ([(0, [stored(1)]), (1, [removed(1)]), (2, [removed(1)])], "block 1 of w0", 3),
    "removed after everything was cleared": (
        [(0, [stored(1)]), (1, [CLEARED]), (2, [removed(1)])],
        "block 1 of w0",
        3,
    ),
    "a parent removed before its child": (
        [(0, [stored(1, 2)]), (1, [removed(1)]), (2, [removed(2)])],
        "block 2 of w0",
        2,
    ),
    "a child stored that is its own parent": ([(0, [stored(1, parent=1)])], "block 1 of w0", 1),
    "cached in a life before": (
        [(0, [stored(1)]), (1, [stored(2, parent=1)]), (0, [stored(3, parent=1)])],
        "block 3 of w0",
        3,
    ),
}


@pytest.mark.parametrize("mapping", ["vllm-kv", "sglang-kv"])
@pytest.mark.parametrize(("messages", "name", "line"), GOES_WRONG.values(), ids=GOES_WRONG)
def test_what_no_cache_does_is_rejected_there(
    log: Path, messages: list[Message], name: str, line: int, mapping: str
) -> None:
    assert answers(log, lines_of(messages), mapping=mapping) == [(name, REJECTED, line)]


GOES: Final[dict[str, list[Message]]] = {
    "blocks come and go": [
        (0, [stored(1, 2), stored(3, parent=2)]),
        (1, [removed(3), removed(2)]),
        (2, [stored(2, parent=1), removed(2), removed(1)]),
    ],
    "a parent told of before its child, at once": [(0, [stored(1, 2)]), (1, [removed(1, 2)])],
    "the same, event by event": [(0, [stored(1, 2)]), (1, [removed(1), removed(2)])],
    "cleared, twice, and begun again": [
        (0, [stored(1)]),
        (1, [CLEARED, CLEARED]),
        (2, [stored(1)]),
    ],
    "an engine starts again": [(0, [stored(1)]), (1, [stored(2, parent=1)]), (0, [stored(1)])],
    "offloaded without its parent": [(0, [stored(2, parent=1, medium="CPU")])],
    "a window lets go of the beginning": [
        (0, [stored(1, 2, group_idx=1, kv_cache_spec_kind="sliding_window")]),
        (1, [removed(1, group_idx=1)]),
    ],
    "two groups and two memories have a cache each": [
        (0, [stored(1, group_idx=0), stored(1, group_idx=1), stored(1, medium="CPU")]),
        (1, [removed(1, group_idx=0), removed(1, group_idx=1), removed(1, medium="CPU")]),
    ],
}


@pytest.mark.parametrize("mapping", ["vllm-kv", "sglang-kv"])
@pytest.mark.parametrize("messages", GOES.values(), ids=GOES)
def test_what_a_cache_does_is_accepted(log: Path, messages: list[Message], mapping: str) -> None:
    assert answers(log, lines_of(messages), mapping=mapping) == []


def test_copies_of_a_block_are_counted_where_an_engine_has_any(log: Path) -> None:
    lines = lines_of(
        [(0, [stored(1)]), (1, [stored(1, 2)]), (2, [removed(1)]), (3, [removed(2), removed(1)])]
    )
    assert answers(log, lines, mapping="vllm-kv") == []
    assert answers(log, lines, mapping="sglang-kv")[0] == ("block 1 of w0", REJECTED, 2)
    once_more = lines_of([(0, [stored(1)]), (1, [stored(1)]), (2, [removed(1)] * 3)])
    assert answers(log, once_more, mapping="vllm-kv") == [("block 1 of w0", REJECTED, 3)]


def test_an_engine_may_say_how_many_copies_are_left(log: Path) -> None:
    none_left = removed(1, remaining_copy_counts=[0])
    lines = lines_of([(0, [stored(1)]), (1, [stored(1)]), (2, [none_left]), (3, [removed(1)])])
    assert answers(log, lines, mapping="vllm-kv") == [("block 1 of w0", REJECTED, 4)]


def test_a_gap_is_told_and_what_it_hides_is_not_held_against_anyone(log: Path) -> None:
    lines = lines_of([(0, [stored(1)]), (2, [stored(3, parent=2)]), (3, [removed(4)])])
    found = answers(log, lines, mapping="sglang-kv")
    assert {answer for _, answer, _ in found} == {INCONCLUSIVE}
    reasons = {explain(case).reason for case in kv_cases(log, no_doubt, None, "sglang-kv")}
    assert reasons == {
        None,
        "there is no record of what is missing",
        "there is no record of whether its parent was there",
        "there is no record of whether the block was there",
    }


def test_what_goes_wrong_behind_a_gap_is_rejected_all_the_same(log: Path) -> None:
    lines = lines_of([(0, [stored(1)]), (5, [stored(3)]), (6, [removed(3)]), (7, [removed(3)])])
    found = answers(log, lines, mapping="sglang-kv")
    assert ("block 3 of w0", REJECTED, 4) in found


def test_a_stream_that_was_joined_late_is_accepted_where_it_says_all(log: Path) -> None:
    lines = lines_of([(7, [stored(1)]), (8, [stored(2, parent=1)]), (9, [removed(2)])])
    assert answers(log, lines) == [("events from 7 on of w0", INCONCLUSIVE, None)]


def test_a_parent_that_was_never_seen_may_not_go_before_its_child_either(log: Path) -> None:
    lines = lines_of([(7, [stored(2, parent=1)]), (8, [removed(1)])])
    assert ("block 2 of w0", REJECTED, 2) in answers(log, lines, mapping="sglang-kv")
    found = answers(log, lines, mapping="vllm-kv")  # another copy of it may be left
    assert ("block 2 of w0", INCONCLUSIVE, None) in found
    assert REJECTED not in {answer for _, answer, _ in found}


def test_numbers_that_go_back_may_be_of_another_life_or_publisher(log: Path) -> None:
    lines = lines_of([(0, [stored(1)]), (1, [stored(2)]), (2, [stored(3)]), (1, [stored(4)])])
    assert answers(log, lines) == [("events from 1 on of w0", INCONCLUSIVE, None)]
    (case,) = (case for case in kv_cases(log, no_doubt) if EXPLAINER.explain(case).reason)
    assert any("starts again" in words for words in explain(case).assumed)


def test_an_orphan_stays_unknown_to_an_index_that_asks_nobody(log: Path) -> None:
    log.write_text("\n".join(lines_of([(0, [stored(1)]), (1, [stored(3, parent=2)])])))

    def broken(stack: str) -> list[str]:
        cases = kv_cases(log, no_doubt, Bundled(stack))
        return [each.prop for case in cases for each in explain(case).broken]

    assert broken("llm-d") == ["index-complete"]
    assert broken("dynamo") == []  # it asks the worker what it holds


def test_an_index_that_only_logs_that_a_cache_is_cleared_is_wrong_from_then_on(log: Path) -> None:
    log.write_text("\n".join(lines_of([(0, [stored(1)]), (1, [CLEARED])])))
    deaf = Bundled("llm-d", {"obey-cleared": False})
    found = [explain(case) for case in kv_cases(log, no_doubt, deaf)]
    assert [(each.prop, each.predicted) for one in found for each in one.broken] == [
        ("index-sound", True)
    ]
    assert {one.answer for one in found} == {ACCEPTED}


# Encodings.


def as_list(event: dict[str, Any]) -> list[Any]:
    if event["type"] == "AllBlocksCleared":
        return [event["type"]]
    names = ["block_hashes"] + (
        ["parent_block_hash", "token_ids", "block_size", "lora_id", "medium", "lora_name"]
        if event["type"] == "BlockStored"
        else ["medium"]
    )
    names += ["extra_keys", "group_idx"] if event["type"] == "BlockStored" else ["group_idx"]
    return [event["type"], *(event.get(name) for name in names)]


EVENTS: Final = [
    [stored(1, 2, medium="GPU", group_idx=0)],
    [stored(3, parent=2, group_idx=0), removed(3, medium="GPU", group_idx=0)],
    [removed(9, medium="CPU"), CLEARED],
]


def encoded(form: str) -> list[Any]:
    batches = []
    for second, events in enumerate(EVENTS):
        inner: list[Any] = [as_list(event) for event in events] if form == "lists" else events
        whole: Any = [float(second), inner, 0]
        if form == "maps":
            whole = {"ts": float(second), "events": inner}
        batches.append(whole)
    return batches


def written(path: Path, form: str, way: str) -> Path:
    """The same batches in one of the encodings, in one of the kinds of files."""
    found = []
    for number, batch in enumerate(encoded(form)):
        frames = [b"", number.to_bytes(8, "big"), msgpack.packb(batch)]
        if way == "stream":
            found.append(msgpack.packb(frames))
        elif way == "frames":
            found.append(json.dumps({"frames": [f.hex() for f in frames]}).encode() + b"\n")
        elif way == "list":
            found.append(json.dumps(["", number, batch]).encode() + b"\n")
        else:
            found.append(json.dumps({"seq": number, "batch": batch}).encode() + b"\n")
    path.write_bytes(b"".join(found))
    return path


def plain(path: Path) -> list[Batch]:
    return [evolve(one, place=Place("")) for one in batches(path, no_doubt, None)]


@pytest.mark.parametrize("way", ["stream", "frames", "list", "decoded"])
@pytest.mark.parametrize("form", ["lists", "maps in lists", "maps"])
def test_the_encodings_of_a_batch_say_the_same(tmp_path: Path, form: str, way: str) -> None:
    path = written(tmp_path / "w0", form, way)
    assert kv_mapping(path) == "vllm-kv"
    assert plain(path) == plain(written(tmp_path / "w0", "maps", "decoded"))


def test_hashes_may_be_bytes_and_a_replay_has_no_topic(tmp_path: Path) -> None:
    path = tmp_path / "w0"
    batch = [1.0, [["BlockStored", [b"\x01\xff"], b"\x02", [], 16]], 1]
    end = [(1 << 64) - 1, b""]
    path.write_bytes(msgpack.packb([0, msgpack.packb(batch)]) + msgpack.packb(end))
    (found,) = batches(path, no_doubt, None)
    assert found.changes == (Stored(("01ff",), "02"),)
    assert (found.publisher, found.number) == ("w0 rank 1", 0)


TRTLLM: Final = """
{"event_id": 0, "data": {"type": "created", "num_blocks_per_cache_level": [50, 10]}}
{"event_id": 1, "data": {"type": "stored", "parent_hash": null, "blocks": [
 {"type": "stored_block", "block_hash": 11, "tokens": [{"type": "unique_token", "token_id": 1,
 "token_extra_id": 0}], "cache_level": 0, "priority": 35, "mm_keys": []},
 {"type": "stored_block", "block_hash": 12, "tokens": [], "cache_level": 0, "priority": 35}]}}
{"event_id": 2, "data": {"type": "updated", "block_hash": 12, "cache_level": {"type": "event_diff",
 "old_value": 0, "new_value": 1}, "priority": null}, "window_size": 64}
{"event_id": 3, "data": {"type": "removed", "block_hashes": [12, 11]}, "window_size": 64}
{"event_id": 0, "data": {"type": "created", "num_blocks_per_cache_level": [50, 10]}}
{"event_id": 1, "data": {"type": "stored", "parent_hash": null, "blocks": [
 {"type": "stored_block", "block_hash": 11, "tokens": [], "cache_level": 0, "priority": 35}]},
 "window_size": 64, "attention_dp_rank": null}
"""


def trtllm() -> list[dict[str, Any]]:
    text = TRTLLM.replace("\n ", " ").strip()
    found = [json.loads(line) for line in text.splitlines()]
    return [{**event, "window_size": 64} for event in found]


def test_events_of_tensorrt_llm_with_a_restart_are_accepted(log: Path) -> None:
    events = trtllm()
    assert answers(log, [json.dumps(event) for event in events]) == []
    assert answers(log, [json.dumps(events)]) == []
    assert kv_mapping(log) == "trtllm-kv"


def test_a_block_that_tensorrt_llm_removes_with_what_is_behind_it_untold(log: Path) -> None:
    events = trtllm()
    events[3]["data"]["block_hashes"] = [11]
    found = answers(log, [json.dumps(event) for event in events])
    assert found == [("block 12 of w0", REJECTED, 4)]


def test_a_block_in_two_windows_is_in_two_caches(log: Path) -> None:
    events = trtllm()[:2]
    events.append({**events[1], "event_id": 2, "window_size": 128})
    assert answers(log, [json.dumps(event) for event in events]) == []
    events[2]["window_size"] = 64
    found = answers(log, [json.dumps(event) for event in events])
    assert {(answer, at) for _, answer, at in found} == {(REJECTED, 3)}


def recorded(number: int, data: Any, worker: int = 7, tier: str = "device") -> str:
    event = {"event_id": number, "data": data, "dp_rank": 0}
    router = {"worker_id": worker, "storage_tier": tier, "event": event}
    return json.dumps({"timestamp": 1000 + number, "event": router})


def dynamo_stored(*blocks: int, parent: int | None = None) -> dict[str, Any]:
    listed = [{"block_hash": block, "tokens_hash": 0, "mm_extra_info": None} for block in blocks]
    return {"stored": {"parent_hash": parent, "start_position": None, "blocks": listed}}


def test_what_a_recorder_of_dynamo_has_is_read_worker_by_worker(log: Path) -> None:
    lines = [
        recorded(1, dynamo_stored(1, 2)),
        recorded(0, dynamo_stored(1), worker=8),
        recorded(2, dynamo_stored(2, parent=1)),  # said again
        recorded(3, dynamo_stored(9, parent=5), tier="host_pinned"),
        recorded(4, {"removed": {"block_hashes": [2]}}),
        recorded(5, "cleared"),
    ]
    assert answers(log, lines) == []
    assert kv_mapping(log) == "dynamo-kv"
    wrong = [*lines[:5], recorded(5, {"removed": {"block_hashes": [2]}})]
    assert answers(log, wrong) == [("block 2 of worker 7", REJECTED, 6)]


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", '["a", 1, {}]', '{"seq": 1, "payload": "x"}', '{"time": 1}', "\x93", "x"]
)
def test_what_has_no_kv_events_is_not_taken_for_it(log: Path, text: str) -> None:
    log.write_text(text)
    assert kv_mapping(log) is None


@pytest.mark.parametrize("way", ["stream", "decoded"])
def test_a_file_is_recognised_by_a_first_message_of_any_length(tmp_path: Path, way: str) -> None:
    batch = [0.0, [stored(1) | {"token_ids": [2**30] * 30_000}]]
    message = ["", 0, batch]
    packed = json.dumps(message).encode() if way == "decoded" else msgpack.packb(message)
    (tmp_path / "w0").write_bytes(packed)
    assert kv_mapping(tmp_path / "w0") == "vllm-kv"
    assert len(list(batches(tmp_path / "w0", no_doubt, None))) == 1


def test_a_folder_stands_for_the_files_with_kv_events_in_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file in it has KV events"):
        list(kv_cases(tmp_path, no_doubt))
    (tmp_path / "fe.log").write_text('{"time": 1}\n')
    (tmp_path / "w0.jsonl").write_text(lines_of([(0, [stored(1)])])[0])
    assert len(list(kv_cases(tmp_path, no_doubt))) == 2


# Two ways: part by part, and the whole log in one world.


def cut(path: Path, mapping: str | None = None) -> Iterator[Case]:
    return file_cases(path, no_doubt, WORLDS["dynamo"], mapping)


def parts(cases: Iterator[Case]) -> tuple[Answer, int | None]:
    """What the parts say together: rejected where the first of them is."""
    lines = []
    for case in cases:
        answer, line = whole(case)
        if answer is REJECTED:
            assert line is not None
            lines.append(line)
    return (REJECTED, min(lines)) if lines else (ACCEPTED, None)


def changes(rng: random.Random) -> list[str]:
    """Changes of a chain of three blocks; mostly those of a cache, and never cleared when empty."""
    held, found = 0, []
    for _ in range(rng.randint(1, 6)):
        kind, block = rng.choice(("stored", "removed")), rng.randrange(3)
        if rng.random() < 0.8:
            block = held if kind == "stored" and held < 3 else max(held - 1, 0)
        elif held and rng.random() < 0.2:
            kind = "cleared"
        sound = (kind == "stored" and block == held) or (kind == "removed" and block == held - 1)
        found.append(kind if kind == "cleared" else f"{kind} {block}")
        if kind == "cleared":
            held = 0
        elif sound:
            held += 1 if kind == "stored" else -1
        else:
            break
    return found


@pytest.mark.parametrize("seed", range(60))
def test_lives_say_of_a_log_what_the_whole_of_it_says(log: Path, seed: int) -> None:
    log_of_changes, messages, seen = changes(random.Random(seed)), [], []
    for number, text in enumerate(log_of_changes):
        kind, _, block = text.partition(" ")
        index = int(block or 0)
        one = stored(index + 1, parent=index or None) if kind == "stored" else removed(index + 1)
        messages.append((number, [CLEARED if kind == "cleared" else one]))
        values = {"block": f"prefix-{index}"} if block else {}
        seen.append(observed(kind, Place("", number + 1), None, **values))
    log.write_text("\n".join(lines_of(messages)))
    system, kinds = WORLDS["dynamo"].world(3), complete("stored", "removed", "cleared", "missing")
    together = Case("whole", system, (tuple(seen),), kinds, {WORKER: "w0"}, (), True)
    assert parts(cut(log, "sglang-kv")) == whole(together)


def numbers(rng: random.Random) -> list[int]:
    """The numbers of some messages: on by one, over a gap, from 0 again, or the same again."""
    found = [0]
    for _ in range(rng.randint(1, 3)):
        turn, last = rng.random(), found[-1]
        found.append(0 if turn < 0.2 else last if turn < 0.4 and last else last + 1 + (turn > 0.8))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_turns_of_numbers_say_what_all_the_numbers_say(log: Path, seed: int) -> None:
    sent = numbers(random.Random(seed))
    lines, seen, due = list[str](), list[Observation](), 0
    for line, number in enumerate(sent, start=1):
        again = number == due - 1 and number > 0
        place, message = Place("", line), {"seq": number, "batch": [float(line), [stored(line)]]}
        lines.append(lines[-1] if again else json.dumps(message))
        for skipped in () if number < due else range(due, number):
            seen += [observed(kind, place, None, number=skipped) for kind in ("event", "missing")]
        seen.append(observed("event", place, None, number=number))
        due = number + 1
    log.write_text("\n".join(lines))
    together = Case("whole", all_numbers(), (tuple(seen),), complete("event", "missing"))
    found = parts(case for case in cut(log) if case.name.startswith("event"))
    assert found == whole(together)


@cache
def all_numbers() -> System:
    """A world with as many losses and restarts as four messages may show."""
    system = WORLDS["dynamo"].world(1, faults=("lost-event", "engine-restart"))
    sizes = {**system.sizes, "numbers": 9, "epochs": 3, "faults": 3, "changes": 9}
    budget = evolve(system.initial.budget, lost_event=3, engine_restart=3)
    initial = evolve(system.initial, budget=budget, given=budget, changes_left=9)
    return evolve(system, sizes=sizes, initial=initial)


# And the other way round: what the model does, written out as a log.


def walk(system: System, seed: int) -> list[Record]:
    """What a worker writes in a run of the model."""
    rng, state, found = random.Random(seed), system.initial, list[Record]()
    evidence = evidence_of(system)
    for _ in range(30):
        firing, after = rng.choice([*successors(system, state)] or [(None, None)])
        if firing is None:
            break
        found += (each for each in evidence.records(state, firing, after) if each.witness == WORKER)
        state = after
    return found


def written_out(records: Sequence[Record]) -> list[str]:
    """A log of the events that were not lost, in the order in which they were sent."""
    key = [
        (each.values["epoch"], each.values["number"]) for each in records if len(each.values) > 1
    ]
    lost = {pair for pair in key if key.count(pair) > 1}
    lines = []
    for numbered, content in itertools.pairwise(records):
        if (
            numbered.kind != "event"
            or (numbered.values["epoch"], numbered.values["number"]) in lost
        ):
            continue
        index = int(str(content.values.get("block", "-0"))[-1])
        event = {
            "stored": stored(index + 1, parent=index or None),
            "removed": removed(index + 1),
            "cleared": CLEARED,
        }[content.kind]
        batch = [float(len(lines)), [event]]
        lines.append(json.dumps({"seq": numbered.values["number"], "batch": batch}))
    return lines


@pytest.mark.parametrize("fault", ["", "lost-event", "publish-failure", "engine-restart"])
@pytest.mark.parametrize("seed", range(8))
def test_what_the_model_does_is_never_rejected(log: Path, seed: int, fault: str) -> None:
    system = WORLDS["dynamo"].world(3, faults=(fault,) if fault else ())
    records = walk(system, seed)
    found = answers(log, written_out(records), mapping="sglang-kv")
    assert REJECTED not in {answer for _, answer, _ in found}
    assert found == [] or any(each.kind == "missing" for each in records)
    together = Case(
        "whole",
        system,
        (tuple(Observation(each.witness, each.kind, each.values) for each in records),),
        complete("event", "stored", "removed", "cleared", "missing"),
    )
    assert whole(together) == (ACCEPTED, None)


# Hostile input.


def read_all(path: Path) -> list[Doubt]:
    doubts: list[Doubt] = []
    for mapping in (None, *MAPPINGS):
        for case in file_cases(path, doubts.append, WORLDS["dynamo"], mapping):
            assert case.logs
    kv_mapping(path)
    return doubts


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"{", b"[", b"\x93"]))
def test_no_bytes_are_too_much(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, head: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "garbage"
    path.write_bytes(head + data)
    read_all(path)


KEYS: Final = st.sampled_from(
    sorted(
        {"seq", "batch", "frames", "events", "ts", "event", "data", "event_id", "type"}
        | {"worker_id", "timestamp", "stored", "blocks", "block_hashes", "parent_block_hash"}
        | {"removed", "attention_dp_rank", "data_parallel_rank", "medium", "window_size"}
    )
)
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
HEADS: Final = st.sampled_from(
    [
        {"event_id": 1, "data": {"type": "stored"}},
        {"timestamp": 1, "event": {"worker_id": 1, "event": {"event_id": 0, "data": {}}}},
        {"seq": 0, "batch": [0.0, [{"type": "BlockStored", "block_hashes": [1]}]]},
        {"frames": ["", "00", "90"]},
    ]
)


@settings(max_examples=80, deadline=None)
@given(HEADS, KEYS, JSON)
def test_no_json_is_too_much(
    tmp_path_factory: pytest.TempPathFactory, head: dict[str, Any], key: str, value: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "garbage.jsonl"
    inner = head.get("event", head.get("data", head))
    path.write_text("\n".join(json.dumps(each) for each in (value, {**head, key: value}, head)))
    read_all(path)
    inner = {**inner, key: value}
    path.write_text(json.dumps({**head, ("event" if "event" in head else "data"): inner}))
    read_all(path)


def test_what_is_no_event_is_told_with_its_place_and_passed_over(log: Path) -> None:
    lines = lines_of([(0, [stored(1)]), (1, [stored(2, parent=1)])])
    log.write_text("\n".join([lines[0], '{"seq": 1, "ba', '{"seq": 1, "batch": 3}', lines[1]]))
    doubts: list[Doubt] = []
    found = list(kv_cases(log, doubts.append))
    assert len(found) == 3
    assert [(doubt.place.line, doubt.words.split(":")[0]) for doubt in doubts] == [
        (2, "is no JSON"),
        (3, "a batch is [time, events, rank] or a map of them, not 3"),
    ]


def test_a_stream_that_is_cut_off_is_told_with_how_much_was_read(tmp_path: Path) -> None:
    path = written(tmp_path / "w0", "lists", "stream")
    whole_size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-1])
    doubts: list[Doubt] = []
    assert len(list(batches(path, doubts.append, None))) == 2
    (doubt,) = doubts
    assert doubt.words == "is cut off in the middle of a message"
    assert 0 < int(doubt.place.file.rpartition("+")[2]) < whole_size


def test_a_publisher_that_outlives_its_engine_does_not_count_from_0_again(log: Path) -> None:
    log.write_text("\n".join(lines_of([(0, [stored(1)]), (1, [stored(2)]), (0, [stored(1)])])))
    outlives = Bundled("dynamo", {"persistent-publisher": True})
    found = [explain(case) for case in kv_cases(log, no_doubt, outlives)]
    assert [one.place.line for one in found if one.place] == [3]


def test_the_number_that_ends_a_replay_is_that_of_no_batch(log: Path) -> None:
    batch, end = lines_of([(0, [stored(1)]), (-1, [stored(2)])])
    doubts: list[Doubt] = []
    log.write_text(f'{batch}\n{{"seq": -1, "batch": ""}}\n{end}\n')
    assert len(list(batches(log, doubts.append, None))) == 1
    assert [(doubt.place.line, doubt.words) for doubt in doubts] == [
        (3, "the number -1 is that of no batch: it ends a replay")
    ]


def test_a_line_that_is_too_long_is_told_as_such(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rackproof.scenarios.recorded.kv.files.LONGEST_LINE", 1 << 20)
    (batch,) = lines_of([(0, [stored(1)])])
    log.write_text(f'{{"a": "{"a" * (1 << 20)}"}}\n{batch}\n')
    doubts: list[Doubt] = []
    assert len(list(batches(log, doubts.append, "vllm-kv"))) == 1
    assert [doubt.words for doubt in doubts] == ["is longer than 1 MB, and is passed over"]
