"""A small serving stack in one process, with bugs to switch on."""

from rackproof.scenarios.adapters.fake import Bug, FakeAdapter, FakeStack

__all__ = ["Bug", "FakeAdapter", "FakeStack"]
