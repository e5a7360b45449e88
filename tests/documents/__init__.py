"""The page that compares the founding documents with this program, statement by statement."""
