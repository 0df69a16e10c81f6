"""What differs between two worlds, as sections that a terminal and Markdown show alike."""
