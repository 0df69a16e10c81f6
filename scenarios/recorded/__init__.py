"""Records of real runs: files read by a mapping, and made into cases to be explained."""
