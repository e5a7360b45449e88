"""Diagnostics of the machine around a measurement."""

from __future__ import annotations

from exporters.diagnostics.entry import Entries, Entry
from exporters.diagnostics.units import NAME, NUMBER, Count

MACHINE: Entries = {
    "cpu_oversubscribed": Entry(
        title="CPU oversubscribed",
        message="CPU oversubscribed by other processes (load {load_1min} on {cores}): tail "
        "latencies are unreliable.",
        condition="The load of the last minute exceeds the number of cores by more than 0.5 when "
        "a round begins.",
        action="Stop other work on this machine.",
        units={"load_1min": NUMBER, "cores": Count("core")},
        example={"load_1min": 4.2, "cores": 2},
    ),
    "cpu_governor": Entry(
        title="CPU governor saves power",
        message="The CPU governor is {governor}, so the clock follows the load.",
        condition="The governor of the first core is powersave or conservative.",
        action="Set it to performance for a steady clock: "
        "sudo cpupower frequency-set -g performance.",
        units={"governor": NAME},
        example={"governor": "powersave"},
    ),
}
