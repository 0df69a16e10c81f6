"""A run explained on one page: HTML that needs nothing beside itself, on a screen or on paper."""

from rackproof.checker.report.page.render import page

__all__ = ["page"]
