"""Diagnostics of the machine around a measurement: its cores, memory, GPUs and hosts."""

from __future__ import annotations

from exporters.diagnostics.diagnostic import (
    MEGAHERTZ,
    MESSAGE,
    MILLISECONDS,
    NAME,
    NUMBER,
    SECONDS,
    Choice,
    Count,
    Entries,
    Entry,
)

_OUTLIERS = {"outliers": (Count(), 12), "all": (Count("outlier"), 40)}
_MOST_OUTLIERS = "More outliers coincide with this event than with any other, and they are more "
_REACHES_TAIL = "than 0.1 % of the runs."

PROCESSOR: Entries = {
    "cpu_oversubscribed": Entry(
        title="CPU oversubscribed",
        message="CPU oversubscribed by other processes (load {load_1min} on {cores}): tail "
        "latencies are unreliable.",
        condition="The load of the last minute exceeds the number of cores by more than 0.5 when "
        "a round begins.",
        action="Stop other work on this machine.",
        parameters={"load_1min": (NUMBER, 4.2), "cores": (Count("core"), 2)},
    ),
    "cpu_governor": Entry(
        title="CPU governor saves power",
        message="The CPU governor is {governor}, so the clock follows the load.",
        condition="The governor of the first core is powersave or conservative.",
        action="Set it to performance for a steady clock.",
        parameters={"governor": (NAME, "powersave")},
    ),
    "virtual_machine": Entry(
        title="Virtual machine",
        message="Measured on a virtual machine ({subject}): its host may interrupt any run.",
        condition="The host that measured reports a hypervisor.",
        action="Use a physical machine for tail latencies, or more rounds.",
        severity="info",
        example_subject="ci-runner-7",
    ),
    "governor_unknown": Entry(
        title="CPU governor unknown",
        message="The CPU governor is unknown ({subject}), so clocks may not have been steady.",
        condition="The host that measured does not report the governor of its clock.",
        action="On a physical machine, graphlap doctor shows more.",
        severity="info",
        example_subject="ci-runner-7",
    ),
    "threads_exceed_cores": Entry(
        title="More threads than cores",
        message="{sessions} of {threads} each share {cores}: latencies include the wait for a "
        "core.",
        condition="The sessions of a case together have more threads than there are cores.",
        action="Use fewer --threads or sessions.",
        parameters={
            "sessions": (Count("session"), 2),
            "threads": (Count("thread"), 2),
            "cores": (Count("core"), 2),
        },
    ),
    "batch_process_on_measured_cores": Entry(
        title="Batch process on measured cores",
        message="The batch process shares the measured cores, as there are no others: it may "
        "interrupt runs.",
        condition="--cores names all the cores of the machine.",
        action="Leave one core out of --cores.",
    ),
    "cores_not_granted": Entry(
        title="Other cores than requested",
        message="Requested cores: {requested}; the process runs on {granted}.",
        condition="The system did not keep a round to the cores of --cores.",
        action="Something else sets the affinity (a cpuset, taskset): change it there.",
        parameters={"requested": (NAME, "2-3"), "granted": (NAME, "2")},
    ),
    "cores_on_several_nodes": Entry(
        title="Cores of several NUMA nodes",
        message="The cores {cores} belong to NUMA nodes {nodes}: some memory is remote.",
        condition="The cores of --cores lie on more than one NUMA node.",
        action="Choose --cores of one node.",
        parameters={"cores": (NAME, "0-3"), "nodes": (NAME, "0-1")},
    ),
    "memory_not_bound": Entry(
        title="Memory not bound to its node",
        message="Memory could not be bound to NUMA node {node} ({error}): some may be remote.",
        condition="The system refused to bind memory to the node of the cores.",
        action="In a container, grant CAP_SYS_NICE.",
        parameters={"node": (NAME, "0"), "error": (MESSAGE, "Operation not permitted")},
    ),
    "memory_not_locked": Entry(
        title="Memory not locked",
        message="Memory could not be locked ({error}): a run may wait for a page.",
        condition="--lock-memory was given and mlockall failed.",
        action="Run as root or with CAP_IPC_LOCK, or raise ulimit -l.",
        parameters={"error": (MESSAGE, "Cannot allocate memory")},
    ),
    "realtime_refused": Entry(
        title="No real-time priority",
        message="Priority SCHED_FIFO {priority} was requested and refused ({error}): runs can be "
        "interrupted.",
        condition="--realtime was given and the system refused it.",
        action="Run as root or with CAP_SYS_NICE, or raise ulimit -r.",
        parameters={"priority": (Count(), 10), "error": (MESSAGE, "Operation not permitted")},
    ),
    "realtime_throttled": Entry(
        title="Real-time processes are throttled",
        message="The kernel stops real-time processes for {stopped_ms} of each second while "
        "others wait for their core.",
        condition="--realtime was given, and sched_rt_runtime_us is below its period.",
        action="Keep other processes off the measured cores (isolcpus=).",
        parameters={"stopped_ms": (MILLISECONDS, 50.0)},
    ),
    "outliers_from_steal": Entry(
        title="Outliers from a busy hypervisor",
        message="{outliers} of {all} coincide with time that the hypervisor took (steal).",
        condition=_MOST_OUTLIERS + _REACHES_TAIL,
        action="Use a dedicated core or a physical machine.",
        parameters=_OUTLIERS,
    ),
    "outliers_from_context_switches": Entry(
        title="Outliers from context switches",
        message="{outliers} of {all} coincide with an involuntary context switch.",
        condition=_MOST_OUTLIERS + _REACHES_TAIL,
        action="Stop other work on this machine, or use fewer --threads.",
        parameters=_OUTLIERS,
    ),
    "outliers_from_page_faults": Entry(
        title="Outliers from page faults",
        message="{outliers} of {all} coincide with a major page fault.",
        condition=_MOST_OUTLIERS + _REACHES_TAIL,
        action="Free memory.",
        parameters=_OUTLIERS,
    ),
    "outliers_from_interrupts": Entry(
        title="Outliers from interrupts",
        message="{outliers} of {all} coincide with far more interrupts than usual.",
        condition=_MOST_OUTLIERS + _REACHES_TAIL,
        action="Keep the interrupts of devices off the measured cores.",
        parameters=_OUTLIERS,
    ),
    "outliers_from_low_clock": Entry(
        title="Outliers from a low clock",
        message="{outliers} of {all} coincide with a low clock of the core.",
        condition=_MOST_OUTLIERS + _REACHES_TAIL,
        action="Set the governor to performance, and cool the processor.",
        parameters=_OUTLIERS,
    ),
}

