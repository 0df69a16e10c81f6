"""NVIDIA Dynamo, to be driven in lock step: see docs/dynamo.md."""

from rackproof.scenarios.adapters.dynamo import DynamoAdapter
from rackproof.scenarios.live.dynamo import Dynamo, find_python

__all__ = ["Dynamo", "DynamoAdapter", "find_python"]
