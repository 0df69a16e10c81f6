"""The router under the same faults as its protocol."""

import rackproof.testing
from rackproof.testing.fake import FakeAdapter  # in place of an adapter of your own

test_recovery = rackproof.testing.machine("protocols/router.yaml", runs=100)
test_router = rackproof.testing.lockstep("protocols/router.yaml", FakeAdapter, examples=50)
