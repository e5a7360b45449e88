"""What comes next: a grid, a search, and what follows the rounds."""
