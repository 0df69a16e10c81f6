"""A simulator that takes every step by itself, written anew and plainly: what the real one is
compared with. One dictionary of times a request; no energy, no meters, no leaps.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count

from rackproof.model.performance.simulation import Aggregated, Disaggregated, Request


class Loop:
    def __init__(self) -> None:
        self.now, self.heap, self.serial = 0.0, [], count()

    def at(self, time: float, call: Callable[[], None], late: bool = False) -> None:
        heapq.heappush(self.heap, (time, late, next(self.serial), call))

    def run(self) -> None:
        while self.heap:
            self.now, _, _, call = heapq.heappop(self.heap)
            call()


def size_of(request: Request) -> int:
    return request.prompt + request.output


class Router:
    """To the least of the instances; first-come: to one that has room, and until then in common."""

    def __init__(self, servers: list, score: Callable, first_come: bool, deliver: Callable) -> None:
        self.servers, self.score, self.deliver = servers, score, deliver
        self.first_come, self.common = first_come, deque()
        for server in servers:
            server.pull = self.pull

    def send(self, index: int, request: Request) -> None:
        self.common.append((index, request))
        self.pull()

    def pull(self) -> None:
        while self.common:
            able = [s for s in self.servers if not self.first_come or s.wants(self.common[0][1])]
            if not able:
                return
            self.deliver(min(able, key=self.score), *self.common.popleft())


class Batching:
    """A continuous batch: decode only, or with chunks of prompts."""

    def __init__(self, loop: Loop, engine, most: int, chunk: int | None, times) -> None:
        self.loop, self.engine, self.most, self.chunk, self.times = loop, engine, most, chunk, times
        self.queue, self.prompts, self.running, self.busy = deque(), [], [], False
        self.asks, self.promised, self.coming = deque(), {}, []
        self.pull = None

    def load(self) -> int:
        return len(self.queue) + len(self.prompts) + len(self.running) + len(self.coming)

    def wants(self, request: Request) -> bool:
        """With all that was sent here, whether it has a place and room or waits for either."""
        sent = [*((job["i"], job["r"]) for job in self.queue), *self.coming]
        sent += [(index, asking) for index, asking, _ in self.asks]
        inside = [*self.prompts, *self.running]
        claims = sum(size_of(r) for i, r in sent if i not in self.promised)
        room = self.room(inside) - claims
        return len(inside) + len(sent) < self.most and size_of(request) <= room

    def ask(self, index: int, request: Request, granted: Callable[[], None]) -> None:
        self.asks.append((index, request, granted))
        if not self.busy:
            self.grant([])

    def room(self, inside: list) -> int:
        reserved = [*(job["r"] for job in inside), *self.promised.values()]
        return self.engine.kv_capacity_tokens - sum(map(size_of, reserved))

    def grant(self, inside: list) -> None:
        while self.asks and size_of(self.asks[0][1]) <= self.room(inside):
            index, request, granted = self.asks.popleft()
            self.promised[index] = request
            granted()

    def come(self, index: int, request: Request) -> None:
        self.queue.append({"i": index, "r": request, "has": 1, "left": request.prompt})
        if not self.busy:
            self.busy = True
            self.loop.at(self.loop.now, self.begin, late=True)

    def begin(self) -> None:
        now = self.loop.now
        inside = [*self.prompts, *self.running]
        self.pull()
        self.grant(inside)
        while self.queue and len(inside) < self.most:
            job = self.queue[0]
            if job["i"] not in self.promised and size_of(job["r"]) > self.room(inside):
                break
            self.queue.popleft()
            self.promised.pop(job["i"], None)
            inside.append(job)
            if self.chunk is None:
                self.running.append(job)
            else:
                self.times[job["i"]]["started"] = now
                self.prompts.append(job)
        self.busy = bool(inside)
        if inside:
            self.step()

    def step(self) -> None:
        left, taken = (self.chunk or 0) - len(self.running), []
        for job in self.prompts:
            chunk = min(left, job["left"])
            if chunk:
                taken.append((job, chunk))
            left -= chunk
        spans = [(chunk, job["r"].prompt - job["left"]) for job, chunk in taken]
        context = sum(job["r"].prompt + job["has"] for job in self.running)
        seconds = self.engine.step(spans, len(self.running), context).seconds
        self.loop.at(
            self.loop.now + seconds, lambda: self.end(taken, list(self.running)), late=True
        )

    def end(self, taken: list, running: list) -> None:
        now = self.loop.now
        for job in running:
            job["has"] += 1
            self.times[job["i"]].setdefault("decoded", now)
        for job, chunk in taken:
            job["left"] -= chunk
            if not job["left"]:
                self.times[job["i"]]["prefilled"] = now
                self.prompts.remove(job)
                self.running.append(job)
        for job in [job for job in self.running if job["has"] == job["r"].output]:
            self.times[job["i"]]["finished"] = now
            self.running.remove(job)
        self.begin()


class Prefilling:
    """Whole prompts, first come, up to a budget."""

    def __init__(self, loop: Loop, engine, budget: int, done: Callable, times) -> None:
        self.loop, self.engine, self.budget, self.done, self.times = (
            loop,
            engine,
            budget,
            done,
            times,
        )
        self.queue, self.busy, self.running = deque(), False, 0
        self.pull = None

    def tokens(self) -> int:
        return sum(request.prompt for _, request in self.queue)

    def load(self) -> int:
        return len(self.queue) + self.running

    def wants(self, request: Request) -> bool:
        if self.running:
            return False
        return not self.queue or self.tokens() + request.prompt <= self.budget

    def come(self, index: int, request: Request) -> None:
        self.queue.append((index, request))
        if not self.busy:
            self.busy = True
            self.loop.at(self.loop.now, self.begin, late=True)

    def begin(self) -> None:
        batch: list[tuple[int, Request]] = []
        self.running = 0
        self.pull()
        while self.queue:
            tokens = sum(r.prompt for _, r in [*batch, self.queue[0]])
            if batch and tokens > self.budget:
                break
            batch.append(self.queue.popleft())
            self.times[batch[-1][0]]["started"] = self.loop.now
        self.busy, self.running = bool(batch), len(batch)
        if batch:
            seconds = self.engine.step([(r.prompt, 0) for _, r in batch], 0, 0).seconds
            self.loop.at(self.loop.now + seconds, lambda: self.end(batch), late=True)

    def end(self, batch: list[tuple[int, Request]]) -> None:
        self.running = 0
        for index, request in batch:
            self.times[index]["prefilled"] = self.loop.now
            self.done(index, request)
        self.begin()


def stepwise(
    deployment: Disaggregated | Aggregated, requests: Sequence[Request]
) -> list[dict[str, float]]:
    """What became of each request: started, prefilled, handed over, decoded, finished."""
    loop, times = Loop(), [{} for _ in requests]
    if isinstance(deployment, Aggregated):
        pool, chunk = deployment.pool, deployment.chunk_tokens
        servers = [
            Batching(loop, pool.engine, deployment.decode_batch, chunk, times)
            for _ in range(pool.count)
        ]
        first_come = deployment.routing == "first-come"
        admit = Router(servers, Batching.load, first_come, Batching.come).send
    else:
        admit = disaggregated(loop, deployment, times)
    for index, request in enumerate(requests):
        loop.at(request.arrival_s, lambda i=index, r=request: admit(i, r))
    loop.run()
    return times


def disaggregated(loop: Loop, deployment: Disaggregated, times) -> Callable:
    engine, most = deployment.decode.engine, deployment.decode_batch
    decode = [Batching(loop, engine, most, None, times) for _ in range(deployment.decode.count)]
    free = [0.0] * (deployment.hand_off.channels or deployment.prefill.count)
    link = deployment.hand_off.link

    def hand_over(index: int, request: Request) -> None:
        if request.output == 1:
            times[index]["finished"] = loop.now
            return
        if not deployment.chosen_early:
            channel(request, lambda: arrive(index, request))
            return
        router.send(index, request)

    def ship(server: Batching, index: int, request: Request) -> None:
        if not deployment.chosen_early:
            server.come(index, request)
        elif deployment.back_pressure:
            server.ask(index, request, lambda: send_to(server, index, request))
        else:
            send_to(server, index, request)

    def channel(request: Request, done: Callable[[], None]) -> None:
        first = free.index(min(free))
        size = request.prompt * engine.kv_bytes_per_token
        free[first] = max(loop.now, free[first]) + link.seconds(size)
        loop.at(free[first], done)

    def send_to(server: Batching, index: int, request: Request) -> None:
        server.coming.append((index, request))
        channel(request, lambda: land(server, index, request))

    def land(server: Batching, index: int, request: Request) -> None:
        server.coming.remove((index, request))
        times[index]["handed_over"] = loop.now
        server.come(index, request)

    def arrive(index: int, request: Request) -> None:
        times[index]["handed_over"] = loop.now
        router.send(index, request)

    router = Router(decode, Batching.load, deployment.decode_routing == "first-come", ship)
    prefill = [
        Prefilling(loop, deployment.prefill.engine, deployment.prefill_tokens, hand_over, times)
        for _ in range(deployment.prefill.count)
    ]
    first_come = deployment.prefill_routing == "first-come"
    score = Prefilling.load if first_come else Prefilling.tokens
    return Router(prefill, score, first_come, Prefilling.come).send
