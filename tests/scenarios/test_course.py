"""What became of a request, and what is broken, in the numbers of its logs."""

from collections.abc import Iterable

from attrs import evolve

from rackproof.model.kernel import Observation, Place
from rackproof.model.kernel.evidence import Value
from rackproof.scenarios.recorded.course import course
from rackproof.scenarios.recorded.everybody import Everybody
from rackproof.scenarios.recorded.migrations import migrations
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.recorded.sentences import sentences


def noted(witness: str, kind: str, line: int = 1, **values: Value) -> Noted:
    seen = Observation(witness, kind, values, place=Place(f"{witness}.log", line), time=float(line))
    return Noted("r", seen, "host")


def tokens(*positions: int) -> list[Noted]:
    return [noted("client", "token", 10 + n, position=at) for n, at in enumerate(positions)]


def sent(attempt: int, worker: str, delivered: int = 0) -> Noted:
    return noted(
        "frontend", "dispatch", 1 + attempt, attempt=attempt, worker=worker, delivered=delivered
    )


def failed(attempt: int, worker: str, error: str = "disconnected") -> Noted:
    return noted("frontend", "failed", 30, attempt=attempt, worker=worker, error=error)


ASKED = noted("facts", "asked", **{"max-tokens": 6})


def told(own: list[Noted], limit: int | None = None, faults: Iterable[Noted] = ()) -> str | None:
    done = {"w0": [*faults]}
    found = course(own, Everybody(), migrations(own, done), limit)
    return None if found is None or found.is_plain else str(found)


def test_what_went_plainly_well_is_no_word_worth() -> None:
    own = [ASKED, sent(0, "w0"), *tokens(0, 1), noted("client", "finish"), noted("client", "end")]
    assert told(own) is None


def test_a_request_that_was_given_up_is_told_with_the_reason() -> None:
    end = [noted("client", "error"), noted("client", "end")]
    own = [ASKED, sent(0, "w0"), *tokens(0, 1), failed(0, "w0"), *end]
    crash = noted("operator", "crash", 20, worker="w0")
    assert told(own, 0, [crash]) == (
        "error after 2 of 6 tokens; attempt 0 at w0: disconnected (crash of w0); "
        "not sent again: the retry limit is 0"
    )
    assert told(own, 3) == (
        "error after 2 of 6 tokens; attempt 0 at w0: disconnected; "
        "not sent again, and no log says why"
    )


def test_a_migration_is_told_with_how_far_the_client_was() -> None:
    own = [ASKED, sent(0, "w0"), failed(0, "w0"), sent(1, "w1", 2), *tokens(0, 1, 2, 3, 4, 5)]
    own += [noted("client", "finish"), noted("frontend", "done", attempt=1, worker="w1")]
    assert told(own, 3) == (
        "finished after 6 of 6 tokens; attempt 0 at w0: disconnected after 2 tokens; "
        "attempt 1 at w1: done"
    )


def test_an_end_without_a_word_and_no_end_at_all() -> None:
    own = [ASKED, sent(0, "w0"), *tokens(0, 1)]
    assert told(own) == "no end of it is recorded, after 2 of 6 tokens; attempt 0 at w0"
    own.append(noted("client", "end"))
    assert told(own) == (
        "ended after 2 of 6 tokens, with neither a finish reason nor an error; attempt 0 at w0"
    )
    assert sentences("r", own, Everybody()) == {
        "clear-failure": "The stream ended after 2 of 6 tokens with neither a finish reason nor an "
        "error"
    }


def test_a_worker_that_begins_again_is_named_with_its_attempt() -> None:
    own = [ASKED, sent(0, "w0"), failed(0, "w0"), sent(1, "w1", 2), *tokens(0, 1, 0, 1, 2, 3, 4)]
    found = sentences("r", own, Everybody())
    assert found["no-duplicate-tokens"] == (
        "The client got the token at position 0 a second time: attempt 1 was sent to w1 with 2 "
        "tokens delivered (frontend.log:2), and the next token was of position 0, so that w1 began "
        "again from the start"
    )
    assert found["max-tokens-kept"] == "The client got 7 tokens, of 6 that it allowed"


def test_the_usage_is_told_with_its_numbers() -> None:
    usage = noted("client", "usage", 64, prompt=9, completion=2)
    own = [
        ASKED,
        noted("facts", "prompt", tokens=7),
        sent(0, "w0"),
        sent(1, "w1", 2),
        *tokens(0, 1),
    ]
    assert sentences("r", [*own, usage], Everybody())["usage-exact"] == (
        "The usage at client.log:64 says 9 prompt tokens; the prompt has 7, and the 2 delivered "
        "before the request was sent again are counted once more"
    )
    short = noted("client", "usage", 64, prompt=7, completion=1)
    assert sentences("r", [*own, short], Everybody())["usage-exact"] == (
        "The usage at client.log:64 says 1 tokens of output, and the client got 2"
    )


def test_a_fault_of_a_worker_that_no_other_record_names_is_told() -> None:
    everybody = Everybody()
    for one in (sent(0, "w0"), *(noted("operator", "crash", 9, worker=w) for w in ("w0", "w7"))):
        everybody.learn(evolve(one, about=None if one.observation.witness == "operator" else "r"))
    assert [words for _, words in everybody.strangers()] == ["the worker w7 is in no other record"]
