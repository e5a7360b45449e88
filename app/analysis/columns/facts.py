"""Columns that a runtime or the measuring process states as facts; all others are computed.

A fact needs no more than its line here: it has the name of its column.
"""

from __future__ import annotations

from app.analysis.columns.family import CaseData, Count, Family, Lower, Number, Text
from app.analysis.columns.rounds import median
from app.cases.column import Row


class Facts(Family):
    """What the last round states of the graph and its run as a whole."""

    @classmethod
    def fill(cls, data: CaseData, _: Row) -> Row:
        facts = data.rounds[-1].facts
        return {name: facts[name] for name in cls.names() if name in facts}


class RoundFacts(Family):
    """Figures that each timed round states, by their medians; of a check, which times nothing,
    none."""

    @classmethod
    def fill(cls, data: CaseData, _: Row) -> Row:
        timed = [result.facts for result in data.rounds if result.samples]
        return {
            name: median(float(facts[name]) for facts in timed if facts.get(name) is not None)
            for name in cls.names()
        }


class Checks(Facts, heading="Checks"):
    check_level = Text(group="verdict")
    """How far a check came: opened here, or built for a device that is not here."""
    engine_size_mib = Lower("Engine")
    """The size of the compiled engine as a file."""
    refused_node = Text(group="verdict")
    """The node of the graph that the engine refused."""
    fallback_ops = Text("Fallback operators", "verdict")
    """Operators that the named engine left to another, each with its number of nodes."""
    partitions = Count(group="verdict")
    """Of a partial row: how many groups of consecutive nodes, in the order of execution, the
    providers run in turn. Data may be copied wherever the provider changes."""
    splitting_nodes = Text(group="verdict")
    """Of a partial row: the nodes on another provider between nodes of the named engine."""


class Card(Facts, heading="The simulated card"):
    fidelity = Text(group="verdict")
    """Of a simulated card's mean and p99: `calibrated` where a table was published for this release
    with such models at such a pace, else `extrapolated`; never of a throughput."""
    fidelity_reason = Text("Fidelity: reason")
    """Why no published table vouches for the figures."""
    card_release = Text(group="settings")
    """The release of the simulated card's software."""
    cycles = Lower(unit="cycles")
    """Simulated clock cycles on the critical path."""
    io_us = Lower("I/O")
    """Simulated time of the transfers to and from the card."""
    weight_tiles_used = Count("Tiles used")
    """Weight tiles of the card that the model takes."""
    weight_tiles_total = Count("Tiles")
    """Weight tiles that the card has."""
    activation_bytes = Count("Activations")
    """Bytes that the card holds between steps at most."""
    spilled_bytes = Count("Spilled")
    """Bytes of activations outside the card's chip."""


class OnDevice(RoundFacts, heading="Times on a device"):
    h2d_p50_us = Lower("To device p50", "latency")
    """Median of the copies to the device."""
    device_p50_us = Lower(group="latency")
    """Median on the device's own clock."""
    device_min_us = Lower(group="latency")
    """The shortest run on the device's own clock."""
    device_p99_us = Lower(group="latency")
    """The 99th percentile on the device's own clock; empty below 300 runs."""
    device_runs = Number(group="latency")
    """Runs of each round that were timed on the device's own clock, after the timed ones."""
    launch_p50_us = Lower(group="latency")
    """Median of the host's time to queue a run with those marks, before it waits."""
    d2h_p50_us = Lower("From device p50", "latency")
    """Median of the copies from the device."""


class Buffers(Facts, heading="Calls of a device"):
    device_bound = Text("Bound by", "latency")
    """`launch`: the host queues for more than 80 % of a run; `compute`: the device works on after
    it."""
    sync = Text()
    """How the host waited for the GPU: spin, block, yield or auto."""
    host_memory = Text()
    """What a run copied from and to: pinned or pageable."""
    device_memory_source = Text()
    """Where the device memory is from: driver, allocator, sizes or free memory."""


class Evicted(Facts, heading="Conditions"):
    evicted_mb = Number(group="settings")
    """The memory that is read and written between two runs to evict the caches."""


class Colocated(RoundFacts, heading="Conditions"):
    eviction_ms = Number()
    """How long an eviction takes, outside the runs."""
    colocated_runs_per_s = Number("Co-located runs/s", "settings")
    """Runs per second of the co-located model during the measurement."""
    colocated_busy_fraction = Number("Co-located busy", "settings")
    """The fraction of the measured time in which the co-located model ran."""
    sampled_fraction = Number("Sampled")
    """The fraction of a sustained round's runs that its samples contain, drawn evenly over time."""
