"""`rackproof simulate`: questions about the performance of a deployment, and their answers.

Read answers (what a question gives: tables of numbers in SI units, plots as data), study (a file
with its runs), questions/ (a module each), command (all files, all questions); tables, plots and
machine are how people and programs see it.
"""
