"""A request's way over the link: how long it takes, and what of it overlaps with computing.

The host software takes one way, register writes or DMA, for the whole request. The rows of a batch
follow each other in both directions: the card computes rows that have arrived while others are
still on their way, and rows that are done leave while others are computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from runtimes.fpga.card.compiler import Compiled
from runtimes.fpga.card.instructions import Instruction
from runtimes.fpga.cards.link import Transfer, link_table

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


def transfer(compiled: Compiled) -> Transfer | None:
    """The request's round trip by the release's table of the link; None where it has none."""
    lowered, name = compiled.lowered, compiled.release.link
    if not name:
        return None
    return link_table(name).transfer(lowered.input_bytes, lowered.output_bytes)


def io_us(compiled: Compiled) -> float:
    """What the link adds to a request's cycles, with the fabric's fill and drain, microseconds."""
    lowered = compiled.lowered
    return _round_trip_us(compiled, lowered.input_bytes, lowered.output_bytes) - hidden_us(compiled)


def hidden_us(compiled: Compiled) -> float:
    """How much of the transfers of a batch passes while the card computes; 0 for one row.

    Rows after the first arrive while the first instruction that reads them issues, and rows before
    the last leave while the instruction that gives them issues.
    """
    lowered = compiled.lowered
    rows, sent, fetched = lowered.rows, lowered.input_bytes, lowered.output_bytes
    if rows == 1:
        return 0.0
    whole = _round_trip_us(compiled, sent, fetched)
    inputs_us = whole - _round_trip_us(compiled, sent // rows, fetched)
    outputs_us = whole - _round_trip_us(compiled, sent, fetched // rows)
    share = (rows - 1) / rows / compiled.card.clock_mhz
    readers = _first_of_each_unit(compiled)
    writers = [compiled.program[number] for number in lowered.output_steps]
    return sum(
        max(0.0, min(moved_us, share * min((i.fresh_issue for i in instructions), default=0)))
        for moved_us, instructions in ((inputs_us, readers), (outputs_us, writers))
    )


def stages(compiled: Compiled) -> Stages:
    """The parts of a request among others that follow at once.

    What a round trip without data takes is divided evenly between both directions.
    """
    sent, whole = compiled.lowered.input_bytes, io_us(compiled)
    empty = _round_trip_us(compiled, 0, 0)
    input_us = empty / 2 + _round_trip_us(compiled, sent, 0) - empty
    input_us = min(input_us, whole)
    cycles = compiled.scheduler.after_idle(0).cycles
    return Stages(input_us, cycles / compiled.card.clock_mhz, whole - input_us)


def jitter_us(compiled: Compiled) -> float:
    """The scale of the exponential jitter: the link's own where its table has a p99."""
    measured = transfer(compiled)
    if measured is None:
        return compiled.card.jitter_us
    return max(0.0, measured.p99_us - measured.mean_us) / P99_ABOVE_MEAN


def _first_of_each_unit(compiled: Compiled) -> list[Instruction]:
    """The instructions that begin a request: they wait for no other and read what is new."""
    first: dict[str, Instruction] = {}
    for instruction in compiled.program:
        if not instruction.after and instruction.fresh_issue:
            first.setdefault(instruction.unit, instruction)
    return list(first.values())


def _round_trip_us(compiled: Compiled, sent: int, fetched: int) -> float:
    """So many bytes by the way that the whole request takes."""
    release = compiled.release
    measured = transfer(compiled)
    if measured is not None:
        by = link_table(release.link).by_way(measured.way, sent, fetched)
        return release.io_us + by.mean_us
    dma = release.dma_us if compiled.lowered.input_bytes > release.register_bytes else 0.0
    beyond = sum(max(0, size - CALIBRATED_BYTES) for size in (sent, fetched))
    return release.io_us + dma + beyond / compiled.card.link_bytes_per_us
