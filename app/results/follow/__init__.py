"""A run folder read on from where the last look ended."""
