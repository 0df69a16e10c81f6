"""What is written down of each step of the world, by whom."""
