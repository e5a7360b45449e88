"""Whether a graph's activations fit the memory that a card's weights leave, and what spills.

The limit is generous: all memory of the part beyond the weight store. What exceeds it lies in
memory outside the chip, where the card has some, and costs a transfer whenever it is written or
read; where it has none, the graph is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from runtimes.faults import Unsupported
from runtimes.fpga.cards import Card
from runtimes.fpga.lower.activations import live_bytes
from runtimes.fpga.lower.steps import Lowered


@dataclass(frozen=True, slots=True)
class ActivationMemory:
    """`peak_bytes` are held at once at most, `limit_bytes` is what the chip has for them (None:
    unknown). `spilled_bytes` is the size of the tensors outside the chip, and `moved_bytes` what
    each step writes and reads there."""

    peak_bytes: int
    limit_bytes: int | None
    spilled_bytes: int = 0
    moved_bytes: Mapping[int, int] = field(default_factory=dict)


def activation_memory(lowered: Lowered, card: Card) -> ActivationMemory:
    """The largest tensors of the fullest steps spill first, until the rest fits.

    Unsupported where the card has nowhere to put them.
    """
    kept = list(lowered.buffers)
    steps = len(lowered.steps)
    live = live_bytes(kept, steps)
    peak, limit = max(live, default=0), card.activation_bytes
    if limit is None or peak <= limit:
        return ActivationMemory(peak, limit)
    assert card.part is not None
    external = card.part.external_bytes
    if not external or not card.part.external_bytes_per_us:
        raise Unsupported(
            f"its activations need {peak} bytes at once, the chip has {limit} beyond its weights "
            "and the card's file gives no other memory",
            "use a smaller batch or a smaller model",
        )
    spilled = []
    while max(live) > limit:
        fullest = live.index(max(live))
        here = [buffer for buffer in kept if buffer.first <= fullest <= buffer.last]
        largest = max(here, key=lambda buffer: buffer.size)
        kept.remove(largest)
        spilled.append(largest)
        live = live_bytes(kept, steps)
    outside = max(live_bytes(spilled, steps))
    if outside > external:
        raise Unsupported(
            f"its activations need {outside} bytes outside the chip, the card has {external}",
            "use a smaller batch or a smaller model",
        )
    moved: Counter[int] = Counter()
    for buffer in spilled:
        for step in (buffer.made, *buffer.reads):
            moved[buffer.first if step is None else step] += buffer.size
    return ActivationMemory(peak, limit, sum(buffer.size for buffer in spilled), dict(moved))
