"""The views of a run: each a widget over `Sequence[Series]`, or over one plain value."""
