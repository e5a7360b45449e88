"""Runs of several machines, made apart, as one run folder."""
