"""A serving stack of one's own, its adapter, and the test that drives it beside the model."""

from collections import deque
from collections.abc import Sequence

import rackproof.testing
from rackproof.model.kernel import Observation
from rackproof.testing.adapters import Adapter, Ask, Ineffective, Setup, seen


class Stack:
    """A toy in place of yours: a router that streams from one worker and retries on the next."""

    def __init__(self, workers: Sequence[str], retry_limit: int) -> None:
        """All workers are up."""
        self.up, self.retry_limit = dict.fromkeys(workers, True), retry_limit
        self.failed: set[str] = set()
        self.client: deque[tuple[str, int]] = deque()
        self.left = self.position = self.tries = 0
        self.worker: str | None = None

    def send(self, tokens: int) -> None:
        """A client asks for so many tokens."""
        self.left = tokens

    def step(self) -> bool:
        """Dispatch, or generate a token; False where there is nothing to do."""
        if not self.left:
            return False
        if self.worker is not None and not self.up[self.worker]:
            self.failed.add(self.worker)
            self.worker = None
        elif self.worker is None:
            self.dispatch()
        else:
            self.generate()
        return True

    def dispatch(self) -> None:
        """Choose a worker that did not fail yet; the request keeps the tokens it has."""
        choice = [w for w, is_up in self.up.items() if is_up and w not in self.failed]
        if not choice or self.tries > self.retry_limit:
            self.client.append(("error", 0))
            self.left = 0
        else:
            self.worker, self.tries = choice[0], self.tries + 1

    def generate(self) -> None:
        """Stream the next token; the last one with the finish reason."""
        self.client.append(("token", self.position))
        self.position, self.left = self.position + 1, self.left - 1
        if not self.left:
            self.client.append(("finish", 0))


class MyAdapter(Adapter):
    """What the test calls: it starts, drives and observes the stack."""

    def launch(self, setup: Setup) -> None:
        """Start it, with nothing of an earlier run."""
        self.stack = Stack(list(setup.workers), setup.retry_limit)

    def stop(self) -> None:
        """Nothing is left running."""

    def submit(self, ask: Ask) -> None:
        """Send the request; its stream is read by ``observe``."""
        self.request = ask.request
        self.stack.send(min(ask.tokens, ask.max_tokens))

    def kill(self, worker: str) -> None:
        """The one fault that this adapter can inject: no other is chosen."""
        if not self.stack.up[worker]:
            raise Ineffective(f"{worker} is gone already")
        self.stack.up[worker] = False

    def advance(self) -> bool:
        """One step of the stack; False once it is quiet."""
        return self.stack.step()

    def observe(self) -> Sequence[Observation]:
        """What the client got since the last time."""
        found: list[Observation] = []
        while self.stack.client:
            kind, position = self.stack.client.popleft()
            if kind == "token":
                found.append(seen.token(self.request, position))
            else:
                tell = seen.finish if kind == "finish" else seen.error
                found.append(tell(self.request))
                found.append(seen.end(self.request))
        return found


test_my_stack = rackproof.testing.lockstep("stack:reference", MyAdapter, examples=30)
