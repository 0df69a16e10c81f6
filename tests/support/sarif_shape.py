"""The part of SARIF 2.1.0 that is written here, as OASIS's schema has it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TEXT, WHOLE = (str,), (int,)
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "log": {"$schema": TEXT, "version": {"2.1.0"}, "runs": ["run"]},
    "run": {
        "tool": "tool",
        "invocations": ["invocation"],
        "columnKind": {"utf16CodeUnits", "unicodeCodePoints"},
        "results": ["result"],
    },
    "tool": {"driver": "driver"},
    "driver": {"name": TEXT, "version": TEXT, "rules": ["rule"]},
    "rule": {
        "id": TEXT,
        "shortDescription": "message",
        "fullDescription": "message",
        "help": "message",
        "helpUri": TEXT,
        "defaultConfiguration": "configuration",
    },
    "configuration": {"level": {"none", "note", "warning", "error"}},
    "invocation": {"executionSuccessful": (bool,), "exitCode": WHOLE},
    "result": {
        "ruleId": TEXT,
        "ruleIndex": WHOLE,
        "level": {"none", "note", "warning", "error"},
        "message": "message",
        "locations": ["location"],
        "relatedLocations": ["location"],
        "partialFingerprints": TEXT,
        "properties": TEXT,
        "codeFlows": ["flow"],
    },
    "message": {"text": TEXT},
    "location": {"physicalLocation": "physical", "message": "message"},
    "physical": {"artifactLocation": "artifact", "region": "region"},
    "artifact": {"uri": TEXT, "uriBaseId": TEXT},
    "region": {"startLine": WHOLE, "startColumn": WHOLE},
    "flow": {"threadFlows": ["thread"]},
    "thread": {"message": "message", "locations": ["step"]},
    "step": {
        "location": "location",
        "executionOrder": WHOLE,
        "importance": {"important", "essential", "unimportant"},
    },
}
NEEDED = {
    "log": {"version", "runs"},
    "run": {"tool", "results"},
    "tool": {"driver"},
    "driver": {"name"},
    "rule": {"id", "shortDescription", "fullDescription", "help"},  # some of them GitHub's wish
    "invocation": {"executionSuccessful"},
    "result": {"message", "partialFingerprints"},
    "message": {"text"},
    "flow": {"threadFlows"},
    "thread": {"locations"},
}


def flaws(node: Any, shape: str = "log", where: str = "") -> list[str]:
    """What is not as the schema has it, with where."""
    return [*_flaws(node, shape, where)]


def _flaws(node: Any, shape: str, where: str) -> Iterator[str]:
    known = SHAPES[shape]
    if not isinstance(node, dict):
        yield f"{where}: is no object"
        return
    yield from (f"{where}.{key}: is missing" for key in NEEDED.get(shape, set()) - node.keys())
    for key, value in node.items():
        at = f"{where}.{key}"
        if key not in known:
            yield f"{at}: is not known"
        else:
            yield from _value(value, known[key], at)


def _value(value: Any, wanted: Any, at: str) -> Iterator[str]:
    if isinstance(wanted, str):
        yield from _flaws(value, wanted, at)
    elif isinstance(wanted, list):
        if not isinstance(value, list) or (not value and not at.endswith(("results", "rules"))):
            yield f"{at}: is no list with something in it"
            return
        for number, item in enumerate(value):
            yield from _flaws(item, wanted[0], f"{at}[{number}]")
    elif isinstance(wanted, set):
        if value not in wanted:
            yield f"{at}: {value!r} is none of {sorted(wanted)}"
    elif isinstance(value, dict):
        yield from (f"{at}: {one!r}" for one in value.values() if not isinstance(one, wanted))
    elif not isinstance(value, wanted):
        yield f"{at}: {value!r}"
    elif wanted == WHOLE and value < (0 if at.endswith(("Index", "Code", "Order")) else 1):
        yield f"{at}: {value} is too small"
