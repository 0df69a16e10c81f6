"""A worker of Dynamo whose every token is known: the one at position p of the output is 2000 + p.

Run by Dynamo's own Python, in a process of its own. Where an attempt has to go on is read off the
tail of the token ids that it is sent, as an engine does; a token that is lost, doubled or out of
order is then seen in the client's text. What it emits is written to ``--record``, a JSON object a
line. Files in ``--hooks`` tell it what to do at a position; the first worker that gets there takes
the file, by renaming it:

    {"do": "hold", "at": 20}          wait at position 20 until the file is gone
    {"do": "hold", "at": "end"}       wait behind the finish reason, before the stream ends
    {"do": "exit", "at": "finish"}    die before the finish reason, all tokens sent
    {"do": "stall", "at": 20}         emit nothing more, and do not end
    {"do": "shutdown", "at": 20}      raise EngineShutdown
    {"do": "end", "at": 20}           end the stream without a finish reason
    {"do": "rewind", "at": 20, "to": 0}   emit from position 0 again
    {"do": "hold", "at": "prefill"}   a prefill worker: wait before the prefill is done

With ``"of": 101`` a hook is for requests whose prompt has the token 101; without, for any. A worker
with ``--disaggregation-mode prefill`` emits nothing that a client gets; one with ``decode`` is like
one that does both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TextIO

from dynamo._core import EngineShutdown
from dynamo.llm import ModelInput, ModelRuntimeConfig, ModelType, WorkerType, register_model
from dynamo.runtime import DistributedRuntime, dynamo_worker

FIRST = 2000
LONGEST = 4096
POLL = 0.002
FINISH, END, PREFILL = "finish", "end", "prefill"


CHAT = ModelType.Chat | ModelType.Completions
ROLES = {
    "aggregated": ("backend", CHAT, WorkerType.Aggregated, []),
    "prefill": ("prefill", ModelType.Prefill, WorkerType.Prefill, [[WorkerType.Decode]]),
    "decode": ("backend", CHAT, WorkerType.Decode, [[WorkerType.Prefill]]),
}
"""The component, the surface, the role of a worker, and the roles that it needs beside it."""


class Ended(Exception):
    """The stream is to end here, without a finish reason."""


class Oracle:
    """The engine: what it is asked, it answers from the positions alone."""

    def __init__(self, asked: argparse.Namespace, record: TextIO) -> None:
        self.name, self.record, self.hooks = asked.name, record, Path(asked.hooks)
        self.prompts: dict[str, frozenset[int]] = {}
        self.pause, self.length, self.emits = asked.pause, asked.length, asked.emits

    def note(self, event: str, rid: str, **more: Any) -> None:
        line = {"ts": time.time(), "pid": os.getpid(), "ev": event, "id": rid, **more}
        self.record.write(json.dumps(line) + "\n")
        self.record.flush()

    async def generate(self, request: Any, context: Any) -> AsyncIterator[dict[str, Any]]:
        """Emit what is left of the output, a token a message, then the finish reason."""
        tokens, rid = request["token_ids"], context.id()
        already = tokens[-1] - FIRST + 1 if tokens and tokens[-1] >= FIRST else 0
        asked = request["stop_conditions"].get("max_tokens")
        most = LONGEST if asked is None else asked
        self.prompts[rid] = frozenset(tokens)
        told = {key: value for key, value in request.items() if key != "token_ids"}
        if self.emits:
            most = max(most, 1)
        whole = self.length is not None and already < self.length <= already + most
        if whole:
            most = self.length - already
        event = "start" if most > 0 else "refused"
        self.note(event, rid, n_in=len(tokens), already=already, max_tokens=asked, request=told)
        if most < 1:  # as vLLM does
            raise ValueError(f"max_tokens must be at least 1, got {most}.")
        sent = 0
        try:
            for step in range(already, already + most):
                await asyncio.sleep(self.pause)
                position = await self.heed(step, step, rid)
                self.note("tok", rid, tok=FIRST + position)
                yield {"token_ids": [FIRST + position]}
                sent += 1
            await self.heed(FINISH, already + most, rid)
        except Ended:
            self.note("end", rid, sent=sent)
            return
        self.note("end", rid, sent=sent)
        yield {"token_ids": [], "finish_reason": "stop" if whole else "length"}
        await self.heed(END, already + most, rid)

    async def prefill(self, request: Any, context: Any) -> AsyncIterator[dict[str, Any]]:
        """Compute nothing, as long as one waits, and say where it would be."""
        tokens, rid = request["token_ids"], context.id()
        self.prompts[rid] = frozenset(tokens)
        asked = request["stop_conditions"].get("max_tokens")
        self.note("prefill", rid, n_in=len(tokens), max_tokens=asked)
        await asyncio.sleep(self.pause)
        await self.heed(PREFILL, 0, rid)
        self.note("prefilled", rid)
        del self.prompts[rid]
        where = {"kv": f"{self.name}/{rid}"}
        first = {"token_ids": tokens[-1:], "disaggregated_params": where}
        yield {**first, "finish_reason": "length"}

    async def heed(self, place: int | str, position: int, rid: str) -> int:
        """Do what a hook asks for here, and return the position that is emitted."""
        hook, file = self.take(place, self.prompts.get(rid, frozenset()))
        if hook is None:
            return position
        kind = hook["do"]
        told = "held" if kind == "hold" else "fault"
        self.note(told, rid, kind=kind, at=place, hook=file.stem)
        match kind:
            case "hold":
                while file.exists():
                    await asyncio.sleep(POLL)
            case "exit":
                await asyncio.sleep(4 * self.pause)  # what was sent is on its way by then
                os._exit(9)
            case "stall":
                await asyncio.Event().wait()
            case "shutdown":
                raise EngineShutdown("the engine is told to stop")
            case "end":
                raise Ended
            case "rewind":
                return int(hook["to"])
        return position

    def take(self, place: int | str, prompt: frozenset[int]) -> tuple[dict[str, Any] | None, Path]:
        """The first hook for this worker, request and place, which nobody else has then."""
        for file in sorted(self.hooks.glob("*.json")):
            try:
                hook = json.loads(file.read_text())
                mine = hook.get("worker", self.name) == self.name
                if mine and hook["at"] == place and prompt.issuperset(_of(hook)):
                    return hook, file.rename(file.with_suffix(".taken"))
            except FileNotFoundError:
                continue  # another worker was first
        return None, self.hooks


def _of(hook: dict[str, Any]) -> list[int]:
    """The token of the prompt of the request that a hook is for."""
    return [hook["of"]] if "of" in hook else []


def _as_the_mocker() -> ModelRuntimeConfig:
    """What the mocker says of itself: a frontend takes no workers with different cards."""
    config = ModelRuntimeConfig()
    config.context_length = 0
    config.total_kv_blocks = 16384
    config.max_num_seqs = 256
    config.max_num_batched_tokens = 8192
    config.enable_local_indexer = True
    config.kv_event_publishing_enabled = True
    config.set_engine_specific("output_replay_consumer", "true")
    return config


@dynamo_worker()  # type: ignore[untyped-decorator]
async def serve(runtime: DistributedRuntime, asked: argparse.Namespace) -> None:
    """Register the model and serve it until somebody ends the process."""
    component, surface, role, needs = ROLES[asked.disaggregation_mode]
    endpoint = runtime.endpoint(f"dynamo.{component}.generate")
    await register_model(
        ModelInput.Tokens,
        surface,
        endpoint,
        asked.model_path,
        asked.model_name,
        worker_type=role,
        needs=needs,
        kv_cache_block_size=64,
        runtime_config=_as_the_mocker(),
    )
    with Path(asked.record).open("a", encoding="utf-8") as record:
        oracle = Oracle(asked, record)
        serves = oracle.prefill if asked.disaggregation_mode == PREFILL else oracle.generate
        await endpoint.serve_endpoint(serves)


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--name", "--model-path", "--model-name", "--record", "--hooks"):
        parser.add_argument(option, required=True)
    parser.add_argument("--disaggregation-mode", choices=ROLES, default="aggregated")
    parser.add_argument("--pause", type=float, default=0.025)
    parser.add_argument("--length", type=int, help="tokens after which an output ends by itself")
    parser.add_argument("--emits", action="store_true", help="a token where none is left")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
