"""Cycles and bytes become latencies: T = T_io(bytes) + cycles / clock, plus the host's jitter.

How much was computed before a request follows from the arrival times: the card works ahead
from the end of one request to the start of the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from runtimes.execution import AfterCompletion, Arrivals, Samples
from runtimes.fpga.card.compiler import Compiled
from runtimes.fpga.cards import Card, PublishedTable, changed_figures, is_published
from runtimes.fpga.cards.link import Transfer, link_table
from runtimes.fpga.lower.steps import Lowered

CALIBRATED_BYTES = 2048
"""The largest transfer of the published tables, rounded up to a power of two.

Up to there the fitted constants contain the link; beyond, its rate is added.
"""


_P99_ABOVE_MEAN = math.log(100) - 1
"""Of an exponential: its p99 minus its mean, in scales."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """`calibrated`, or `extrapolated` and why the published tables don't vouch for it.

    It is a claim about the mean and p99 of latencies, never about a throughput: no table has one.
    """

    word: str
    reason: str


def fidelity(compiled: Compiled, idle_us: float = math.inf) -> Fidelity:
    """Whether a table was published for this release with models like this graph, for requests
    that arrive `idle_us` after the last was finished."""
    reason = _why_extrapolated(compiled, idle_us)
    return Fidelity("extrapolated" if reason else "calibrated", reason)


def _why_extrapolated(compiled: Compiled, idle_us: float) -> str:
    card, release, lowered = compiled.card, compiled.release, compiled.lowered
    changed = [
        f"{name} {ours:g} instead of {public:g}"
        for name, (ours, public) in changed_figures(card).items()
        if isinstance(ours, int | float)
    ]
    if changed:
        return f"no table was published for {card.name} with {', '.join(changed)}"
    if not is_published(card):
        return f"no table was published for the card {card.name}"
    if lowered.extrapolated:
        return lowered.extrapolated
    if compiled.memory.spilled_bytes:
        return "activations lie outside the chip"
    if max(lowered.input_bytes, lowered.output_bytes) > CALIBRATED_BYTES:
        return f"more than {CALIBRATED_BYTES} bytes over the link"
    tables = [table for table in release.published if set(table.operators) == set(lowered.layers)]
    if not tables:
        operators = " and ".join(lowered.layers)
        return (
            f"no table with models of {operators} was published for {card.name} at {release.name}"
        )
    if idle_cycles(compiled, idle_us) < compiled.scheduler.ahead_cycles:
        return "the published requests are spaced, these are not"
    return min((_distance(lowered, table) for table in tables), key=len)


def _distance(lowered: Lowered, table: PublishedTable) -> str:
    """How far the graph is from the nearest model of the table; "" within its range."""
    layers, width = lowered.layers[table.operators[0]]
    parts = []
    for name, size, bounds in (("layers", layers, table.layers), ("width", width, table.width)):
        nearest = min(max(size, bounds[0]), bounds[1])
        if nearest != size:
            parts.append(f"{name} {size} is {size / nearest:.3g} times the nearest published")
    return ", ".join(parts)


def transfer(compiled: Compiled) -> Transfer | None:
    """The request's round trip by the release's table of the link; None where it has none."""
    lowered, name = compiled.lowered, compiled.release.link
    if not name:
        return None
    return link_table(name).transfer(lowered.input_bytes, lowered.output_bytes)


def io_us(compiled: Compiled) -> float:
    """A request's way to the card and back with the fabric's fill and drain, microseconds."""
    card, release, lowered = compiled.card, compiled.release, compiled.lowered
    measured = transfer(compiled)
    if measured is not None:
        return release.io_us + measured.mean_us
    dma = release.dma_us if lowered.input_bytes > release.register_bytes else 0.0
    return release.io_us + dma + _link_us(card, lowered.input_bytes, lowered.output_bytes)


def jitter_us(compiled: Compiled) -> float:
    """The scale of the exponential jitter: the link's own where its table has a p99."""
    measured = transfer(compiled)
    if measured is None:
        return compiled.card.jitter_us
    return max(0.0, measured.p99_us - measured.mean_us) / _P99_ABOVE_MEAN


def _link_us(card: Card, *transfers: int) -> float:
    beyond = sum(max(0, size - CALIBRATED_BYTES) for size in transfers)
    return beyond / card.link_bytes_per_us


def latency_us(compiled: Compiled, idle_us: float = math.inf) -> float:
    """The mean latency of a request that arrives `idle_us` after the last was finished."""
    cycles = compiled.scheduler.after_idle(idle_cycles(compiled, idle_us)).cycles
    return io_us(compiled) + cycles / compiled.card.clock_mhz


def p99_us(compiled: Compiled, idle_us: float = math.inf) -> float:
    """The 99th percentile of such requests."""
    return latency_us(compiled, idle_us) + jitter_us(compiled) * _P99_ABOVE_MEAN


def idle_cycles(compiled: Compiled, idle_us: float) -> int:
    """Whole cycles in a pause between requests, at most those that can be worked ahead.

    Exact in decimal digits: as floats, 0.29 us at 100 MHz would be 28 cycles and a rest.
    """
    enough = compiled.scheduler.ahead_cycles
    if idle_us * compiled.card.clock_mhz > enough + 1:
        return enough
    cycles = Decimal(repr(float(idle_us))) * Decimal(repr(compiled.card.clock_mhz))
    return min(max(0, int(cycles)), enough)


def simulate(compiled: Compiled, arrivals: Arrivals, rng: np.random.Generator) -> Samples:
    """Timings of a stream of requests, one at a time; a request waits for the one before.

    Jitter is drawn from `rng`: an exponential shifted to mean zero, so that it moves the
    percentiles and not the mean. The first scheduled request finds the card long idle.
    """
    count = arrivals.count if isinstance(arrivals, AfterCompletion) else len(arrivals.times_ns)
    scale = jitter_us(compiled)
    jitter_ns = np.round((rng.exponential(scale, count) - scale) * 1e3).astype(np.int64)
    if isinstance(arrivals, AfterCompletion):
        spent = round(latency_us(compiled, arrivals.gap_ns / 1e3) * 1e3) + jitter_ns
        finished = np.cumsum(spent + arrivals.gap_ns) - arrivals.gap_ns
        started = finished - spent
        return Samples(started, started, finished, "simulated")
    return _scheduled(compiled, np.asarray(arrivals.times_ns, np.int64), jitter_ns)


def _scheduled(compiled: Compiled, times_ns: np.ndarray, jitter_ns: np.ndarray) -> Samples:
    known: dict[int, int] = {}
    started, finished = np.empty_like(times_ns), np.empty_like(times_ns)
    free_at: int | None = None
    for position, arrival in enumerate(times_ns.tolist()):
        begin = arrival if free_at is None else max(arrival, free_at)
        idle_us = math.inf if free_at is None else (begin - free_at) / 1e3
        idle = idle_cycles(compiled, idle_us)
        if idle not in known:
            known[idle] = round(latency_us(compiled, idle_us) * 1e3)
        started[position] = begin
        free_at = begin + known[idle] + int(jitter_ns[position])
        finished[position] = free_at
    return Samples(times_ns, started, finished, "simulated")
