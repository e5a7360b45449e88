"""A search over options: what may be changed, which configurations go on, what came of it."""
