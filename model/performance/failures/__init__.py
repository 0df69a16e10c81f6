"""What a failure costs, and how often: detection, recovery, the storm, rates, checkpoints.

Read detection (how long until it is known) and recovery (where the KV of a lost request comes
from); storm (a failure in a simulated run, and what clients see of it); rates (how often, and what
is left of the goodput); checkpoints (what it costs to be ready).
"""
