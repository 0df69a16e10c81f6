"""A guided request is migrated after half its JSON was sent

1. The router sends request-0 to worker-0, which accepts it.
2. worker-0 opens the response stream of request-0 and computes its prefill.
3. worker-0 emits token 1 of request-0.
4. worker-0 crashes: its KV blocks are gone, its open connections break.
5. The frontend gets token 1 of request-0 (attempt-0) and hands it on to the client.
6. The frontend finds the stream of request-0 from worker-0 broken: request-0 is to be sent again.
7. The router sends request-0 again, to worker-1, which accepts it.
8. worker-1 opens the response stream of request-0 and computes its prefill.
9. worker-1 emits token 1 of request-0.
10. The frontend gets token 1 of request-0 (attempt-1) and hands it on; the client had it before.

This fails while that run is possible. It says nothing of other runs:
    rackproof verify scenarios/bugs/dynamo-7930-guided-request-migrated.yaml
"""

from rackproof.checker.testing import no_longer

RUN = """\
rackproof: 1
name: 'A guided request is migrated after half its JSON was sent: no-duplicate-tokens is violated'
source: https://github.com/ai-dynamo/dynamo/issues/7930
protocol: {stack: dynamo, migrate-guided-requests: true}
rack: {preset: nvl72, aggregated: 2}
scope: {tokens: 2, guided: true, faults: {crash: 1}}
expect: {no-duplicate-tokens: {violated: {steps: 10, faults: 1}}}
steps:
- {dispatch: {request: request-0, worker: worker-0}, after: 500 us}
- {start-stream: {request: request-0, attempt: attempt-0, worker: worker-0}, after: 96.3728 ms}
- emit: {request: request-0, attempt: attempt-0, worker: worker-0}
- crash: {worker: worker-0}
- {receive: {request: request-0, attempt: attempt-0}, after: 500 us}
- notice: {request: request-0, attempt: attempt-0, worker: worker-0}
- {dispatch: {request: request-0, worker: worker-1}, after: 500 us}
- {start-stream: {request: request-0, attempt: attempt-1, worker: worker-1}, after: 96.3728 ms}
- emit: {request: request-0, attempt: attempt-1, worker: worker-1}
- {receive: {request: request-0, attempt: attempt-1}, after: 500 us}
then:
  requests[request-0].phase: decoding
  streams[request-0].attempts[attempt-0].worker: worker-0
  streams[request-0].attempts[attempt-0].stage: running
  retries[request-0].current: attempt-1
  retries[request-0].dispatches: 2
  retries[request-0].in_round: 2
  retries[request-0].accepted: true
  retries[request-0].booked: [worker-1]
  streams[request-0].attempts[attempt-0].sent: 1
  endpoints[worker-0].process: down
  budget.crash: 0
  streams[request-0].attempts[attempt-0].received: 1
  streams[request-0].delivered: 1
  retries[request-0].failed: [worker-0]
  endpoints[worker-0].inhibited: true
  streams[request-0].attempts[attempt-1].worker: worker-1
  streams[request-0].attempts[attempt-1].stage: running
  streams[request-0].attempts[attempt-1].sent: 1
  streams[request-0].attempts[attempt-1].received: 1
  streams[request-0].duplicated: true
  no-duplicate-tokens: violated
"""


def test_no_duplicate_tokens() -> None:
    """No position of an output reaches the client twice."""
    no_longer(RUN, __file__)
