"""A runtime for Graphlap that computes eleven operators with numpy."""
