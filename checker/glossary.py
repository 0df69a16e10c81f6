"""The words of a report: what each verdict and term means, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen


@frozen
class Word:
    """What a word means, in a sentence first; do: what to do next, where there is something."""

    name: str
    text: str
    do: str = ""


def _by_name(*words: Word) -> Mapping[str, Word]:
    return {word.name: word for word in words}


VERDICTS: Final = _by_name(
    Word(
        "proved",
        "It holds in runs of any length. A proof by induction was found, and two solvers confirmed "
        "it from the transitions themselves; its premise is met by some run, and each fault of the "
        "scope takes effect in one. It is proved for the sizes of the scope, unless --any leaves "
        "one open.",
        "Keep the certificate (--save DIR), which rackproof check-certificate checks again.",
    ),
    Word(
        "holds",
        "Every reachable state of the scope was seen, and it holds in all of them. Nothing follows "
        "for another scope: a bug that takes a second request or fault is not seen without it.",
        "Make the scope larger, or ask for a proof: rackproof verify --engine prove.",
    ),
    Word(
        "violated",
        "There is a run that violates it. It was walked again with the plain functions of the "
        "model before it was shown, and it has the fewest faults, and with these the fewest steps, "
        "unless the report says otherwise.",
        "Read why (rackproof verify --explain), find what mends it (--repair), keep it as a "
        "scenario (--save DIR). Where the bug is known, expect it: expect: {NAME: violated}.",
    ),
    Word(
        "vacuous",
        "Every state was seen, but nothing in them put it to the test: its premise never comes "
        "true, no state is at rest, a fault never took effect, or the world has none of what it "
        "speaks of. It is no success; where it is expected to hold, it is a failure.",
        "Make the scope larger, until what the reason names happens; or leave the property out of "
        "expect:. With --strict it fails also where nothing expects it.",
    ),
    Word(
        "inconclusive",
        "The search ended before it could tell, and the reason says why: time, memory, or a "
        "premise of which nothing is known. It is neither a success nor a violation.",
        "Allow more (--time-limit, --memory, --workers), make the scope smaller, leave out orders "
        "that make no difference (--reduce), or try a proof (--engine prove).",
    ),
)

TERMS: Final = _by_name(
    Word(
        "fault",
        "Something that breaks, or is slower than the protocol counts on: a transition that may "
        "happen wherever it is possible and never has to. A scope says how often each may happen "
        "in a run.",
        "rackproof list faults",
    ),
    Word(
        "scope",
        "How much is explored: how many requests, tokens, retries, and which faults how often. A "
        "verdict holds for its scope and no other.",
        "rackproof list scope",
    ),
    Word(
        "fault-budget",
        "How often each fault may happen in a run of a scope, and how often a client may leave or "
        "ask again. What has no budget never happens.",
        "rackproof list faults; in a scenario: scope: faults:",
    ),
    Word(
        "fair-run",
        "A run in which nothing is put off for ever that its fairness promises: a step that stays "
        "possible is taken at some time. Faults and the choices of clients are never promised.",
    ),
    Word(
        "state-class",
        "All moments of runs that have the same state and differ only in how long ago what "
        "happened; their times are kept as inequalities. Where all classes were seen, all runs "
        "within the times were.",
    ),
    Word(
        "inhibited",
        "Of a worker: the router leaves it out of its choice, as a request to it failed or was "
        "silent too long.",
    ),
    Word(
        "exam",
        "A scope with a rack, in which every stack is put to the test.",
        "rackproof list exams; only one of them: rackproof verify stack:NAME --exam NAME",
    ),
    Word(
        "premise",
        "What must happen for a property to say anything. Where it never does, the property is "
        "vacuous.",
    ),
    Word(
        "at-rest",
        "A state in which no step and no timer is possible any more; faults and clients may still "
        "act, but nothing has to. What must become so in the end is asked there.",
    ),
    Word(
        "attempt",
        "One dispatch of a request to a worker, or to a pair of a prefill and a decode worker. A "
        "retry or a migration begins another; what an earlier attempt left behind is told from "
        "what is new by its number.",
    ),
    Word(
        "migration",
        "A request goes on at another worker after its own failed: what was already delivered is "
        "sent along as part of the prompt, and must not be delivered again.",
    ),
    Word(
        "lease",
        "Something held for a time and no longer, unless it is renewed: a registration in "
        "discovery, a block of KV that is kept for its reader. What happens at its end does not "
        "wait for whoever still relies on it.",
    ),
    Word(
        "lasso",
        "A run that goes on for ever: some steps that lead to a loop, and the loop, without a "
        "fault and with to each transition what its fairness promises. It violates what must come "
        "true again and again. A scenario writes it with loop:.",
    ),
    Word(
        "pivot",
        "The last step of a counterexample before which another choice would still have saved it. "
        "After it, every way on ends in the violation.",
        "rackproof verify TARGET --explain",
    ),
    Word(
        "near-miss",
        "The safe run that is closest to a counterexample: both go the same way up to one step, "
        "where they part.",
        "rackproof verify TARGET --explain",
    ),
    Word(
        "counterexample",
        "A run from the initial state that violates a property: with the fewest faults, and with "
        "these in the fewest steps. Each step is one transition of the model.",
        "rackproof verify TARGET --save DIR writes it as a scenario, rackproof replay shows it.",
    ),
    Word(
        "untested",
        "Nothing put it to the test, so that it says nothing, and nobody expected otherwise: the "
        "verdict is vacuous, and the reason is told with it.",
        "rackproof explain vacuous; --strict makes it fail.",
    ),
    Word(
        "bad-input",
        "A target could not be read or is not as it has to be, and nothing is known of it: the "
        "message says what was given and what was expected. The exit status is 2.",
        "Mend what the message names; rackproof new writes a scenario to begin with.",
    ),
    Word(
        "our-fault",
        "Rackproof itself failed, and nothing is known of the target. The exit status is 70.",
        "Report it, with the lines that are told and the command that led to them.",
    ),
    Word(
        "interrupted",
        "The run was ended from outside (Ctrl-C, a build that is cancelled or out of time) before "
        "this was verified: nothing is known of it. What was known by then is told. The exit "
        "status is 130.",
        "Run it again; --time-limit lets each exploration end by itself, with what it found.",
    ),
    Word(
        "cut-set",
        "Faults that together can break a property, none of which can be left out.",
        "rackproof cuts TARGET",
    ),
)
