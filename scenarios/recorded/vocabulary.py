"""What serving systems write down: the kinds of each witness, and what each of them may say.

What a log says otherwise says nothing of the model. It is told, and is not taken for silence.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from attrs import field, frozen

from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import FRONTEND, OUTCOMES
from rackproof.model.evidence.operators import DEEDS, DISCOVERY, OPERATOR
from rackproof.model.kernel.evidence import Value
from rackproof.model.retry import Error
from rackproof.scenarios.errors import hint, unknown
from rackproof.scenarios.recorded.everybody import FACTS
from rackproof.scenarios.recorded.expressions import Unfit, flag, number, shown
from rackproof.scenarios.settings import ROLES

Check = Callable[[Value], Value]
"""The value as the model has it; ``Unfit`` where it has none such."""

RUN: Final = "run"
"""The witness of the steps of a world of one's own, which knows itself what they may say."""
WORKER: Final = "worker"
"""Any other witness."""
REASONS: Final = (
    *("stop", "length", "tool_calls", "function_call", "content_filter"),
    *("eos", "eos_token", "stop_sequence", "end_turn", "error", "cancelled", "abort"),
)
"""Why an output ends: of OpenAI's interface, and of engines."""


def _text(value: Value) -> Value:
    if isinstance(value, bool):
        raise Unfit(f"is no text: {shown(value)}")
    return str(value)


def _one_of(names: Iterable[str]) -> Check:
    known = tuple(names)

    def choose(value: Value) -> Value:
        if value not in known:
            text = shown(value)
            raise Unfit(f"is none that there is: {text}{hint(text, known)}")
        return value

    return choose


def _kinds(value: Value) -> Value:
    every = {kind for kinds in KINDS.values() for kind in kinds}
    for kind in str(value).split():
        _one_of(sorted(every))(kind)
    return value


@frozen
class Kind:
    """What a kind may say, by name; deciding: of what it says aside, what decides all the same."""

    values: Mapping[str, Check] = field(factory=dict)
    aside: Mapping[str, Check] = field(factory=dict)
    deciding: frozenset[str] = frozenset()


_WHERE: Final = {"attempt": number, "worker": _text}
_SENT: Final = Kind({**_WHERE, "delivered": number}, {"reason": _text, "from": _text})
_ERRORS: Final = sorted({error.value.lower().replace(" ", "-") for error in Error})
KINDS: Final[Mapping[str, Mapping[str, Kind]]] = {
    CLIENT: {
        "token": Kind({"position": number, "text": _text}, {"worker": _text, "number": number}),
        "finish": Kind(
            {}, {"reason": _one_of(REASONS), "worker": _text}, deciding=frozenset({"reason"})
        ),
        "usage": Kind({"prompt": number, "completion": number, "more": flag}),
        "error": Kind({}, {"code": number}),
        "end": Kind(),
        "left": Kind(),
    },
    FRONTEND: {
        "dispatch": _SENT,
        "decode": _SENT,
        "failed": Kind({**_WHERE, "error": _one_of(_ERRORS)}),
        "done": Kind(_WHERE, {"tokens": number}),
        "over": Kind({"outcome": _one_of(OUTCOMES.values())}, {"worker": _text, "tokens": number}),
    },
    OPERATOR: {deed: Kind({"worker": _text}) for deed in DEEDS.values()},
    DISCOVERY: {kind: Kind({"worker": _text}) for kind in ("removed", "listed")},
    WORKER: {
        "started": Kind({"start": number}),
        "emitted": Kind({"position": number}),
        "finished": Kind(),
        "refused": Kind(),
    },
    FACTS: {
        "asked": Kind(
            {
                **dict.fromkeys(("max-tokens", "prompt-tokens", "retry-limit"), number),
                "prompt": _text,
            }
        ),
        "prompt": Kind({"tokens": number}),
        "worker": Kind({"name": _text, "role": _one_of(ROLES), "instance": _text}),
        "limit": Kind({"retry-limit": number, "stream-timeout": _text}),
        "complete": Kind({"by": _text, "kinds": _kinds}),
    },
}


@frozen
class Said:
    """What a note says, as the model has it. wrong: what it says otherwise, in words; beside: the
    same of what does not decide.
    """

    values: Mapping[str, Value]
    aside: Mapping[str, Value]
    wrong: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


def kinds_of(witness: str) -> Mapping[str, Kind]:
    """The kinds of a witness; whoever is no other is a worker."""
    return KINDS.get(witness, KINDS[WORKER])


def unknown_kind(witness: str, kind: str) -> str | None:
    """What is wrong with a kind, if there is no such one; facts of one's own decide nothing."""
    known = kinds_of(witness)
    if kind in known or (witness == FACTS and not difflib.get_close_matches(kind, known, n=1)):
        return None
    who = witness if witness in KINDS else f"{WORKER} {witness}"
    near = hint(witness, sorted(KINDS)) if who != witness else ""
    nearest = near if "mean" in near else ""
    return f"{unknown(f'kind of {who}', kind, known)}{nearest}"


def said(
    witness: str, kind: str, values: Mapping[str, Value], aside: Mapping[str, Value]
) -> Said | None:
    """What a note of a kind says; None where there is no such kind."""
    if witness == RUN:
        return Said(values, aside)
    if unknown_kind(witness, kind):
        return None
    found = kinds_of(witness).get(kind)
    if found is None:  # a fact of one's own
        return Said(values, aside)
    told, wrong = _checked(values, found.values)
    more, beside = _checked(aside, found.aside)
    decides = [words for name, words in beside if name in found.deciding]
    others = [words for name, words in beside if name not in found.deciding]
    return Said(told, more, (*(words for _, words in wrong), *decides), tuple(others))


def _checked(
    values: Mapping[str, Value], checks: Mapping[str, Check]
) -> tuple[dict[str, Value], list[tuple[str, str]]]:
    kept: dict[str, Value] = {}
    wrong: list[tuple[str, str]] = []
    for name, value in values.items():
        check = checks.get(name)
        if check is None:
            wrong.append((name, unknown("value", name, checks)))
            continue
        try:
            kept[name] = check(value)
        except Unfit as unfit:
            wrong.append((name, f"the {name} {unfit}"))
    return kept, wrong
