"""What is broken, told with the numbers of the logs and the records that show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rackproof.scenarios.recorded.everybody import Everybody
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.recorded.story import Story, whole


def sentences(about: str, own: Sequence[Noted], everybody: Everybody) -> Mapping[str, str]:
    """By the name of a property, what is so instead if a request breaks it, where the logs tell."""
    story = Story(about, everybody)
    for noted in own:
        story.take(noted)
    return dict(_told(story))


def _told(story: Story) -> Iterator[tuple[str, str]]:
    kinds = {seen.kind for seen in story.client}
    had, most = len(story.tokens), whole(story.fact("asked", "max-tokens"))
    if "end" in kinds and not kinds & {"finish", "error", "left"}:
        of = "" if most is None else f" of {most}"
        yield (
            "clear-failure",
            f"The stream ended after {had}{of} tokens with neither a finish reason nor an error",
        )
    if most is not None and had > most:
        yield "max-tokens-kept", f"The client got {had} tokens, of {most} that it allowed"
    if again := _began_again(story):
        yield "no-duplicate-tokens", again
    if usage := _usage(story):
        yield "usage-exact", usage


def _began_again(story: Story) -> str | None:
    """The first token that came again, and which attempt began again with it."""
    positions = [whole(seen.values.get("position")) for seen in story.tokens]
    first = {one: n for n, one in reversed(list(enumerate(positions)))}
    number = next((n for n, one in enumerate(positions) if first[one] < n), None)
    position = None if number is None else positions[number]
    if number is None or position is None:
        return None
    told = f"The client got the token at position {position} a second time"
    for sent in story.dispatches:
        if sent.values.get("delivered") == number > 0:
            worker = story.everybody.called(sent.values.get("worker", "a worker"))
            attempt = sent.values.get("attempt")
            return (
                f"{told}: attempt {attempt} was sent to {worker} with {number} tokens delivered "
                f"({sent.place}), and the next token was of position {position}, so that {worker} "
                "began again" + (" from the start" if position == 0 else "")
            )
    return told


def _usage(story: Story) -> str | None:
    """The numbers of the usage, and where they come from."""
    usage = next((seen for seen in story.client if seen.kind == "usage"), None)
    if usage is None:
        return None
    prompt, completion = (whole(usage.values.get(name)) for name in ("prompt", "completion"))
    where = f"The usage{f' at {usage.place}' if usage.place else ''} says"
    had = len(story.tokens)
    if completion is not None and completion != had:
        return f"{where} {completion} tokens of output, and the client got {had}"
    return None if prompt is None else f"{where} {prompt} prompt tokens{_counted(story, prompt)}"


def _counted(story: Story, prompt: int) -> str:
    """How many of the prompt's tokens in a usage are the client's own."""
    again = (story.resent[-1] or 0) if story.dispatches else 0
    own = story.prompt
    if own is None and again:
        return f", and the {again} delivered before the request was sent again are among them"
    if own is None or own == prompt:
        return ""
    if again and prompt == own + again:
        return (
            f"; the prompt has {own}, and the {again} delivered before the request was sent again "
            "are counted once more"
        )
    return f"; the prompt has {own}"
