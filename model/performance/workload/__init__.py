"""What is asked of a deployment: requests in order of arrival, made up or read from a trace.

A workload is something to iterate over, as often as one likes: each time the same requests, made or
read one by one, so that a million of them take no more memory than one. Read synthetic (arrivals
and lengths from a seed), records (rows of a trace file, and what is wrong with them), azure and
mooncake (the two published formats), replay (faster, repeated, or only the first so many).
"""

from rackproof.model.performance.workload.azure import azure_rows
from rackproof.model.performance.workload.mooncake import mooncake_rows
from rackproof.model.performance.workload.replay import Replayed
from rackproof.model.performance.workload.synthetic import Arrivals, Lengths, Synthetic

__all__ = ["Arrivals", "Lengths", "Replayed", "Synthetic", "azure_rows", "mooncake_rows"]
