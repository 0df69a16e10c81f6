"""What must hold: each property of the catalogue, with the reason people care."""
