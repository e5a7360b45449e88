"""What can be wrong with a run folder, and what can happen to one while it is written."""

from __future__ import annotations

from exporters.types import GraphlapError


class ResultsError(GraphlapError):
    """A run folder that can't be read or used: exit 2 when a sweep was to write there."""


class DiskError(ResultsError):
    """The run folder can no longer be written: exit 1, and what is recorded stays good."""
