"""The answer of a run: what was measured, how far to trust it, and what is fastest."""
