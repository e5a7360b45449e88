"""Latency of a request on the card: T = T_io(bytes) + cycles / clock, transfers over the link, and
the host's jitter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from runtimes.execution import AfterCompletion, Arrivals, Queries, Samples
from runtimes.fpga.card.compiler import Compiled, Instruction
from runtimes.fpga.cards import PublishedTable, Transfer, changed_figures, is_published, link_table
from runtimes.fpga.lower.steps import Lowered

CALIBRATED_BYTES = 2048
"""The largest transfer of the published tables, rounded up to a power of two.

Up to there the fitted constants contain the link; beyond, its rate is added.
"""

P99_ABOVE_MEAN = math.log(100) - 1
"""Of an exponential: its p99 minus its mean, in scales."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The three parts of a request, microseconds: each is busy with one request at a time."""

    input_us: float
    compute_us: float
    output_us: float


def transfer(compiled_model: Compiled) -> Transfer | None:
    """The request's round trip by the release's table of the link; None where it has none."""
    lowered_model, name = compiled_model.lowered, compiled_model.release.link
    if not name:
        return None
    return link_table(name).transfer(lowered_model.input_bytes, lowered_model.output_bytes)


def io_us(compiled_model: Compiled) -> float:
    """What the link adds to a request's cycles, with the fabric's fill and drain, microseconds."""
    lowered_model = compiled_model.lowered
    return _round_trip_us(
        compiled_model, lowered_model.input_bytes, lowered_model.output_bytes
    ) - hidden_us(compiled_model)


