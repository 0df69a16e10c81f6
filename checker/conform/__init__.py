"""Recorded runs held against the model: is there a run of it that explains the record?"""
