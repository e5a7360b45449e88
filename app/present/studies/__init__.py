"""Founding documents repeated: each one's own tables, as a page of a run."""
