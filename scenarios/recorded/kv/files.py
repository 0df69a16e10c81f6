"""Files with KV events: which there are, and what is in them, batch by batch.

Lines of JSON, each one of: ``frames`` (the parts of a message in hexadecimal digits); ``seq`` and
``batch`` with a batch as it decodes; ``[topic, seq, batch]``; a batch alone; a line of a KvRecorder
of Dynamo; an event of TensorRT-LLM, or a list of them. Or MessagePack objects one behind the other,
each ``[topic, seq, payload]``.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgpack

from rackproof.model.kernel import Place
from rackproof.scenarios.recorded.kv import dynamo, trtllm, vllm
from rackproof.scenarios.recorded.kv.batches import (
    Batch,
    Copies,
    Rules,
    Unreadable,
    number_of,
    shown,
)
from rackproof.scenarios.recorded.lines import MOST_LINE as LONGEST_LINE
from rackproof.scenarios.recorded.lines import lines
from rackproof.scenarios.recorded.noted import Doubt

MAPPINGS: Final = {
    "vllm-kv": Rules(),
    "sglang-kv": Rules(copies=Copies.NONE),
    "trtllm-kv": trtllm.RULES,
    "dynamo-kv": dynamo.RULES,
}
"""The names of what is read here, with the rules of each."""
PIECE: Final = 1 << 16
LONGEST: Final = 64 << 20
"""The largest message, in bytes; of the first lines no more is looked at."""
LOOKED_AT: Final = 100
"""Lines by which a file is recognised."""
MISTAKES: Final = (msgpack.UnpackException, ValueError, TypeError, OverflowError)
"""What comes of bytes that are no MessagePack."""


def kv_mapping(path: Path) -> str | None:
    """Which of the mappings a file is written by; None where it has no KV events."""
    with path.open("rb") as file:
        if not _is_text(file.read(PIECE)):
            _, value = next(_objects(path, lambda _: None), (None, None))
            return "vllm-kv" if _is_message(value) else None
        file.seek(0)
        for line in itertools.islice(iter(lambda: file.readline(LONGEST), b""), LOOKED_AT):
            with contextlib.suppress(ValueError, RecursionError):
                found = _recognised(json.loads(line))
                if found is not None:
                    return found
    return None


def _is_text(head: bytes) -> bool:
    """Whether a file that begins so has lines of JSON."""
    return head.lstrip()[:1] in (b"{", b"[", b"")


def _is_message(value: object) -> bool:
    """Whether a value looks like a number and a batch, which may still be packed."""
    numbered = _numbered(value)
    return numbered is not None and (isinstance(numbered[2], bytes) or vllm.is_batch(numbered[2]))


def _recognised(value: object) -> str | None:
    first = value[0] if isinstance(value, list) and value else value
    if trtllm.is_event(first):
        return "trtllm-kv"
    if dynamo.is_recorded(value):
        return "dynamo-kv"
    if vllm.is_batch(value) or _is_message(value):
        return "vllm-kv"
    if isinstance(value, dict) and isinstance(value.get("frames"), list):
        return "dynamo-kv" if len(value["frames"]) == 4 else "vllm-kv"
    return None


def batches(path: Path, doubt: Callable[[Doubt], None], mapping: str | None) -> Iterator[Batch]:
    """The batches of a file in their order; what cannot be read is told and passed over.

    mapping: what vLLM and SGLang write alike is read by its rules; by default by those of vLLM.
    """
    with path.open("rb") as file:
        text = _is_text(file.read(PIECE))
    rules = MAPPINGS[mapping] if mapping in ("vllm-kv", "sglang-kv") else Rules()
    for place, value in (_lines if text else _objects)(path, doubt):
        try:
            yield from _read(path.stem, value, place, rules)
        except Unreadable as error:
            doubt(Doubt(place, str(error)))


def _lines(path: Path, doubt: Callable[[Doubt], None]) -> Iterator[tuple[Place, object]]:
    """The values of a file of JSON lines."""

    def tell(number: int, words: str) -> None:
        doubt(Doubt(Place(str(path), number), words))

    for number, line, _ended in lines(path, tell, LONGEST_LINE):
        try:
            yield Place(str(path), number), json.loads(line)
        except (ValueError, RecursionError) as error:
            tell(number, f"is no JSON: {_briefly(error)}")


def _objects(path: Path, doubt: Callable[[Doubt], None]) -> Iterator[tuple[Place, object]]:
    """The values of a file of MessagePack objects; a place says how many bytes come before it.

    Behind a mistake nobody knows where the next object begins.
    """
    unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=LONGEST)
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            try:
                unpacker.feed(piece)
                yield from _fed(unpacker, path)
            except MISTAKES as error:
                text = f"is no MessagePack from here on: {_briefly(error)}"
                doubt(Doubt(_at(path, unpacker), text))
                return
    if unpacker.tell() < path.stat().st_size:
        doubt(Doubt(_at(path, unpacker), "is cut off in the middle of a message"))


def _fed(unpacker: Any, path: Path) -> Iterator[tuple[Place, object]]:
    """The objects that are whole in what was read so far."""
    while True:
        place = _at(path, unpacker)
        try:
            value = unpacker.unpack()
        except msgpack.OutOfData:
            return
        yield place, value


def _at(path: Path, unpacker: Any) -> Place:
    return Place(f"{path}+{unpacker.tell()}")


def _briefly(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:80]


def _read(name: str, value: object, place: Place, rules: Rules) -> Iterator[Batch]:
    """The batches of one line or object; ``Unreadable`` where it is none."""
    if isinstance(value, dict) and isinstance(value.get("frames"), list):
        yield from _framed(name, value, place, rules)
    elif isinstance(value, list) and value and trtllm.is_event(value[0]):
        for item in value:
            yield from _read(name, item, place, rules)
    elif trtllm.is_event(value):
        assert isinstance(value, dict)
        yield trtllm.event_of(_named(value, name), value, place)
    elif dynamo.is_recorded(value):
        assert isinstance(value, dict)
        yield dynamo.event_of(value, place)
    else:
        yield from _sent(name, value, place, rules)


def _named(value: object, name: str) -> str:
    """Who wrote a line, where it says so; else the file's name."""
    for key in ("publisher", "worker", "endpoint", "topic"):
        said = value.get(key) if isinstance(value, dict) else None
        if isinstance(said, (str, int)) and said != "":
            return str(said)
    return name


