"""Facts about number formats that are proved, or refuted with a witness, and not told."""
