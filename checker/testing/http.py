"""A stack that speaks OpenAI's protocol, to be driven in lock step: see docs/adapters.md."""

from rackproof.scenarios.adapters.http import HttpAdapter, Signals

__all__ = ["HttpAdapter", "Signals"]