def _sent(name: str, value: object, place: Place, rules: Rules) -> Iterator[Batch]:
    """A message of vLLM or SGLang."""
    numbered = _numbered(value)
    if numbered is None:
        yield vllm.batch_of(_named(value, name), None, value, place, rules)
        return
    topic, number, batch = numbered
    number = vllm.END if number in (-1, str(-1)) else number_of(number, "the number of a batch")
    if number == vllm.END:
        if batch not in (b"", "", [], {}):
            raise Unreadable("the number -1 is that of no batch: it ends a replay")
        return
    if isinstance(batch, bytes):
        batch = _unpacked(batch)
    publisher = _named({"topic": _text(topic)} if topic else value, name)
    yield vllm.batch_of(publisher, number, batch, place, rules)


def _numbered(value: object) -> tuple[object, object, object] | None:
    """The topic, the number and the batch of a message, where it has a number."""
    if isinstance(value, dict):
        number = next((value[key] for key in ("seq", "sequence") if key in value), None)
        batch = next((value[key] for key in ("batch", "payload") if key in value), None)
        return None if number is None or batch is None else (None, number, batch)
    if not isinstance(value, list) or vllm.is_batch(value):
        return None
    if len(value) == 3:
        return value[0], value[1], value[2]
    return (None, value[0], value[1]) if len(value) == 2 else None


def _framed(name: str, line: dict[str, Any], place: Place, rules: Rules) -> Iterator[Batch]:
    """A message whose parts are written in hexadecimal digits."""
    try:
        frames = [bytes.fromhex(frame) for frame in line["frames"]]
    except (ValueError, TypeError) as error:
        raise Unreadable(f"frames are strings of hexadecimal digits: {_briefly(error)}") from None
    if len(frames) == 4:
        yield from _plane(frames, place)
    elif 2 <= len(frames) <= 3:
        yield from _sent(_named(line, name), frames, place, rules)
    else:
        raise Unreadable(f"a message has 2, 3 or (of Dynamo) 4 frames, not {len(frames)}")


def _plane(frames: list[bytes], place: Place) -> Iterator[Batch]:
    """A message of Dynamo's event plane; those of other topics are of no cache."""
    if _text(frames[0]) != dynamo.TOPIC:
        return
    envelope = _unpacked(frames[3][dynamo.HEADER :])
    if not isinstance(envelope, dict) or not isinstance(envelope.get("payload"), bytes):
        raise Unreadable(f"an envelope is a map with a payload of bytes, not {shown(envelope)}")
    yield dynamo.batch_of(frames[1].hex(), envelope, _unpacked(envelope["payload"]), place)


def _unpacked(data: bytes) -> object:
    try:
        return msgpack.unpackb(data, raw=False, strict_map_key=False)
    except MISTAKES as error:
        raise Unreadable(f"a payload is no MessagePack: {_briefly(error)}") from None


def _text(topic: object) -> str:
    return topic.decode("utf-8", "replace") if isinstance(topic, bytes) else str(topic)
