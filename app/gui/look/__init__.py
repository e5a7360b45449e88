"""How the window looks and speaks, and what it remembers: below all its other parts."""
