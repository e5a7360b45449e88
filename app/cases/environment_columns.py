"""Columns of a case's environment: condition, GPU, engine, placement, importing program."""

from __future__ import annotations

from app.cases.column import count, flag, lower_better, number, text

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
            lower_better(
                f"sustained_first_{name}_us",
                f"First {name} (µs)",
                "us",
                f"The {name} at the beginning.",
            ),
            lower_better(
                f"sustained_last_{name}_us", f"Last {name} (µs)", "us", f"The {name} at the end."
            ),
            lower_better(
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


GPU = (
    text("gpu_uuid", "GPU", "The GPU's own identifier, whatever number it goes by."),
    text("gpu_driver", "GPU driver", "The release of the driver."),
    text("gpu_link", "GPU link", "How the GPU was connected as a round began."),
    number("gpu_power_limit_w", "Power limit (W)", "W", "What the GPU was kept to."),
    flag(
        "gpu_persistence",
        "Persistence",
        "Whether the driver stays loaded when the GPU is not in use.",
    ),
    flag("gpu_ecc", "ECC", "Whether errors of its memory were corrected."),
    flag("gpu_mig", "MIG", "Whether the GPU was divided into parts."),
    text("gpu_mig_profile", "MIG profile", "The part of a divided GPU, such as `3g.40gb`."),
    number("gpu_clock_limit_mhz", "GPU clock limit (MHz)", "MHz", "The highest clock it has."),
    number(
        "gpu_clock_min_mhz",
        "GPU clock from (MHz)",
        "MHz",
        "Its lowest clock in any round.",
        family="devices",
    ),
    number(
        "gpu_clock_max_mhz",
        "GPU clock to (MHz)",
        "MHz",
        "Its highest clock in any round.",
        family="devices",
    ),
    number(
        "gpu_memory_clock_mhz",
        "GPU memory clock (MHz)",
        "MHz",
        "Median clock of its memory.",
        family="devices",
    ),
    count(
        "gpu_other_processes",
        "Other GPU processes",
        "The most other processes that had the GPU open.",
        family="devices",
    ),
    count(
        "gpu_mps_clients",
        "MPS clients",
        "The most processes that shared the GPU through the Multi-Process Service.",
        family="devices",
    ),
    text(
        "sync",
        "Sync",
        "How the host waited for the GPU: spin, block, yield or auto.",
        family="facts",
    ),
    text(
        "host_memory",
        "Host memory",
        "What a run copied from and to: pinned or pageable.",
        family="facts",
    ),
    text(
        "device_memory_source",
        "Device memory source",
        "Where the device memory is from: driver, allocator, sizes or free memory.",
        family="facts",
    ),
)


ENGINE = (
    text(
        "environment",
        "Environment",
        "The environment that the case names, an interpreter with its packages; empty for ours.",
        group="identity",
    ),
    text(
        "engine_distribution",
        "Engine package",
        "The installed package that the engine is of, such as onnxruntime or onnxruntime-gpu.",
    ),
    text(
        "engine_path",
        "Engine path",
        "The file that the measuring process loaded as the engine; empty for one that is ours.",
    ),
)


PLACING = (
    text("cores", "Cores", "The cores that the measuring process could run on."),
    text("numa_node", "NUMA node", "The nodes of memory that these cores belong to."),
    flag("memory_locked", "Memory locked", "Whether it was locked into memory while it was timed."),
    text("scheduler", "Scheduler", "How it was scheduled: other, or fifo with its priority."),
    count(
        "attempts", "Attempts", "How often the case was begun: more than once if a host was lost."
    ),
)


IMPORTED = (
    text(
        "imported_from",
        "Imported from",
        "The program that measured the row, with its version if the file has it.",
        group="identity",
    ),
    text("imported_file", "Imported file", "The name of the file that it was read from."),
    text("imported_sha256", "File's sha256", "What that file is known by."),
)
