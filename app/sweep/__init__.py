"""The batch parent: what is to be done, by whom, and what came of it."""
