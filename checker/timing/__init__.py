"""Runs with times: when each step can happen, under which values of the times, and at what cost.

``amounts`` are linear expressions over named times, exact; ``durations`` what a system says of its
transitions in them. ``windows`` turns a run into difference constraints, ``network`` solves them,
``condition`` projects the times out, ``possible`` says it in words. ``moves`` and ``classes`` are
the state class graph, over all runs at once; ``reach``, ``stalls`` and ``paths`` what is read off
it, and ``command`` the command ``cost``. Nothing here knows what is timed.
"""
