"""The columns of what conditions do to a round, and of what they find."""

from __future__ import annotations

from app.cases.column import number

CONDITION = (
    number("polluted_mb", "Polluted (MB)", "MB", "What went through the caches between two runs."),
    number("pollution_ms", "Pollution (ms)", "ms", "How long that took, outside the runs."),
)
