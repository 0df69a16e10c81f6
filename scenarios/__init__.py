"""Scenarios: what is explored, on which rack, and what is expected of it."""
