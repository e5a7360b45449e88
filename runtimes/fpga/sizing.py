"""Card sizing: the smallest card that meets a latency target, and several models on one card."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from runtimes.errors import Unsupported
from runtimes.fpga.card.compiler import Compiled, compile_lowered
from runtimes.fpga.card.timing import fidelity, latency_us, p99_us, stages
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


@dataclass(frozen=True, slots=True)
class Tenant:
    """A model on some cores of a card. `mean_us` and `p99_us` are those without other requests;
    `contended_us` is the mean where each other model's transfer goes first in both directions."""

    model: str
    cores: int
    tiles_used: int
    tiles_total: int
    activation_bytes: int
    mean_us: float
    p99_us: float
    contended_us: float


def share(
    models: Sequence[tuple[str, Lowered, int]],
    card: Card,
    release: str = "",
    idle_us: float = math.inf,
) -> tuple[Tenant, ...]:
    """Each model (name, steps, cores) on its own cores.

    Unsupported where they need more cores or memory than the card has, or one more tiles than its
    cores hold.
    """
    core_total = sum(cores for _, _, cores in models)
    if core_total > card.cores:
        raise Unsupported(
            f"the models need {core_total} cores, {card.name} has {card.cores}",
            "use fewer for some",
        )
    compiled_models = []
    for name, lowered_model, cores in models:
        try:
            compiled_models.append(
                compile_lowered(lowered_model, replace(card, cores=cores), release)
            )
        except Unsupported as error:
            raise Unsupported(f"{name} on {cores} cores {error.cause}", error.remedy) from None
    peak_bytes = sum(compiled_model.memory.peak_bytes for compiled_model in compiled_models)
    if card.activation_bytes is not None and peak_bytes > card.activation_bytes:
        raise Unsupported(
            f"the activations of all models need {peak_bytes} bytes, {card.name} has at most "
            f"{card.activation_bytes}",
            "leave out a model or use smaller batches",
        )
    parts = [stages(compiled_model) for compiled_model in compiled_models]
    transfers_us = [part.input_us + part.output_us for part in parts]
    return tuple(
        Tenant(
            model=name,
            cores=cores,
            tiles_used=compiled_model.placement.used,
            tiles_total=compiled_model.placement.total,
            activation_bytes=compiled_model.memory.peak_bytes,
            mean_us=round(latency_us(compiled_model, idle_us), 6),
            p99_us=round(p99_us(compiled_model, idle_us), 6),
            contended_us=round(
                latency_us(compiled_model, idle_us) + sum(transfers_us) - transfers_us[number], 6
            ),
        )
        for number, ((name, _, cores), compiled_model) in enumerate(
            zip(models, compiled_models, strict=True)
        )
    )
