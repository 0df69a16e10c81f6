"""A process that looks at one target in its own folder, and passes on what it found as data."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

from rackproof.checker.diff.side import as_data
from rackproof.checker.diff.sides import sides_of
from rackproof.checker.diff.subject import Asked
from rackproof.checker.status import Status
from rackproof.checker.verify import failure


def main() -> None:
    """Read the request from one file and write the answer to another."""
    request, answer = sys.argv[1:3]
    told = looked(json.loads(Path(request).read_text("utf-8")))
    if told is not None:
        Path(answer).write_text(json.dumps(told), "utf-8")


def looked(request: dict[str, Any]) -> dict[str, Any] | None:
    """The sides (where runs are given, what their steps come to), or what is wrong with the target;
    None after a fault of our own was printed.
    """
    target, name, exam = (request.pop(key) for key in ("target", "name", "exam"))
    case, runs = request.pop("case", None), request.pop("runs", None)
    try:
        sides = sides_of(target, Asked(**request), exam, name)
        if runs is not None:
            return {"told": sides[case].tell(runs)}
        return {"sides": {case: as_data(make(None, None)) for case, make in sides.items()}}
    except (Exception, SystemExit) as error:
        wrong = failure(error, None)
        if wrong.status is not Status.BAD_INPUT:
            traceback.print_exc()
            return None
        return {"error": wrong.lines}