def hidden_us(compiled_model: Compiled) -> float:
    """How much of the transfers of a batch passes while the card computes; 0 for one row.

    Rows after the first arrive while the first instruction that reads them issues, and rows before
    the last leave while the instruction that gives them issues.
    """
    lowered_model = compiled_model.lowered
    rows = lowered_model.rows
    sent_bytes = lowered_model.input_bytes
    fetched_bytes = lowered_model.output_bytes
    if rows == 1:
        return 0.0
    whole = _round_trip_us(compiled_model, sent_bytes, fetched_bytes)
    inputs_us = whole - _round_trip_us(compiled_model, sent_bytes // rows, fetched_bytes)
    outputs_us = whole - _round_trip_us(compiled_model, sent_bytes, fetched_bytes // rows)
    share = (rows - 1) / rows / compiled_model.card.clock_mhz
    readers = _first_of_each_unit(compiled_model)
    writers = [compiled_model.program[number] for number in lowered_model.output_steps]
    return sum(
        max(0.0, min(moved_us, share * min((i.fresh_issue for i in instructions), default=0)))
        for moved_us, instructions in ((inputs_us, readers), (outputs_us, writers))
    )


def stages(compiled_model: Compiled) -> Stages:
    """The parts of a request among others that follow at once.

    What a round trip without data takes is divided evenly between both directions.
    """
    sent_bytes, whole = compiled_model.lowered.input_bytes, io_us(compiled_model)
    empty = _round_trip_us(compiled_model, 0, 0)
    input_us = empty / 2 + _round_trip_us(compiled_model, sent_bytes, 0) - empty
    input_us = min(input_us, whole)
    cycles = compiled_model.scheduler.after_idle(0).cycles
    return Stages(input_us, cycles / compiled_model.card.clock_mhz, whole - input_us)


def jitter_us(compiled_model: Compiled) -> float:
    """The scale of the exponential jitter: the link's own where its table has a p99."""
    link_transfer = transfer(compiled_model)
    if link_transfer is None:
        return compiled_model.card.jitter_us
    return max(0.0, link_transfer.p99_us - link_transfer.mean_us) / P99_ABOVE_MEAN


def _first_of_each_unit(compiled_model: Compiled) -> list[Instruction]:
    """The instructions that begin a request: they wait for no other and read what is new."""
    first: dict[str, Instruction] = {}
    for instruction in compiled_model.program:
        if not instruction.after and instruction.fresh_issue:
            first.setdefault(instruction.unit, instruction)
    return list(first.values())


def _round_trip_us(compiled_model: Compiled, sent_bytes: int, fetched_bytes: int) -> float:
    """So many bytes by the way that the whole request takes."""
    release = compiled_model.release
    link_transfer = transfer(compiled_model)
    if link_transfer is not None:
        way_us = link_table(release.link).by_way(link_transfer.way, sent_bytes, fetched_bytes)
        return release.io_us + way_us.mean_us
    dma = release.dma_us if compiled_model.lowered.input_bytes > release.register_bytes else 0.0
    excess_bytes = sum(max(0, size - CALIBRATED_BYTES) for size in (sent_bytes, fetched_bytes))
    return release.io_us + dma + excess_bytes / compiled_model.card.link_bytes_per_us


@dataclass(frozen=True, slots=True)
class Fidelity:
    """`calibrated`, or `extrapolated` and why the published tables don't vouch for it.

    It is a claim about the mean and p99 of latencies, never about a throughput: no table has one.
    """

    word: str
    reason: str


def fidelity(
    compiled_model: Compiled, idle_us: float = math.inf, *, overlapping: bool = False
) -> Fidelity:
    """Whether a table was published for this release with models like this graph, for requests
    that arrive `idle_us` after the last was finished; `overlapping` ones do not wait for it."""
    reason = _why_extrapolated(compiled_model, idle_us)
    if not reason and overlapping:
        reason = "the published requests follow each other, these overlap"
    return Fidelity("extrapolated" if reason else "calibrated", reason)


def _why_extrapolated(compiled_model: Compiled, idle_us: float) -> str:
    card = compiled_model.card
    release = compiled_model.release
    lowered_model = compiled_model.lowered
    changed_names = [
        f"{name} {card_figure:g} instead of {public:g}"
        for name, (card_figure, public) in changed_figures(card).items()
        if isinstance(card_figure, int | float)
    ]
    if changed_names:
        return f"no table was published for {card.name} with {', '.join(changed_names)}"
    if not is_published(card):
        return f"no table was published for the card {card.name}"
    if lowered_model.extrapolated:
        return lowered_model.extrapolated
    if compiled_model.memory.spilled_bytes:
        return "activations lie outside the chip"
    if max(lowered_model.input_bytes, lowered_model.output_bytes) > CALIBRATED_BYTES:
        return f"more than {CALIBRATED_BYTES} bytes over the link"
    tables = [
        table for table in release.published if set(table.operators) == set(lowered_model.layers)
    ]
    if not tables:
        operators = " and ".join(lowered_model.layers)
        return (
            f"no table with models of {operators} was published for {card.name} at {release.name}"
        )
    if idle_cycles(compiled_model, idle_us) < compiled_model.scheduler.ahead_cycles:
        return "the published requests are spaced, these are not"
    return min((_distance(lowered_model, table) for table in tables), key=len)


def _distance(lowered_model: Lowered, table: PublishedTable) -> str:
    """How far the graph is from the nearest model of the table; "" within its range."""
    layers, width = lowered_model.layers[table.operators[0]]
    parts = []
    for name, size, bounds in (("layers", layers, table.layers), ("width", width, table.width)):
        nearest = min(max(size, bounds[0]), bounds[1])
        if nearest != size:
            parts.append(f"{name} {size} is {size / nearest:.3g} times the nearest published")
    return ", ".join(parts)


def latency_us(compiled_model: Compiled, idle_us: float = math.inf) -> float:
    """The mean latency of a request that arrives `idle_us` after the last was finished."""
    cycles = compiled_model.scheduler.after_idle(idle_cycles(compiled_model, idle_us)).cycles
    return io_us(compiled_model) + cycles / compiled_model.card.clock_mhz


def p99_us(compiled_model: Compiled, idle_us: float = math.inf) -> float:
    """The 99th percentile of such requests."""
    return latency_us(compiled_model, idle_us) + jitter_us(compiled_model) * P99_ABOVE_MEAN


def idle_cycles(compiled_model: Compiled, idle_us: float) -> int:
    """Whole cycles in a pause between requests, at most those that can be worked ahead.

    Exact in decimal digits: as floats, 0.29 us at 100 MHz would be 28 cycles and a rest.
    """
    enough = compiled_model.scheduler.ahead_cycles
    if idle_us * compiled_model.card.clock_mhz > enough + 1:
        return enough
    cycles = Decimal(repr(float(idle_us))) * Decimal(repr(compiled_model.card.clock_mhz))
    return min(max(0, int(cycles)), enough)


def simulate(
    compiled_model: Compiled, arrivals: Arrivals, rng: np.random.Generator, cards: int = 1
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
    scale = jitter_us(compiled_model)
    jitter_ns = np.round((rng.exponential(scale, count) - scale) * 1e3).astype(np.int64)
    if isinstance(arrivals, AfterCompletion):
        latencies_ns = round(latency_us(compiled_model, arrivals.gap_ns / 1e3) * 1e3) + jitter_ns
        end_times_ns = np.cumsum(latencies_ns + arrivals.gap_ns) - arrivals.gap_ns
        start_times_ns = end_times_ns - latencies_ns
        return Samples(start_times_ns, start_times_ns, end_times_ns, "simulated")
    if isinstance(arrivals, Queries):
        return _queries(compiled_model, arrivals, jitter_ns, cards)
    return _simulate_schedule(
        compiled_model, np.asarray(arrivals.times_ns, np.int64), jitter_ns, cards
    )


def _queries(
    compiled_model: Compiled, queries: Queries, jitter_ns: np.ndarray, cards: int
) -> Samples:
    """Requests that are submitted together, dealt over the cards in turn: a query begins when all
    of the last are answered."""
    started_ns, finished_ns = np.empty((2, queries.requests), np.int64)
    for first in range(min(cards, queries.requests)):
        card_requests = slice(first, None, cards)
        count = len(started_ns[card_requests])
        started_ns[card_requests], finished_ns[card_requests] = overlapped(
            stages(compiled_model), count
        )
    end_times_ns = finished_ns + jitter_ns.reshape(queries.count, queries.requests)
    end_times_ns = np.maximum.accumulate(end_times_ns, axis=1)  # answers come in order
    ends = np.cumsum(end_times_ns.max(axis=1, initial=0))
    begins = np.concatenate(([0], ends[:-1]))[: queries.count, None]
    start_times_ns = (begins + started_ns).reshape(-1)
    return Samples(start_times_ns, start_times_ns, (begins + end_times_ns).reshape(-1), "simulated")


def overlapped(parts: Stages, requests: int) -> tuple[np.ndarray, np.ndarray]:
    """When each of some requests that wait together is begun and answered, nanoseconds.

    While one is computed, the next is transferred and the one before returned. Inputs and outputs
    have two buffers each: a request is sent once the one before begins to be computed, and computed
    once the output of the last but one is fetched.
    """
    start_times_us, end_times_us = np.empty(requests), np.empty(requests)
    send_end = computing = compute_end = 0.0
    fetch_end = last_fetched = 0.0
    for position in range(requests):
        start_times_us[position] = max(send_end, computing)
        send_end = start_times_us[position] + parts.input_us
        computing = max(send_end, compute_end, last_fetched)
        compute_end = computing + parts.compute_us
        last_fetched, fetch_end = fetch_end, max(compute_end, fetch_end) + parts.output_us
        end_times_us[position] = fetch_end
    return _nanoseconds(start_times_us), _nanoseconds(end_times_us)


def _nanoseconds(times_us: np.ndarray) -> np.ndarray:
    rounded_ns: np.ndarray = np.round(times_us * 1e3).astype(np.int64)
    return rounded_ns


def _simulate_schedule(
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
