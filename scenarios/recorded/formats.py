"""From the lines of a file to records: fields by name, as JSON has them."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from rackproof.scenarios.recorded.expressions import Record
from rackproof.scenarios.recorded.lines import Tell

Lines = Iterable[tuple[int, str, bool]]
Records = Iterator[tuple[int, Record]]
EVENT: Final = "data"
"""The field of what a line of Server-Sent Events says."""
MOST_DOCUMENT: Final = 64 << 20
"""A document over many lines is held whole, up to this many letters."""


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no value of JSON")


_PYTHON: Final = json.JSONDecoder(parse_constant=_refuse).decode
_QUICK: Final = msgspec.json.Decoder().decode


def decode(text: str) -> Any:
    """What a text says as JSON; ``ValueError`` or ``RecursionError`` where it is none.

    What the quick one of two readers does not take is left to the other: that reads half a letter
    too, and says where a text is wrong.
    """
    try:
        return _QUICK(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _PYTHON(text)


def jsonl(lines: Lines, tell: Tell) -> Records:
    """An object a line."""
    for number, text, ended in lines:
        try:
            record = decode(text)
        except (ValueError, RecursionError) as error:
            below = error.lineno - 1 if isinstance(error, json.JSONDecodeError) else 0
            tell(number + below, _no_json(error, ended))
            continue
        if type(record) is dict:
            yield number, record
        else:
            tell(number, f"is no object but {_KINDS.get(type(record), 'a value')}")


_KINDS: Final = {list: "a list", str: "a text", int: "a number", float: "a number"}


def _no_json(error: Exception, ended: bool) -> str:
    if not ended:
        return "is cut off: the file ends in the middle of it"
    if isinstance(error, json.JSONDecodeError):
        return f"is no JSON: {error.msg.lower()} (column {error.colno})"
    return (
        "is no JSON: it is nested too deep"
        if isinstance(error, RecursionError)
        else (f"is no JSON: {error}")
    )


def without_text(lines: Lines, needs: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """The lines without those that are text: no object, and no rest of one either, since what every
    record has is not in it.
    """
    names = [f'"{name}"' for name in needs]
    for line in lines:
        text = line[1]
        if text.startswith("{") or any(name in text for name in names):
            yield line


def unwrapped(records: Records, names: Sequence[str], tell: Tell) -> Records:
    """Records one of whose fields holds a line of Server-Sent Events, with what that says in their
    field ``data``: the object where it is JSON, else the text. An answer that is no stream is one
    object, without the word ``data`` before it.
    """
    for number, record in records:
        for name in names:
            line = record.get(name)
            if isinstance(line, str):
                plain = line.startswith("{")
                data = _event_data(f"data:{line}" if plain else line, number, tell)
                if data is not None:
                    record[EVENT] = data
            elif line is not None:
                tell(number, f"{name}: is no text")
        yield number, record


def sse(lines: Lines, tell: Tell) -> Records:
    """Server-Sent Events as they came: a record for each line of data."""
    for number, line, _ended in lines:
        data = _event_data(line, number, tell)
        if data is not None:
            yield number, {EVENT: data}


def _event_data(line: str, number: int, tell: Tell) -> Any:
    if not line.startswith("data:"):
        return None
    text = line[5:].strip()
    if not text.startswith(("{", "[{")):
        return text
    try:
        return decode(text)
    except (ValueError, RecursionError) as error:
        tell(number, f"the event in it {_no_json(error, True)}")
        return None


def table(lines: Lines, tell: Tell) -> Records:
    """Comma-separated values under a first line of names."""
    names: list[str] | None = None
    for number, text, _ended in lines:
        try:
            row = next(csv.reader([text], strict=True))
        except csv.Error as error:
            tell(number, f"is no line of values: {error}")
            continue
        if names is None:
            names = [name.strip() for name in row]
        elif len(row) == len(names):
            yield number, dict(zip(names, row, strict=True))
        else:
            tell(number, f"has {len(row)} values under {len(names)} names")


def otlp(lines: Lines, tell: Tell) -> Records:
    """OTLP as JSON, a document a line or one over many: a record for each span, for each event of a
    span and for each log record, with the attributes of all that it is in as fields.
    """
    for number, document in _documents(lines, tell):
        try:
            yield from ((number, record) for record in _otlp_records(document))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            tell(number, f"is not as OTLP has it: {type(error).__name__} ({error})")


def _documents(lines: Lines, tell: Tell) -> Records:
    """Objects, one a line; or one that is the whole file, where the first line is a brace alone."""
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return
    if first[1].strip() != "{":
        yield from jsonl(itertools.chain((first,), rest), tell)
        return
    held, size, last = [first[1]], 0, first[0]
    for number, text, _ended in rest:
        held.append("\n" * (number - last) + text)
        size, last = size + len(text), number
        if size > MOST_DOCUMENT:
            tell(first[0], f"goes on for more than {MOST_DOCUMENT >> 20} MB")
            return
    yield from jsonl([(first[0], "".join(held), True)], tell)


def _otlp_records(document: Record) -> Iterator[Record]:
    for group in document.get("resourceSpans") or ():
        below = _fields((group.get("resource") or {}).get("attributes"))
        for scope in group.get("scopeSpans") or ():
            for span in scope.get("spans") or ():
                yield from _span_records(span, below)
    for group in document.get("resourceLogs") or ():
        below = _fields((group.get("resource") or {}).get("attributes"))
        for scope in group.get("scopeLogs") or ():
            for log in scope.get("logRecords") or ():
                yield _log_record(log, below)


def _span_records(span: Record, below: Record) -> Iterator[Record]:
    """The events of a span, in order, and then the span, which is written at its end."""
    here = below | _fields(span.get("attributes"))
    here |= {"span_name": span.get("name"), "span_id": span.get("spanId")}
    here |= {"start": span.get("startTimeUnixNano"), "trace_id": span.get("traceId")}
    for event in span.get("events") or ():
        told = {"message": event.get("name"), "time": event.get("timeUnixNano")}
        yield here | _fields(event.get("attributes")) | told
    yield here | {"time": span.get("endTimeUnixNano")}


def _log_record(log: Record, below: Record) -> Record:
    message = _plain(log.get("body") or {})
    when = log.get("timeUnixNano") or log.get("observedTimeUnixNano")
    told = {"message": message, "time": when, "span_id": log.get("spanId")}
    return below | _fields(log.get("attributes")) | told


def _fields(attributes: Any) -> Record:
    return {item["key"]: _plain(item.get("value") or {}) for item in attributes or ()}


def _plain(value: Mapping[str, Any]) -> Any:
    """A value of OTLP's without what says of which type it is."""
    for kind, held in value.items():
        match kind:
            case "intValue":
                return int(held)
            case "arrayValue":
                return [_plain(item) for item in held.get("values") or ()]
            case "kvlistValue":
                return _fields(held.get("values"))
            case _:
                return held
    return None


Format = Callable[[Lines, Tell], Records]
FORMATS: Final[Mapping[str, Format]] = {"jsonl": jsonl, "sse": sse, "otlp": otlp, "csv": table}
