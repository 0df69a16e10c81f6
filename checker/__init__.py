"""How it is checked: lowering, engines, counterexamples, conformance and reports."""
