"""What serves what: a model on GPUs, the requests it gets, and how busy it is.

The world counts a few tokens where an output has hundreds. Its first token is the first of the
output and its last the last; those between are as far apart as each other. So three tokens of an
output of 601 are its tokens 1, 301 and 601, and while the world waits for the next of them, the
client gets 299 others that the world has no step for. An output of one token in the world is its
last. The first is there when an attempt begins to run: the step that leads there (a prefill, or the
end of a load) has its time. All that is computed takes the time of all tokens; a client that is
being streamed to does not wait, and what it does wait is known to a decode step.

What a worker had computed since the last token of the world is lost to the account when it dies:
the next attempt goes on with the next token of the world. So the most that a run with one failure
takes is right to a step, and the least is too little by up to what lies between two tokens.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs
from attrs import field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import not_negative, positive, share

_SECONDS: Final = "seconds"


def _seconds(default: float, source: str, validator: Any = positive) -> Any:
    """A time, and where it is known from."""
    return field(default=default, validator=validator, metadata={_SECONDS: source})


@frozen
class Deployment:
    """What serves what; by default what the published study of a rack has.

    model, gpu, kv_format: presets. gpus: of an instance; by default those it is placed on. prompt,
    output: tokens of a request. batch: requests that a decode instance serves at a time.
    link_share: of the bandwidth of a link, what is left for a transfer at the worst. queue_wait:
    seconds that a request waits in the queue of a worker at the worst. network_rtt: of a message
    and its answer, at the worst. The other times are assumed: processing, what a process takes to
    get to something; discovery_event and event_delivery, until the router hears of a worker, or
    of a cache; index_dump, until a worker has told all it holds; backlog, until a worker has worked
    off its load; outage, of discovery; registration, of the memory of an instance; key_unpack, of a
    peer's; process_restart, of a process without a model; restart and
    restart_at_worst, of an instance.
    """

    CALLED: ClassVar[str] = "deployment"

    model: str = "llama-3-70b"
    gpu: str = "gb200"
    gpus: int | None = field(default=None, validator=attrs.validators.optional(positive))
    kv_format: str = "bf16"
    prompt: int = field(default=3000, validator=positive)
    output: int = field(default=600, validator=positive)
    batch: int = field(default=51, validator=positive)
    link_share: float = field(default=0.3, validator=share)
    queue_wait: float = _seconds(
        0.32,
        "rack study, 12:6 at 90 requests/s: TTFT p99 is 420 ms, of which the prefill is 96 ms",
        not_negative,
    )
    network_rtt: float = _seconds(1e-3, "assumed: within a data centre")
    processing: float = _seconds(1e-3, "assumed")
    discovery_event: float = _seconds(0.1, "assumed")
    event_delivery: float = _seconds(0.01, "assumed")
    index_dump: float = _seconds(0.1, "assumed")
    backlog: float = _seconds(
        2.8, "W / (mu - lambda) for one decode instance of six lost at 90 requests/s"
    )
    outage: float = _seconds(30.0, "assumed: a pod of etcd that is started again")
    registration: float = _seconds(11.0, "unconfirmed: ServerlessLLM, 11 s for a new backend")
    key_unpack: float = _seconds(0.01, "assumed")
    process_restart: float = _seconds(1.0, "assumed: a process that loads no model")
    restart: float = _seconds(64.0, "arXiv 2601.01310: MegaScale-Infer")
    restart_at_worst: float = _seconds(600.0, "arXiv 2601.22438: up to 10 min")

    def __attrs_post_init__(self) -> None:
        """Refuse a worst that is better than the best."""
        if self.restart_at_worst < self.restart:
            raise ModelError(
                f"restart-at-worst is {self.restart_at_worst:g} s, less than the {self.restart:g} "
                "s of restart"
            )


TIMES: Final = tuple(
    attribute.name.replace("_", "-")
    for attribute in attrs.fields(Deployment)
    if _SECONDS in attribute.metadata
)
"""The keys whose values are times."""


def source_of(key: str, value: float) -> str:
    """Where a time is known from: its default as it is cited, any other from who gave it."""
    attribute = attrs.fields_dict(Deployment)[key.replace("-", "_")]
    source: str = attribute.metadata[_SECONDS]
    return source if value == attribute.default else "the scenario"


def deployment(values: Mapping[str, object]) -> Deployment:
    """A deployment from kebab-case keys; ``ModelError`` names a key that is unknown or no good."""
    known = {attribute.name.replace("_", "-"): attribute for attribute in attrs.fields(Deployment)}
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            told = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise ModelError(f"a deployment has no {key!r}; {told}")
    return Deployment(**{known[key].name: value for key, value in values.items()})  # type: ignore[arg-type]
