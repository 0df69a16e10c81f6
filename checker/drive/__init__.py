"""Runs of the model tried on a live deployment: from a scenario to whether it is so.

How a deployment is started, broken and recorded is in ``rackproof.scenarios.live``.
"""
