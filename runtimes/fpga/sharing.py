"""Several models on one card, each on cores of its own, and what they cost each other.

Cores and their tiles are divided; the link and the memory for activations are common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runtimes.faults import Unsupported
from runtimes.fpga.card.compiler import compile_lowered
from runtimes.fpga.card.timing import latency_us, p99_us
from runtimes.fpga.card.transfers import stages
from runtimes.fpga.cards import Card
from runtimes.fpga.lower.steps import Lowered


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
    asked = sum(cores for _, _, cores in models)
    if asked > card.cores:
        raise Unsupported(
            f"the models need {asked} cores, {card.name} has {card.cores}", "use fewer for some"
        )
    compiled = []
    for name, lowered, cores in models:
        try:
            compiled.append(compile_lowered(lowered, replace(card, cores=cores), release))
        except Unsupported as error:
            raise Unsupported(f"{name} on {cores} cores {error.cause}", error.remedy) from None
    held = sum(one.memory.peak_bytes for one in compiled)
    if card.activation_bytes is not None and held > card.activation_bytes:
        raise Unsupported(
            f"the activations of all models need {held} bytes, {card.name} has at most "
            f"{card.activation_bytes}",
            "leave out a model or use smaller batches",
        )
    parts = [stages(one) for one in compiled]
    transfers_us = [part.input_us + part.output_us for part in parts]
    return tuple(
        Tenant(
            model=name,
            cores=cores,
            tiles_used=one.placement.used,
            tiles_total=one.placement.total,
            activation_bytes=one.memory.peak_bytes,
            mean_us=round(latency_us(one, idle_us), 6),
            p99_us=round(p99_us(one, idle_us), 6),
            contended_us=round(
                latency_us(one, idle_us) + sum(transfers_us) - transfers_us[number], 6
            ),
        )
        for number, ((name, _, cores), one) in enumerate(zip(models, compiled, strict=True))
    )
