"""What was read of a record, line by line, before anybody knows what it is a record of."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.kernel import Observation, Place


@frozen
class Noted:
    """An observation, under the names that the log has for everything.

    about: the request (or the block) that it is of; None for what concerns all of them, such as
    the crash of a worker. clock: what its time was read from; what has the same clock has an order.
    """

    about: str | None
    observation: Observation
    clock: str


@frozen
class Doubt:
    """Something of a file that could not be read as it should, and was passed over."""

    place: Place
    words: str
