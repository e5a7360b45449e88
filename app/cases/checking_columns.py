"""The columns of a check: how far it came, what it made, and what the engine did not take."""

from __future__ import annotations

from app.cases.column import less, text

CHECKING = (
    text(
        "check_level",
        "Check level",
        "How far a check came: opened here, or built for a device that is not here.",
    ),
    less(
        "engine_size_mib",
        "Engine (MiB)",
        "MiB",
        "The size of the compiled engine as a file.",
        group="other",
    ),
    text("refused_node", "Refused node", "The node of the graph that the engine refused."),
    text(
        "fallback_ops",
        "Fallback operators",
        "Operators that the named engine left to another, each with its number of nodes.",
    ),
)