GPU: Entries = {
    "gpu_clock_varied": Entry(
        title="GPU clock varied",
        message="The clock of the GPU varied between {low_mhz} and {high_mhz}.",
        condition="The highest clock while runs were timed exceeds the lowest by more than 2 %.",
        action="Lock it: sudo nvidia-smi -lgc MHZ.",
        parameters={"low_mhz": (MEGAHERTZ, 1400.0), "high_mhz": (MEGAHERTZ, 1980.0)},
    ),
    "gpu_throttled": Entry(
        title="GPU throttled",
        message="The clock of the GPU was reduced ({reasons}).",
        condition="The driver reported a reason for throttling while runs were timed.",
        action="Cool the GPU, raise its power limit, or lock a lower clock.",
        parameters={"reasons": (NAME, "power cap")},
    ),
    "gpu_shared": Entry(
        title="GPU shared",
        message="{processes} had the GPU open too.",
        condition="Other processes used the GPU while runs were timed, and no co-located load was "
        "requested.",
        action="End what nvidia-smi lists.",
        parameters={"processes": (Count("other process", "other processes"), 2)},
    ),
    "nvtx_unavailable": Entry(
        title="NVTX not found",
        message="A profiler listens for NVTX ranges, and none of {libraries} was found: its "
        "timeline has no names of rounds and phases.",
        condition="NVTX_INJECTION64_PATH is set, and NVIDIA's library is not installed.",
        action="Install it with `pip install nvidia-nvtx`.",
        parameters={"libraries": (NAME, ("libnvToolsExt.so.1", "libnvtx3interop.so.1"))},
        severity="info",
    ),
    "gpu_persistence_off": Entry(
        title="GPU persistence mode off",
        message="The persistence mode of the GPU is off, so its state is lost between processes.",
        condition="The driver reports that persistence mode is off.",
        action="Turn it on: sudo nvidia-smi -pm 1.",
    ),
}

HOSTS: Entries = {
    "several_hosts": Entry(
        title="Rounds of several hosts",
        message="The rounds were measured on {hosts}: the row mixes machines.",
        condition="A run was resumed on another host.",
        action="Measure each host into a folder of its own, and read them together: graphlap show.",
        parameters={"hosts": (NAME, ("board", "server"))},
    ),
    "host_lost": Entry(
        title="Host lost",
        message="{subject} was lost in share {share} ({error}); the case was begun again on "
        "another host.",
        condition="A host of a cluster stopped while it measured the case.",
        parameters={"share": (Count(), 1), "error": (MESSAGE, "the connection closed")},
        example_subject="board",
    ),
    "host_changed": Entry(
        title="Measured again on another host",
        message="{subject} is not available, so {host} measured the case again from its first "
        "round.",
        condition="A run is resumed without the host that began the case.",
        action="Compare it with cases of the same host.",
        parameters={"host": (NAME, "server")},
        example_subject="board",
    ),
    "host_clock_off": Entry(
        title="Clock of a host is off",
        message="The clock of {subject} is {offset_s} {direction} the clock of the machine that "
        "began the run: its rows have its own times.",
        condition="The clocks of two hosts of a run differ by more than the time it takes to ask.",
        action="Synchronise the clocks (NTP) to compare times.",
        severity="info",
        parameters={
            "offset_s": (SECONDS, 3600.0),
            "direction": (Choice({"ahead": "ahead of", "behind": "behind"}), "ahead"),
        },
        example_subject="board",
    ),
}
