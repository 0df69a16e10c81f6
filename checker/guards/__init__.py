"""Missing guards: the least test that a transition would have to make for a property to hold.

Read templates (tests over what a transition takes), graph (all states and moves), synthesis (which
tests to try, and how they are judged and proved).
"""

from rackproof.checker.guards.synthesis import Guard, Mend, NearMiss, Synthesis, missing_guards

__all__ = ["Guard", "Mend", "NearMiss", "Synthesis", "missing_guards"]
