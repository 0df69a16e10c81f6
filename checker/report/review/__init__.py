"""The review report: what was checked and found, as pages to be passed round in a design review."""

from rackproof.checker.report.review.command import Review

__all__ = ["Review"]
