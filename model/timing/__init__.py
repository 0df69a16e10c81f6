"""How long the transitions of the world take, what they cost, and what their path is called.

Read timeouts (what an operator sets), deployment (what serves what), costs (the steps of engines
and the ways through the rack), durations (of every transition, as bounds over all of these),
clients (what they have got, and when they wait), charges and tags; clock puts them together.

One token of a scope stands for many of the output: see ``Deployment``.
"""
