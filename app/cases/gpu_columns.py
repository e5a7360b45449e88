"""The columns of the GPU that computed, how it was set, and how it was used: all read back."""

from __future__ import annotations

from app.cases.column import count, flag, number, text

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
