"""The columns of what conditions do to a round, and of what they find."""

from __future__ import annotations

from app.cases.column import less, number, text

CONDITION = (
    number(
        "evicted_mb",
        "Evicted (MB)",
        "MB",
        "The memory that is read and written between two runs to evict the caches.",
        group="settings",
        family="facts",
    ),
    number(
        "eviction_ms",
        "Eviction (ms)",
        "ms",
        "How long an eviction takes, outside the runs.",
        group="other",
        family="round_facts",
    ),
    number(
        "colocated_runs_per_s",
        "Co-located runs/s",
        "1/s",
        "Runs per second of the co-located model during the measurement.",
        group="settings",
        family="round_facts",
    ),
    number(
        "colocated_busy_fraction",
        "Co-located busy",
        "",
        "The fraction of the measured time in which the co-located model ran.",
        group="settings",
        family="round_facts",
    ),
    number(
        "sampled_fraction",
        "Sampled",
        "",
        "The fraction of a sustained round's runs that its samples contain, drawn evenly "
        "over time.",
        group="other",
        family="round_facts",
    ),
    text(
        "sustained_window",
        "Window",
        "The parts of a sustained round that are compared: its first and last minute, or tenth.",
        group="settings",
    ),
    *(
        column
        for name in ("p50", "p99")
        for column in (
            less(
                f"sustained_first_{name}_us",
                f"First {name} (µs)",
                "us",
                f"The {name} at the beginning.",
            ),
            less(f"sustained_last_{name}_us", f"Last {name} (µs)", "us", f"The {name} at the end."),
            less(
                f"sustained_{name}_ratio",
                f"Last to first {name}",
                "",
                f"The {name} at the end over that at the beginning.",
            ),
        )
    ),
    number(
        "sustained_slowdown_after_s",
        "Slowdown after (s)",
        "s",
        "When the latency had risen for good by half of its total rise; empty: no rise.",
    ),
    *(
        number(
            f"sustained_{place}_{name}", f"{place.capitalize()} {title}", unit, f"{meaning} {then}."
        )
        for name, title, unit, meaning in (
            ("clock_mhz", "clock (MHz)", "MHz", "The mean clock of what computed"),
            ("temperature_c", "temperature (°C)", "C", "The mean temperature of what computed"),
        )
        for place, then in (("first", "at the beginning"), ("last", "at the end"))
    ),
)
