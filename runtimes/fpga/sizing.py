"""Card sizing: the smallest card that meets a latency target, and several models on one card."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from runtimes.errors import Unsupported
from runtimes.fpga.card.compiler import Compiled, compile_lowered
from runtimes.fpga.card.timing import fidelity, latency_us, p99_us
from runtimes.fpga.cards import BF16_BYTES, Card, CardError
from runtimes.fpga.lower.steps import Lowered

BLOCKS = (16, 32, 64, 128)
MOST_CORES = 16
CLOCK_STEP_MHZ = 25
LOWEST_CLOCK_MHZ = 100
"""Clocks are multiples of the step, up to and including the card's public clock: nothing public
shows that a design reaches a higher one."""

Size = tuple[int, int, float, int]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A card with a number of cores, a block size and a clock, and what a request takes on it.

    `multiplications` are those of a cycle, `share` their share of the part's.
    """

    card: str
    release: str
    cores: int
    block: int
    clock_mhz: float
    multiplications: int
    share: float
    tiles_used: int
    tiles_total: int
    mean_us: float
    p99_us: float
    fidelity: str
    fidelity_reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """`smallest` meets the target, None where nothing does. `curve` is in the order of size, and
    each of its configurations has a lower p99 than all smaller ones. `tried` are all that hold the
    graph."""

    smallest: Configuration | None
    curve: tuple[Configuration, ...]
    tried: int


def size(card: Card) -> Size:
    """The order from small to large: DSP blocks of the part, multiplications a cycle, clock, cores.

    A smaller part comes first however it is used. CardError for a card without a part.
    """
    if card.part is None:
        raise CardError(
            f"{card.name} has no description of its part, so its size is unknown",
            "add a table [part] to the card's file",
        )
    return card.part.dsp_blocks, card.multiplications, card.clock_mhz, card.cores


def designs(public: Card) -> Iterator[Card]:
    """All configurations of one card that its part can hold, smallest clock first.

    The memory that the public design has for weights is dealt out anew.
    """
    size(public)
    for block in BLOCKS:
        for cores in range(1, MOST_CORES + 1):
            tiles = public.weight_bytes // (block**2 * BF16_BYTES * cores)
            for clock_mhz in clocks(public.clock_mhz):
                card = replace(
                    public, cores=cores, block=block, tiles_per_core=tiles, clock_mhz=clock_mhz
                )
                if tiles and not card.excess:
                    yield card


def clocks(public_mhz: float) -> tuple[float, ...]:
    """The clocks to try, ascending."""
    steps = range(LOWEST_CLOCK_MHZ, math.ceil(public_mhz), CLOCK_STEP_MHZ)
    return (*(float(mhz) for mhz in steps), public_mhz)


def search(
    lowered_model: Lowered,
    cards: Sequence[Card],
    target_us: float,
    release: str = "",
    idle_us: float = math.inf,
) -> Found:
    """The smallest configuration whose p99 is at most `target_us`, for requests that arrive
    `idle_us` after the last was finished.

    Unsupported where no card holds the graph at any size, with the reason of the last card.
    """
    timed_sizes: list[tuple[Size, float, Compiled]] = []
    refusal: Unsupported | None = None
    for public in cards:
        compiled_model: Compiled | None = None
        for card in designs(public):
            try:
                compiled_model = _at_clock(compiled_model, card) or compile_lowered(
                    lowered_model, card, release
                )
            except Unsupported as error:
                refusal = error
                continue
            timed_sizes.append(
                (size(card), round(p99_us(compiled_model, idle_us), 6), compiled_model)
            )
    if not timed_sizes and refusal is not None:
        raise refusal
    timed_sizes.sort(key=lambda entry: entry[0])
    curve = []
    best_us = math.inf
    for _, us, compiled_model in timed_sizes:
        if us < best_us:
            best_us = us
            curve.append(_configuration(compiled_model, us, idle_us))
    smallest = next((candidate for candidate in curve if candidate.p99_us <= target_us), None)
    return Found(smallest, tuple(curve), len(timed_sizes))


def _at_clock(compiled_model: Compiled | None, card: Card) -> Compiled | None:
    """The same program at another clock; None where the program is another one."""
    if compiled_model is None or compiled_model.memory.spilled_bytes:
        return None
    if replace(compiled_model.card, clock_mhz=card.clock_mhz) != card:
        return None
    return replace(compiled_model, card=card)


def _configuration(compiled_model: Compiled, us: float, idle_us: float) -> Configuration:
    card, trust = compiled_model.card, fidelity(compiled_model, idle_us)
    assert card.part is not None
    return Configuration(
        card=card.key,
        release=compiled_model.release.name,
        cores=card.cores,
        block=card.block,
        clock_mhz=card.clock_mhz,
        multiplications=card.multiplications,
        share=round(card.multiplications / card.part.multiplications, 6),
        tiles_used=compiled_model.placement.used,
        tiles_total=compiled_model.placement.total,
        mean_us=round(latency_us(compiled_model, idle_us), 6),
        p99_us=us,
        fidelity=trust.word,
        fidelity_reason=trust.reason,
    )
