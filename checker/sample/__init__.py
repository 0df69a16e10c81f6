"""Engine ``sample``: runs of a world that Hypothesis draws, for scopes beyond search.

``machine`` makes a state machine of any system, ``point`` says what is possible in a state,
``phases`` in which phase of the protocol a fault came, ``tally`` what the runs have been through,
``walks`` are plain random ones, ``engine`` draws runs batch by batch, ``shortest`` hands what was
found to search.
"""
