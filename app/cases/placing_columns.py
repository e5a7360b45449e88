"""The columns of where the measuring process ran, all read back from the system."""

from __future__ import annotations

from app.cases.column import count, flag, text

PLACING = (
    text("cores", "Cores", "The cores that the measuring process could run on."),
    text("numa_node", "NUMA node", "The nodes of memory that these cores belong to."),
    flag("memory_locked", "Memory locked", "Whether it was locked into memory while it was timed."),
    text("scheduler", "Scheduler", "How it was scheduled: other, or fifo with its priority."),
    count(
        "attempts", "Attempts", "How often the case was begun: more than once if a host was lost."
    ),
)
