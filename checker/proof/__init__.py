"""Verdicts for runs of any length: from a lowered relation to terms, to solvers, to certificates.

Read terms (decision trees as terms of any algebra), obligations (what is to be shown), then the
engines over them.
"""
