"""The columns of what conditions do to a round, and of what they find."""

from __future__ import annotations

from app.cases.column import less, number, text

CONDITION = (
    number(
        "evicted_mb",
        "Polluted (MB)",
        "MB",
        "What went through the caches between two runs.",
        group="settings",
        family="facts",
    ),
    number(
        "eviction_ms",
        "Pollution (ms)",
        "ms",
        "How long that took, outside the runs.",
        group="other",
        family="round_facts",
    ),
    number(
        "colocated_runs_per_s",
        "Neighbour runs/s",
        "1/s",
        "How often the model beside it ran in a second of the measured time.",
        group="settings",
        family="round_facts",
    ),
    number(
        "colocated_busy_fraction",
        "Neighbour at work",
        "",
        "The share of the measured time in which it was running.",
        group="settings",
        family="round_facts",
    ),
    number(
        "sampled_fraction",
        "Kept",
        "",
        "The share of a sustained round's runs that are in its samples, drawn evenly over time.",
        group="other",
        family="round_facts",
    ),
    text(
        "sustained_window",
        "Compared",
        "What of a sustained round is compared: its first and last minute, or tenths of it.",
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
        "Slower after (s)",
        "s",
        "When the level had gone half of the way to a slower end for good; empty: it stayed.",
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
