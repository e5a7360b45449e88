"""A run in the formats of other programs: each file is made of the run folder alone."""
