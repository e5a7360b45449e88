"""The run folder: written, read, followed, and turned into rows."""
