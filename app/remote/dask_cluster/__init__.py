"""Rounds on the workers of a Dask scheduler: Dask places, watches and transports, and no more."""
