"""The columns of a check: how far it came, what it made, and what the engine did not take."""

from __future__ import annotations

from app.cases.column import count, less, text

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
    count(
        "partitions",
        "Partitions",
        "Of a partial row: how many groups of consecutive nodes, in the order of execution, the "
        "providers run in turn. Data may be copied wherever the provider changes.",
    ),
    text(
        "splitting_nodes",
        "Splitting nodes",
        "Of a partial row: the nodes on another provider between nodes of the named engine.",
    ),
)
