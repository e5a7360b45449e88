"""Cycles and bytes become latencies: T = T_io(bytes) + cycles / clock, plus the host's jitter.

How much was computed before a request follows from the arrival times: the card works ahead
from the end of one request to the start of the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from runtimes.execution import AfterCompletion, Arrivals, Queries, Samples
from runtimes.fpga.card.compiler import Compiled
from runtimes.fpga.card.transfers import (
    CALIBRATED_BYTES,
    P99_ABOVE_MEAN,
    Stages,
    io_us,
    jitter_us,
    stages,
)
from runtimes.fpga.cards import PublishedTable, changed_figures, is_published
from runtimes.fpga.lower.steps import Lowered


@dataclass(frozen=True, slots=True)
class Fidelity:
    """`calibrated`, or `extrapolated` and why the published tables don't vouch for it.

    It is a claim about the mean and p99 of latencies, never about a throughput: no table has one.
    """

    word: str
    reason: str


def fidelity(
    compiled: Compiled, idle_us: float = math.inf, *, overlapping: bool = False
) -> Fidelity:
    """Whether a table was published for this release with models like this graph, for requests
    that arrive `idle_us` after the last was finished; `overlapping` ones do not wait for it."""
    reason = _why_extrapolated(compiled, idle_us)
    if not reason and overlapping:
        reason = "the published requests follow each other, these overlap"
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


def latency_us(compiled: Compiled, idle_us: float = math.inf) -> float:
    """The mean latency of a request that arrives `idle_us` after the last was finished."""
    cycles = compiled.scheduler.after_idle(idle_cycles(compiled, idle_us)).cycles
    return io_us(compiled) + cycles / compiled.card.clock_mhz


def p99_us(compiled: Compiled, idle_us: float = math.inf) -> float:
    """The 99th percentile of such requests."""
    return latency_us(compiled, idle_us) + jitter_us(compiled) * P99_ABOVE_MEAN


def idle_cycles(compiled: Compiled, idle_us: float) -> int:
    """Whole cycles in a pause between requests, at most those that can be worked ahead.

    Exact in decimal digits: as floats, 0.29 us at 100 MHz would be 28 cycles and a rest.
    """
    enough = compiled.scheduler.ahead_cycles
    if idle_us * compiled.card.clock_mhz > enough + 1:
        return enough
    cycles = Decimal(repr(float(idle_us))) * Decimal(repr(compiled.card.clock_mhz))
    return min(max(0, int(cycles)), enough)


def simulate(
    compiled: Compiled, arrivals: Arrivals, rng: np.random.Generator, cards: int = 1
) -> Samples:
    """Timings of a stream of requests. Those of a query overlap, all others are taken one at a
    time by each of some equal cards and wait until one is free. What it costs the host to deal
    requests over cards is not known and not counted.

    Jitter is drawn from `rng`: an exponential shifted to mean zero, so that it moves the
    percentiles and not the mean. The first scheduled request finds the card long idle.
    """
    if isinstance(arrivals, Queries):
        count = arrivals.count * arrivals.requests
    elif isinstance(arrivals, AfterCompletion):
        count = arrivals.count
    else:
        count = len(arrivals.times_ns)
    scale = jitter_us(compiled)
    jitter_ns = np.round((rng.exponential(scale, count) - scale) * 1e3).astype(np.int64)
    if isinstance(arrivals, AfterCompletion):
        spent = round(latency_us(compiled, arrivals.gap_ns / 1e3) * 1e3) + jitter_ns
        finished = np.cumsum(spent + arrivals.gap_ns) - arrivals.gap_ns
        started = finished - spent
        return Samples(started, started, finished, "simulated")
    if isinstance(arrivals, Queries):
        return _queries(compiled, arrivals, jitter_ns, cards)
    return _scheduled(compiled, np.asarray(arrivals.times_ns, np.int64), jitter_ns, cards)


def _queries(compiled: Compiled, queries: Queries, jitter_ns: np.ndarray, cards: int) -> Samples:
    """Requests that are submitted together, dealt over the cards in turn: a query begins when all
    of the last are answered."""
    started_ns, finished_ns = np.empty((2, queries.requests), np.int64)
    for first in range(min(cards, queries.requests)):
        mine = slice(first, None, cards)
        count = len(started_ns[mine])
        started_ns[mine], finished_ns[mine] = overlapped(stages(compiled), count)
    finished = finished_ns + jitter_ns.reshape(queries.count, queries.requests)
    finished = np.maximum.accumulate(finished, axis=1)  # answers come in order
    ends = np.cumsum(finished.max(axis=1, initial=0))
    begins = np.concatenate(([0], ends[:-1]))[: queries.count, None]
    started = (begins + started_ns).reshape(-1)
    return Samples(started, started, (begins + finished).reshape(-1), "simulated")


def overlapped(parts: Stages, requests: int) -> tuple[np.ndarray, np.ndarray]:
    """When each of some requests that wait together is begun and answered, nanoseconds.

    While one is computed, the next is transferred and the one before returned. Inputs and outputs
    have two buffers each: a request is sent once the one before begins to be computed, and computed
    once the output of the last but one is fetched.
    """
    started, finished = np.empty(requests), np.empty(requests)
    sent = computing = computed = 0.0
    fetched = last_fetched = 0.0
    for position in range(requests):
        started[position] = max(sent, computing)
        sent = started[position] + parts.input_us
        computing = max(sent, computed, last_fetched)
        computed = computing + parts.compute_us
        last_fetched, fetched = fetched, max(computed, fetched) + parts.output_us
        finished[position] = fetched
    return _nanoseconds(started), _nanoseconds(finished)


def _nanoseconds(times_us: np.ndarray) -> np.ndarray:
    rounded: np.ndarray = np.round(times_us * 1e3).astype(np.int64)
    return rounded


def _scheduled(
    compiled: Compiled, times_ns: np.ndarray, jitter_ns: np.ndarray, cards: int
) -> Samples:
    known: dict[int, int] = {}
    started, finished = np.empty_like(times_ns), np.empty_like(times_ns)
    free_at: list[int | None] = [None] * cards  # None: idle since long ago
    for position, arrival in enumerate(times_ns.tolist()):
        card = min(range(cards), key=lambda number: free_at[number] or -math.inf)
        ready = free_at[card]
        begin = arrival if ready is None else max(arrival, ready)
        idle_us = math.inf if ready is None else (begin - ready) / 1e3
        idle = idle_cycles(compiled, idle_us)
        if idle not in known:
            known[idle] = round(latency_us(compiled, idle_us) * 1e3)
        started[position] = begin
        free_at[card] = finished[position] = begin + known[idle] + int(jitter_ns[position])
    return Samples(times_ns, started, finished, "simulated")
