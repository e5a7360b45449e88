"""A dynamic batcher in front of the model, as one word: `max=8,wait=2ms`."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Self

from app.cases.digits import divided, plain
from app.cases.microseconds import TIME, microseconds
from exporters.invalid_value import InvalidValue

MOST, LONGEST_WAIT_US = 1024, 10e6
"""No server collects more, and nobody waits so long to be asked."""
NO_BATCHER = "none"

_FORM = rf"max=(?P<most>[0-9]{{1,20}}),wait={TIME}"


@dataclass(frozen=True, slots=True)
class Batcher:
    """Requests of one input each are sent together, up to `most` of them.

    A batch is sent when `most` are waiting or the oldest has waited `wait_us`, whichever comes
    first, and the server is free. With a wait of 0 whatever waits is sent as soon as it is free.
    """

    most: int
    wait_us: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """The word as `str` gives it; ValueError with one sentence."""
        match = re.fullmatch(_FORM, text)
        if match is None:
            raise InvalidValue(
                f"{text!r} is not known", f"use {NO_BATCHER}, or such as max=8,wait=2ms"
            )
        most = int(match["most"])
        wait_us = microseconds(match["time"], match["unit"])
        if not 1 <= most <= MOST:
            raise InvalidValue(f"{text!r} collects {most} requests", f"use max=1 to max={MOST}")
        if wait_us > LONGEST_WAIT_US:
            raise InvalidValue(f"{text!r} waits too long", "use at most wait=10s")
        if wait_us != round(wait_us * 1e3) / 1e3:
            raise InvalidValue(f"{text!r} waits for part of a nanosecond", "use whole ones")
        return cls(most, wait_us)

    @property
    def wait_ns(self) -> int:
        return round(self.wait_us * 1e3)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The batches that the graph is compiled for, ascending: powers of two, then `most`.

        As TensorFlow Serving's `allowed_batch_sizes`: a batch is filled up to the next of them.
        """
        powers = (1 << power for power in range(self.most.bit_length()))
        return (*(size for size in powers if size < self.most), self.most)

    def size_for(self, requests: int) -> int:
        """The smallest of `sizes` that holds so many requests, from 1 to `most`."""
        return self.sizes[bisect_left(self.sizes, requests)]

    def __str__(self) -> str:
        in_ms = self.wait_us >= 1e3
        wait = divided(self.wait_us, 1e3) if in_ms else plain(self.wait_us)
        return f"max={self.most},wait={wait}{'ms' if in_ms else 'us'}"


def parsed(text: str) -> Batcher | None:
    """The batcher of a word, None of `none`; ValueError with one sentence."""
    return None if text == NO_BATCHER else Batcher.parse(text)
