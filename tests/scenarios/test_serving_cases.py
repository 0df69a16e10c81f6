"""What was recorded of requests, as cases: their worlds, their logs, and what was taken out."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
import recorded
from attrs import evolve

from rackproof.checker.conform.explain import explain
from rackproof.checker.conform.moves import Moves
from rackproof.checker.conform.outcome import Answer, Explained
from rackproof.checker.conform.search import Limits
from rackproof.checker.conform.stopping import aftermath
from rackproof.model.kernel import Message, Observation, Place, System
from rackproof.model.kernel.evidence import Case
from rackproof.model.request import TERMINAL
from rackproof.scenarios.recorded.collapse import numbers
from rackproof.scenarios.recorded.everybody import Everybody
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.recorded.serving import case, cases
from rackproof.scenarios.recorded.shapes import Shape, Worlds
from rackproof.scenarios.recorded.story import NUMBERS
from rackproof.scenarios.schema import Bundled

WHOLE = {
    "client": "token finish usage error end left",
    "frontend": "dispatch decode failed done over",
    "operator": "crash hang resume drain restart",
    "w0": "started emitted finished",
    "w1": "started emitted finished",
}
MOST = 2
ROLES = (("aggregated", 2),)
CALLED = {"worker-0": "w0", "worker-1": "w1"}
ABOUT = "r"


def dynamo(**mechanisms: object) -> Worlds:
    named = {name.replace("_", "-"): value for name, value in mechanisms.items()}
    return Worlds(Bundled(stack="dynamo", mechanisms=named))


def note(text: str, line: int = 0, about: str | None = ABOUT) -> Noted:
    """``client token position=3 (worker=w0)`` as a note; its time is its line."""
    plain, _, beside = text.partition(" (")
    witness, kind, *rest = plain.split()
    values, aside = (dict(map(_value, items)) for items in (rest, beside.split()))
    seen = Observation(witness, kind, values, aside, Place("log", line), float(line))
    return Noted(None if witness in ("operator", "discovery") else about, seen, "clock")


def _value(item: str) -> tuple[str, Any]:
    name, _, value = item.strip(")").partition("=")
    plain = {"true": True, "false": False}.get(value, value)
    return name, int(value) if value.lstrip("-").isdigit() else plain


def notes(*texts: str) -> list[Noted]:
    return [note(text, line) for line, text in enumerate(texts, 1)]


def facts(*who: str, workers: Iterable[str] = ("w0", "w1"), allowed: int = 2) -> list[Noted]:
    """What is known beside: which logs are whole, the workers, and what the client asked for."""
    wholes = [Observation("facts", "complete", {"by": name, "kinds": WHOLE[name]}) for name in who]
    known = [Observation("facts", "worker", {"name": name}) for name in workers]
    told = [Noted(None, each, "clock") for each in (*wholes, *known)]
    return [*told, Noted(ABOUT, Observation("facts", "asked", {"max-tokens": allowed}), "clock")]


def one(found: Iterable[Noted], worlds: Worlds | None = None) -> Case:
    (made,) = cases(found, worlds or dynamo())
    return made


def answer(found: Iterable[Noted], worlds: Worlds | None = None) -> Answer:
    return explain(one(found, worlds)).answer


MIGRATED = (
    "frontend dispatch attempt=0 worker=w0 delivered=0",
    "client token position=0 (worker=w0)",
    "operator crash worker=w0",
    "frontend failed attempt=0 worker=w0 error=disconnected",
    "frontend dispatch attempt=1 worker=w1 delivered=1 (from=w0)",
    "client token position=1 (worker=w0)",
    "client finish (reason=length)",
    "client usage prompt=8 completion=2",
    "client end",
    "frontend done attempt=1 worker=w1",
    "frontend over outcome=done",
)
SERVED = (
    "frontend dispatch attempt=0 worker=w1 delivered=0",
    *(f"client token position={i}" for i in range(2)),
    "client finish (reason=length)",
    "client usage prompt=7 completion=2",
    "client end",
    "frontend done attempt=0 worker=w1",
    "frontend over outcome=done",
)
THREE = ("client", "frontend", "operator")


def test_a_request_that_migrated_has_a_world_of_what_befell_it() -> None:
    found = one([*facts(*THREE), *notes(*MIGRATED)])
    assert isinstance(found.key, tuple)
    assert found.key[1] == Shape(
        roles=(("aggregated", 2),),
        tokens=2,
        max_tokens=2,
        retry_limit=1,
        faults=(("crash", 1),),
        done_for=(0,),
        used=(1,),
        billed=None,
    )
    assert found.called == CALLED
    client, frontend = found.logs
    assert [(each.witness, each.kind) for each in client][:3] == [
        ("client", "token"),
        ("operator", "crash"),
        ("client", "token"),
    ]
    assert frontend[2].values == {"attempt": 1, "worker": "worker-1", "delivered": 1}
    assert frontend[2].aside == {"from": "worker-0"}
    assert not found.missing
    assert found.ended
    told = explain(found)
    assert told.answer is Answer.ACCEPTED
    assert [(each.prop, each.predicted) for each in told.broken] == [("usage-exact", True)]
    assert [(each.said, each.truth) for each in told.misattributed] == [("worker-0", "worker-1")]


def test_a_request_that_was_served_has_nothing_but_its_worker() -> None:
    found = one([*facts(*THREE), *notes(*SERVED)])
    assert isinstance(found.key, tuple)
    assert found.key[1] == Shape((("aggregated", 1),), 2, 2, 1, faults=(), billed=None)
    assert found.called == {"worker-0": "w1"}
    assert explain(found).answer is Answer.ACCEPTED


def test_cases_of_one_shape_have_one_system() -> None:
    worlds = dynamo()
    again = [evolve(each, about="s") if each.about else each for each in notes(*SERVED)]
    first, second = cases([*facts(*THREE), *notes(*SERVED), *again], worlds)
    assert first.system is second.system
    assert first.key == second.key
    assert one([*facts(*THREE), *notes(*SERVED)]).key != first.key  # of another stack


@pytest.mark.parametrize(
    ("without", "words"),
    [("client", "whole stream of the client"), ("frontend", "whole log of the frontend")],
)
def test_without_a_log_nothing_is_accepted(without: str, words: str) -> None:
    whole = [who for who in THREE if who != without]
    kept = [text for text in MIGRATED if not text.startswith(without)]
    told = explain(one([*facts(*whole), *notes(*kept)]))
    assert told.answer is Answer.INCONCLUSIVE
    assert words in str(told.reason)
    assert answer([*facts(*whole), *notes(*MIGRATED)]) is Answer.INCONCLUSIVE


def test_usage_that_the_frontend_counted_itself_is_not_more() -> None:
    prompt = Noted(ABOUT, Observation("facts", "prompt", {"tokens": 8}), "clock")
    told = explain(one([*facts(*THREE), prompt, *notes(*MIGRATED)]))
    assert told.answer is Answer.ACCEPTED
    assert not told.broken
    fewer = Noted(ABOUT, Observation("facts", "prompt", {"tokens": 7}), "clock")
    told = explain(one([*facts(*THREE), fewer, *notes(*MIGRATED)]))
    assert told.answer is Answer.ACCEPTED
    assert [(each.prop, each.predicted) for each in told.broken] == [("usage-exact", True)]
    assert "counts tokens of its output" in told.broken[0].sentence


@pytest.mark.parametrize(
    ("prompt", "words"), [(9, "1 fewer than the prompt"), (6, "2 more than the prompt")]
)
def test_usage_that_is_neither_the_prompt_nor_what_was_sent_again_is_rejected(
    prompt: int, words: str
) -> None:
    known = Noted(ABOUT, Observation("facts", "prompt", {"tokens": prompt}), "clock")
    told = explain(one([*facts(*THREE), known, *notes(*MIGRATED)]))
    assert told.rejection is not None
    assert told.rejection.at.values["more"] == words
    assert [(each.prop, each.predicted) for each in told.broken] == [("usage-exact", False)]


def test_of_a_usage_that_nobody_was_told_nothing_is_said() -> None:
    told = explain(one([*facts(*THREE), *notes(*(t for t in MIGRATED if "usage" not in t))]))
    assert told.answer is Answer.ACCEPTED
    assert not told.broken
    (unknown,) = explain(one([*facts(*THREE), *notes(*MIGRATED)])).broken
    assert "would count tokens of its output" in unknown.sentence


@pytest.mark.parametrize("collapsed", [True, False])
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("completion=2", "completion=3"),
        ("completion=2", "completion=600"),
        ("delivered=1", "delivered=7"),
        ("token position=1", "token position=40"),
        ("token position=1", "token text=hello"),
    ],
)
def test_every_number_that_is_wrong_stays_wrong(was: str, becomes: str, collapsed: bool) -> None:
    texts = [text.replace(was, becomes) for text in MIGRATED]
    texts += ["w0 started start=0", "w0 emitted position=0", "w1 started start=1"]
    everybody = Everybody()
    found = [*facts(*THREE, "w0", "w1"), *notes(*texts, "w1 emitted position=1", "w1 finished")]
    for each in found:
        everybody.learn(each)
    own = [each for each in found if each.about is not None]
    told = explain(case(ABOUT, own, everybody, dynamo(), collapsed=collapsed))
    assert told.rejection is not None
    at = told.rejection.at
    wrong = [text.partition(" (")[0] for text in texts if becomes in text]
    assert [f"{at.witness} {at.kind}"] == [" ".join(text.split()[:2]) for text in wrong]


def test_a_token_without_a_position_may_be_of_a_worker_that_does_not_count() -> None:
    texts = [text.replace("token position=1", "token text=t1234") for text in MIGRATED]
    own = ("w0 started start=0", "w0 emitted position=0")
    assert answer([*facts(*THREE, "w0"), *notes(*texts, *own)]) is Answer.ACCEPTED


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("length", Answer.ACCEPTED),
        ("stop", Answer.ACCEPTED),
        ("content_filter", Answer.ACCEPTED),
        ("error", Answer.REJECTED),
        ("cancelled", Answer.REJECTED),
    ],
)
def test_what_a_finish_reason_means(reason: str, expected: Answer) -> None:
    texts = [text.replace("reason=length", f"reason={reason}") for text in SERVED]
    told = explain(one([*facts(*THREE), *notes(*texts)]))
    assert told.answer is expected
    assert not told.misattributed
    early = [text for text in texts if "position=1" not in text]
    early = [text.replace("completion=2", "completion=1") for text in early]
    legal = reason in ("stop", "content_filter")
    assert answer([*facts(*THREE), *notes(*early)]) is (
        Answer.ACCEPTED if legal else Answer.REJECTED
    )
    emitted = ["w1 started start=0", "w1 emitted position=0", "w1 emitted position=1"]
    assert answer([*facts(*THREE), *notes(*early, *emitted)]) is Answer.REJECTED


def test_what_another_request_did_to_a_worker_is_allowed_for() -> None:
    failing = notes(
        "frontend dispatch attempt=0 worker=w0 delivered=0",
        "operator crash worker=w0",
        "frontend failed attempt=0 worker=w0 error=disconnected",
        "frontend over outcome=failed",
        "client error",
        "client end",
    )
    told = [*facts(*THREE), *failing]
    assert answer(told) is Answer.REJECTED  # w1 was there to be tried
    blame = note("frontend failed attempt=0 worker=w1 error=disconnected", 9, about="other")
    mine = next(found for found in cases([*told, blame], dynamo()) if found.name == ABOUT)
    explained = explain(mine)
    assert explained.answer is Answer.ACCEPTED
    assert any("Another request" in words for words in explained.assumed)
    picture = mine.system.picture
    assert picture is not None
    drawn = {
        picture.message(step.before, step.firing, step.after)
        for step in explained.trace.steps
        if step.firing.transition.name == "another_request_fails"
    }
    assert drawn == {Message("worker-1", "router")}


def test_faults_that_nobody_wrote_down_are_assumed() -> None:
    kept = [text for text in MIGRATED if not text.startswith("operator")]
    assert answer([*facts("client", "frontend"), *notes(*kept)]) is Answer.ACCEPTED
    told = [*facts(*THREE), *notes(*kept)]
    assert answer(told) is Answer.REJECTED  # the operator's log is whole, and has no crash


def test_an_error_that_a_frontend_cannot_tell_from_others_says_nothing() -> None:
    texts = [text.replace("disconnected", "cannot-connect") for text in MIGRATED]
    assert answer([*facts(*THREE), *notes(*texts)]) is Answer.ACCEPTED
    texts = [text.replace("disconnected", "response-timeout") for text in MIGRATED]
    assert answer([*facts(*THREE), *notes(*texts)]) is Answer.REJECTED


def test_halves_are_told_from_what_is_known_of_workers() -> None:
    halves = [
        Noted(None, Observation("facts", "worker", {"name": "p", "role": "prefill"}), "clock"),
        Noted(None, Observation("facts", "worker", {"name": "d", "instance": "77"}), "clock"),
    ]
    texts = (
        "frontend dispatch attempt=0 worker=p delivered=0",
        "frontend decode attempt=0 worker=77 delivered=0",
        *SERVED[1:-2],
        "frontend done attempt=0 worker=77",
        "frontend over outcome=done",
    )
    found = one([*facts(*THREE, workers=()), *halves, *notes(*texts)])
    assert found.called == {"prefill-0": "p", "decode-0": "d"}
    assert explain(found).answer is Answer.ACCEPTED


def test_numbers_that_are_none_say_nothing() -> None:
    texts = (
        "frontend dispatch attempt=0 worker=w1 delivered=none",
        "client token position=zero",
        "client token position=true",
        *SERVED[3:],
    )
    odd = Noted(None, Observation("facts", "limit", {"retry-limit": "many"}), "clock")
    assert answer([*facts(*THREE), odd, *notes(*texts)]) is Answer.ACCEPTED
    strange = [note("client token position=-3", 3), *notes(*SERVED)]
    assert answer([*facts(*THREE), *strange]) is Answer.REJECTED
    far = [*notes(*SERVED[:2]), note(f"client token position={10**15}", 3), *notes(*SERVED[3:])]
    assert answer([*facts(*THREE, allowed=10**12), *far]) is Answer.REJECTED


def test_a_request_that_was_sent_very_often_is_not_judged() -> None:
    sent = [f"frontend dispatch attempt={i} worker=w{i % 2} delivered=0" for i in range(100)]
    limit = Noted(None, Observation("facts", "limit", {"retry-limit": 10**9}), "clock")
    found = one([*facts(*THREE), limit, *notes(*sent)])
    assert found.missing[-1].startswith("room in a world for a request that was sent as often")
    assert len(found.system.initial.streams[0].attempts) == 64


def test_only_a_worker_that_died_for_good_is_not_restored() -> None:
    hung = [
        text.replace("crash", "hang").replace("disconnected", "response-timeout")
        for text in MIGRATED
    ]
    found = one([*facts(*THREE), *notes(*hung)], dynamo(stream_timeout=True))
    assert isinstance(found.key, tuple)
    assert found.key[1].done_for == ()
    worlds = dynamo()
    for shape, times in (
        (Shape(ROLES, 1, 1, 1, ()), 2),
        (Shape(ROLES, 1, 1, 1, (), done_for=(0,)), 1),
    ):
        system = worlds.of(shape)
        (again,) = (item for item in system.transitions if item.name == "restore")
        state = system.initial
        for worker in range(2):
            state = state.with_endpoint(worker, inhibited=True)
        assert sum(again(state, worker) is not None for worker in range(2)) == times


WRONGS = {
    "no-duplicate-tokens": (3, (*SERVED[:2], SERVED[1], *SERVED[2:])),
    "max-tokens-kept": (4, (*SERVED[:3], "client token position=2", *SERVED[3:])),
    "usage-exact": (5, tuple(text.replace("prompt=7", "prompt=9") for text in SERVED)),
    "clear-failure": (4, (*SERVED[:3], "client end")),
    "no-dispatch-to-removed": (2, ("discovery removed worker=w1", *SERVED)),
}
"""What the record of a request may tell that should never be: by which line, in which record."""


@pytest.mark.parametrize("prop", WRONGS)
def test_each_wrong_is_told_by_its_property_and_its_line(prop: str) -> None:
    line, texts = WRONGS[prop]
    prompt = Noted(ABOUT, Observation("facts", "prompt", {"tokens": 7}), "clock")
    told = explain(one([*facts(*THREE), prompt, *notes(*texts)]))
    assert told.answer is Answer.REJECTED
    assert Place("log", line) in [
        one.at and one.at.place for one in told.broken if one.prop == prop
    ]


WRITTEN = {
    "client": ("token", "finish", "usage", "error", "end", "left"),
    "frontend": ("dispatch", "decode", "failed", "done", "over"),
    "operator": ("crash", "hang", "resume", "drain", "restart"),
    "discovery": ("removed", "listed"),
}


def anything(chosen: random.Random) -> Observation:
    """A record of any kind, with values that it should have and others."""
    witness = chosen.choice(("frontend", *WRITTEN))
    values = {
        "attempt": chosen.choice((0, 0, 1, 9, "none")),
        "worker": chosen.choice((*CALLED, "prefill-0", "decode-0", "w0", "w1", 7)),
        "position": chosen.choice((0, 1, 2, 3, -1, 10**30, "x")),
        "delivered": chosen.choice((0, 1, True, "x")),
        "error": chosen.choice(("disconnected", "request-refused", "worker-full", "odd")),
        "outcome": chosen.choice(("done", "failed", "cancelled", "odd")),
        "completion": chosen.choice((2, "x")),
        "more": chosen.choice((True, False, 3)),
    }
    kept = {name: value for name, value in values.items() if chosen.random() < 0.9}
    return Observation(witness, chosen.choice(WRITTEN[witness]), kept, {}, Place("log", 1))


@pytest.mark.parametrize("roles", [ROLES, (("prefill", 1), ("decode", 2))])
def test_whatever_is_forced_upon_the_model_leaves_a_state_it_can_go_on_from(
    roles: tuple[tuple[str, int], ...],
) -> None:
    moves = Moves(dynamo().of(Shape(roles, 1, 1, 0, faults=(("crash", 1),))))
    force = moves.system.evidence and moves.system.evidence.forced
    assert force is not None
    for seed in range(40):
        chosen, state = random.Random(seed), 0
        for _ in range(7):
            seen = anything(chosen)
            plain = {k: v for k, v in seen.values.items() if k not in NUMBERS or type(v) is int}
            after = force(moves.states[state], evolve(seen, values=plain))
            if after is not None:
                state = moves.number(after)
                moves.ordinals(state)
                moves.of(state)
        aftermath(moves, state, lambda _: True, due=False, most=20)


def test_no_record_is_too_strange_to_be_answered() -> None:
    worlds, limits = dynamo(), Limits(states=40)
    for seed in range(6):
        chosen = random.Random(seed)
        strange = []
        for _ in range(6):
            seen = anything(chosen)
            about = None if seen.witness in ("operator", "discovery") else ABOUT
            strange.append(Noted(about, seen, "clock"))
        explain(one([*facts(*THREE), note("client end"), *strange], worlds), limits)


def test_a_second_dispatch_of_the_last_attempt_is_rejected() -> None:
    limit = Noted(None, Observation("facts", "limit", {"retry-limit": 0}), "clock")
    twice = notes(SERVED[0], SERVED[0], *SERVED[1:])
    told = explain(one([*facts(*THREE), limit, *twice]))
    assert told.answer is Answer.REJECTED


# -- what is taken out ------------------------------------------------------------------------


def test_what_is_kept_of_a_long_output() -> None:
    log = [*range(20), None, *range(20, 60)]
    kept = numbers([log], [20, 60, 61, 600], [])
    assert kept.kept == (0, 19, 20, 59, 60, 61, 599, 600)
    assert [kept.originals[kept.of(count)] for count in (60, 61, 600)] == [60, 61, 600]
    assert [kept.of(count) for count in (0, 19, 20, 60)] == [0, 1, 2, 4]
    assert [kept.originals[kept.of(count)] for count in (0, 19, 20, 60)] == [0, 19, 20, 60]
    assert [position in kept for position in (0, 30, 19, -4)] == [True, False, True, True]


def test_a_token_that_is_out_of_order_is_kept_with_its_neighbours() -> None:
    for wrong in ([*range(30), 29, *range(30, 40)], [*range(20), *range(21, 40)]):
        kept = numbers([wrong], [40], []).kept
        assert len(kept) < 15
    swapped = [*range(10), 11, 10, *range(12, 40)]
    assert {9, 10, 11, 12} <= set(numbers([swapped], [40], []).kept)


def test_an_output_of_any_length_has_a_small_world() -> None:
    def served(length: int) -> Case:
        tokens = [f"client token position={i}" for i in range(length)]
        usage = f"client usage prompt=7 completion={length}"
        texts = (SERVED[0], *tokens, SERVED[3], usage, *SERVED[5:])
        return one([*facts(*THREE, allowed=length), *notes(*texts)], worlds)

    worlds = dynamo()
    assert served(40).system is served(3000).system
    assert explain(served(3000)).answer is Answer.ACCEPTED


def long_runs(worlds: Worlds) -> Iterator[Sequence[Noted]]:
    """Runs of the model with an output of many tokens, as their logs."""
    shape = Shape((("aggregated", 2),), 6, 6, 1, faults=(("crash", 1),))
    system = worlds.of(shape)
    for seed in range(400):
        trace = recorded.random_run(system, 90, seed)
        if trace.final.requests[0].phase in TERMINAL:
            yield logged(recorded.observed(trace), seed)


def logged(written: Iterable[Observation], seed: int) -> list[Noted]:
    """Observations as notes of somebody who calls workers otherwise."""
    chosen, found = random.Random(seed), list[Noted]()
    for line, seen in enumerate(written, 1):
        values = {k: CALLED.get(str(v), v) for k, v in seen.values.items()}
        if seen.kind == "usage":
            del values["more"]
        named = evolve(seen, witness=CALLED.get(seen.witness, seen.witness), values=values)
        named = evolve(named, aside={}, time=float(line))
        clock = "one" if chosen.random() < 0.5 else seen.witness
        about = None if seen.witness in ("operator", "discovery") else ABOUT
        found.append(Noted(about, named, clock))
    return found


def spoiled(found: Sequence[Noted], seed: int) -> list[Noted]:
    """Logs with a token of the client lost, doubled, or swapped with the next one."""
    chosen = random.Random(seed)
    where = [i for i, n in enumerate(found) if n.observation.kind == "token"]
    if not where:
        return list(found)
    at = chosen.choice(where)
    match seed % 3:
        case 0:
            return [*found[:at], *found[at + 1 :]]
        case 1:
            return [*found[: at + 1], *found[at:]]
        case _:
            later = next((i for i in where if i > at), at)
            changed = list(found)
            changed[at], changed[later] = changed[later], changed[at]
            return changed


def both(
    found: Sequence[Noted], worlds: Worlds, who: Iterable[str] = WHOLE
) -> tuple[Explained, Explained]:
    """What comes of logs with tokens taken out, and without."""
    everybody, whole = Everybody(), [*facts(*who, allowed=6), *found]
    for each in whole:
        everybody.learn(each)
    own = [each for each in whole if each.about is not None]
    short = case(ABOUT, own, everybody, worlds)
    long = case(ABOUT, own, everybody, worlds, collapsed=False)
    assert len(short.system.initial.streams[0].attempts) == len(
        long.system.initial.streams[0].attempts
    )
    return explain(short), explain(long)


def test_taking_tokens_out_changes_no_answer() -> None:
    worlds, taken, answers = dynamo(), 0, set[Answer]()
    for seed, found in enumerate(long_runs(worlds)):
        for logs in (found, spoiled(found, seed)):
            short, long = both(logs, worlds)
            assert short.answer is long.answer
            assert (short.rejection is None) == (long.rejection is None)
            if short.rejection and long.rejection:
                assert short.rejection.at.place == long.rejection.at.place
            assert {each.prop for each in short.broken} == {each.prop for each in long.broken}
            answers.add(short.answer)
            taken += sizes(long.case.system) - sizes(short.case.system)
        if seed == MOST:
            break
    assert answers == {Answer.ACCEPTED, Answer.REJECTED}
    assert taken > MOST


def test_tokens_that_came_to_nobody_make_no_difference() -> None:
    worlds, narrowed = dynamo(), 0
    for seed, found in enumerate(long_runs(worlds)):
        kept = [each for each in found if each.observation.witness not in CALLED.values()]
        for logs in (kept, spoiled(kept, seed)):
            short, long = both(logs, worlds, THREE)
            assert short.answer is long.answer
            assert {each.prop for each in short.broken} == {each.prop for each in long.broken}
            assert isinstance(short.case.key, tuple)
            narrowed += bool(short.case.key[1].used)
        if seed == MOST:
            break
    assert narrowed


def sizes(system: System) -> int:
    return int(system.initial.max_tokens)


def test_a_run_of_the_model_written_out_as_a_log_is_accepted() -> None:
    worlds = dynamo(stream_timeout=True)
    often = tuple((name, 1) for name in ("crash", "hang", "leave", "resume"))
    system = worlds.of(Shape((("aggregated", 2),), 2, 2, 1, faults=often))
    for seed in range(25):
        trace = recorded.random_run(system, 60, seed)
        if trace.final.requests[0].phase not in TERMINAL:
            continue
        written = recorded.observed(trace)
        told = explain(one([*facts(*WHOLE), *logged(written, seed)], worlds))
        assert told.answer is Answer.ACCEPTED, written
