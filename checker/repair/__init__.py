"""What mends a violation, and what a property that holds needs: over all choices of mechanisms.

``switches`` finds the mechanisms of a world; ``runs`` tells for which choices a counterexample is
one; ``candidates`` picks the cheapest choice that is left; ``protocols`` explores it; ``hitting``
goes round. ``repairs`` and ``needs`` ask it from both ends, ``diagnosis`` of a whole setting.
"""
