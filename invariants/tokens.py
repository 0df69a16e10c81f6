"""What the client gets."""

from __future__ import annotations

from rackproof.invariants.lemmas import resumes_where_it_stopped
from rackproof.invariants.premises import (
    a_finish_was_delivered,
    a_token_was_delivered,
    a_whole_output_was_delivered,
)
from rackproof.model.kernel import always
from rackproof.model.request import Phase
from rackproof.model.sorts import Requests
from rackproof.model.world import World


@always(
    request=Requests,
    premise=a_token_was_delivered,
    why="A repeated token corrupts text, code and JSON, and is paid for twice.",
    catches=("dynamo#7930", "dynamo#7634", "vllm#38624"),
    lemmas=(resumes_where_it_stopped,),
)
def no_duplicate_tokens(world: World, request: int) -> bool:
    """No position of an output reaches the client twice.

    Broken: The client of {request} was sent a token for a position that its output was already
    past.
    """
    return not world.streams[request].duplicated


@always(
    request=Requests,
    premise=a_token_was_delivered,
    why="A missing token changes the meaning of what follows, and nobody is told.",
    catches=("dynamo#14378", "dynamo#3531"),
)
def no_lost_tokens(world: World, request: int) -> bool:
    """No position of an output is skipped, or missing when the output is finished.

    Broken: A token of {request} was skipped, or was missing when its output was finished.
    """
    return not world.streams[request].lost


@always(
    request=Requests,
    premise=a_finish_was_delivered,
    why="Clients stop reading, or fail, at the finish reason; tokens behind it are nonsense.",
    catches=("dynamo lib/llm/src/migration.rs (W1)",),
)
def nothing_after_finish(world: World, request: int) -> bool:
    """No token follows the finish reason.

    Broken: The client of {request} was sent a token after the finish reason.
    """
    return not world.streams[request].after_finish


@always(
    request=Requests,
    premise=a_token_was_delivered,
    why="max_tokens is a promise about cost and length.",
    catches=("dynamo lib/llm/src/migration.rs (W2)",),
)
def max_tokens_kept(world: World, request: int) -> bool:
    """A client never gets more tokens than it allowed.

    Broken: The client of {request} was sent more tokens than it allowed.
    """
    return not world.streams[request].over_budget


@always(
    request=Requests,
    premise=a_finish_was_delivered,
    why="Usage is what customers are billed by.",
    catches=("dynamo 1.6.1 on a CPU: prompt_tokens grow by a migration",),
)
def usage_exact(world: World, request: int) -> bool:
    """The usage reported counts the client's own prompt.

    Broken: The usage reported for {request} counts tokens of its output as prompt.
    """
    return not world.streams[request].inflated


@always(
    request=Requests,
    premise=a_finish_was_delivered,
    why="A request that ended and goes on costs work and confuses whoever waits for it.",
    catches=("dynamo lib/llm/src/migration.rs (W1)",),
)
def terminal_latch(world: World, request: int) -> bool:
    """A request whose finish was delivered is neither retried nor failed.

    Broken: The finish of {request} was delivered, and it was retried or failed all the same.
    """
    ended = (Phase.DECODING, Phase.DONE, Phase.CANCELLED)
    return not world.streams[request].finished or world.requests[request].phase in ended


@always(
    request=Requests,
    premise=a_whole_output_was_delivered,
    why="The client has all it asked for; an error on top makes it ask again.",
    catches=("dynamo lib/llm/src/migration.rs (W2)",),
)
def complete_output_succeeds(world: World, request: int) -> bool:
    """A request that was given all the tokens it allowed does not fail.

    Broken: {request} failed, though its client had been given all the tokens it allowed.
    """
    whole = world.streams[request].delivered >= world.max_tokens
    return not (world.requests[request].phase == Phase.FAILED and whole)
