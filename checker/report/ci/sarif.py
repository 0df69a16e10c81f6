"""What is not as it should be as SARIF 2.1.0, which code scanning and editors read.

A rule is a property (or what else was checked), a result is a check that failed, at the line of the
scenario that is not met; its code flow is the counterexample, a location each step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from rackproof.checker.report.ci.checks import Check, Spot, checks, defined
from rackproof.checker.report.escaping import line
from rackproof.checker.report.screen import shown
from rackproof.checker.report.steps import changes_in_words
from rackproof.checker.status import Status, worst
from rackproof.checker.trace import Step
from rackproof.checker.verify import Report
from rackproof.scenarios.fields import Fields

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT: Final = "%SRCROOT%"
OTHER_RULES: Final = {
    "rackproof/vacuous": "Nothing was put to the test; one property at least has to be.",
    "rackproof/replay": "The steps that are written down are possible and lead to what is written.",
    "rackproof/bad-input": "The target cannot be read: it is not as a target has to be.",
    "rackproof/our-fault": "The target was not verified, by a fault of rackproof itself.",
    "rackproof/interrupted": "The target was not verified to its end.",
}
_LITERAL: Final = str.maketrans({"{": "{{", "}": "}}", "[": "\\[", "]": "\\]", "\\": "\\\\"})


def as_sarif(reports: Iterable[Report]) -> str:
    """The whole log, with one run."""
    reports = list(reports)
    wrong = [check for check in checks(reports) if check.wrong is not None]
    rules = _rules(wrong)
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    status = worst(report.status for report in reports)
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "rackproof", "version": version("rackproof"), "rules": rules}
                },
                "invocations": [
                    {
                        "executionSuccessful": status
                        not in (Status.INTERRUPTED, Status.OUR_FAULT, Status.BAD_INPUT),
                        "exitCode": int(status),
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": [_result(check, numbers) for check in wrong],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=True) + "\n"


def _rules(wrong: Sequence[Check]) -> list[dict[str, Any]]:
    """A rule for each property with which something is wrong, and for what else was checked."""
    return list({_rule_id(check): _rule(check) for check in wrong}.values())


def _rule_id(check: Check) -> str:
    """The name of a property, or what is wrong that is of no property, which none is called."""
    return line(check.name) if check.result is not None else f"rackproof/{check.kind}"


def _rule(check: Check) -> dict[str, Any]:
    name = _rule_id(check)
    prop = check.result.prop if check.result is not None else None
    statement = prop.statement if prop else OTHER_RULES[name]
    why = prop.why if prop and prop.why else statement
    asked = f" Asked: {prop.scope.value}." if prop else ""
    help_text = f"{statement} {why}" if why != statement else statement
    rule: dict[str, Any] = {
        "id": name,
        "shortDescription": {"text": line(statement)},
        "fullDescription": {"text": line(why)},
        "help": {"text": line(f"{help_text}{asked}")},
        "defaultConfiguration": {"level": "error"},
    }
    reported = next((c for c in prop.catches if c.startswith("https://")), None) if prop else None
    return {**rule, "helpUri": quote(reported, safe=":/#?=&%")} if reported else rule


def _result(check: Check, numbers: Mapping[str, int]) -> dict[str, Any]:
    name = _rule_id(check)
    told = f"{check.title}: {check.message}"
    place = {} if check.spot is None else {"locations": [_location(check.spot)]}
    again = f"To see it again: {check.reproduce}"
    result: dict[str, Any] = {
        "ruleId": name,
        "ruleIndex": numbers[name],
        "level": "error",
        "message": {"text": _message(f"{told}\n{again}")},
        **place,
        "partialFingerprints": {"rackproofCheck/v1": _fingerprint(check)},
        "properties": {
            "verdict": check.kind,
            "target": line(check.report.target),
            "reproduce": line(check.reproduce),
        },
    }
    related, flow = _definition(check), _flow(check)
    if related is not None:
        result["relatedLocations"] = [_location(related, "The property is stated here.")]
    return {**result, "codeFlows": [{"threadFlows": [flow]}]} if flow else result


def _fingerprint(check: Check) -> str:
    """The same for the same check of the same target, whatever is wrong with it this time; of what
    is no property, also what is wrong, as there may be more than one thing.
    """
    where = check.spot.path if check.spot is not None else check.report.target
    label = check.label if check.run is None else check.run.label
    parts = [where, check.report.target.rpartition(":")[2], label or "", check.name]
    parts += [check.wrong or ""] if check.result is None else []
    return hashlib.sha256("\0".join(map(line, parts)).encode()).hexdigest()


def _definition(check: Check) -> Spot | None:
    """Where a property of a world of one's own is stated, where that is another place."""
    if check.result is None or check.run is None:
        return None
    found = defined(check.run, check.result.prop.where)
    return None if found is None or found == check.spot else found


def _flow(check: Check) -> dict[str, Any] | None:
    """The steps of the counterexample, or of the run that is written down as far as it went."""
    if check.result is None or check.result.trace is None:
        return None
    trace = check.result.trace
    fields = Fields(trace.system)
    steps = [_step(check, number, step, fields) for number, step in enumerate(trace.steps, 1)]
    if not steps:
        return None
    loop = "" if trace.loop is None else f"; from step {trace.loop + 1} on, for ever"
    return {"message": {"text": _message(f"{check.result.words}{loop}")}, "locations": steps}


def _step(check: Check, number: int, step: Step, fields: Fields) -> dict[str, Any]:
    """A step: at the function that makes it in a world of one's own, else where the check is."""
    assert check.run is not None, "a counterexample is of a run"
    spot = defined(check.run, step.firing.transition.where) or check.spot
    changes = list(changes_in_words(step, fields))
    told = f"{number}. {step.words}{' (fault)' if step.is_fault else ''}"
    words = "; ".join(changes)
    message = {"message": {"text": _message(f"{told} {words}".rstrip())}}
    return {
        "location": {**(_location(spot) if spot else {}), **message},
        "executionOrder": number,
        "importance": "essential" if step.is_fault else "important",
    }


def _location(spot: Spot, told: str | None = None) -> dict[str, Any]:
    region = {"startLine": spot.line, **({"startColumn": spot.column} if spot.column else {})}
    found: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(spot.path), "region": region}
    }
    return {**found, "message": {"text": _message(told)}} if told else found


@cache
def _artifact(path: str) -> dict[str, str]:
    """A file by its address: from the root of the project on, where it is in it."""
    if Path(path).is_absolute():
        return {"uri": "file://" + quote(path, errors="surrogateescape")}
    return {"uri": quote(path, errors="surrogateescape"), "uriBaseId": ROOT}


def _message(text: str) -> str:
    """A text that is a message as it is: no placeholder and no link."""
    return shown(text).translate(_LITERAL)
