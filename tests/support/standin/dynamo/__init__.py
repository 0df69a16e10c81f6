"""As much of Dynamo as the driver and the oracle see of it, with the standard library alone."""
