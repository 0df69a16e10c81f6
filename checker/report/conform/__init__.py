"""What came of holding records against the model, told to people and to programs."""
