"""A scripted runtime, for tests and demonstrations."""
