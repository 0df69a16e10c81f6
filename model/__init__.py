"""What the system is: attrs states, the transitions between them, the rack they run on."""
