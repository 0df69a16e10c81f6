"""What people ask of the formulas, without a simulation: one module a question, rows as answers.

Values are in SI units (seconds, bytes, joules, bytes a second), which end the names of the fields.
"""
