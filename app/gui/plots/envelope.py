"""Millions of samples as a few thousand bars: the least and the greatest of each block.

Grows with its round: only complete new blocks are looked at, so following a file costs what
was added to it, and the samples themselves stay where they are, in a memory map.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.cases.round import MEASURED
from app.runs.following.samples import give_back

BLOCK = 256
_AT_ONCE = 1024 * BLOCK
"""A round that is shown late is taken in piece by piece, and none of it stays in memory."""
Taken = Callable[[np.ndarray], np.ndarray]
"""Nanoseconds [n] of RECORD records [n]."""


class Envelope:
    """Per block of 256 samples its start and its least, greatest and median latency [s].

    Times are seconds since the round's first sample; `taken_ns` tells of records what each took.
    """

    def __init__(self, taken_ns: Taken) -> None:
        self._taken_ns = taken_ns
        self._clear()

    def _clear(self) -> None:
        self.samples = 0
        self.start_s = self.least_s = self.greatest_s = self.median_s = np.empty(0)
        self.first_ns = 0
        self.end_s = 0.0
        self.warmup_end_s = 0.0
        self._warm_until = 0

    def follow(self, records: np.ndarray) -> None:
        """Take in what was added to the round's RECORD records since the last call."""
        if len(records) == 0:
            self._clear()
            return
        another = self.samples and int(records["started_ns"][0]) != self.first_ns
        if len(records) < self.samples or another:
            self._clear()
        self.first_ns = int(records["started_ns"][0])
        self.end_s = (int(records["finished_ns"][-1]) - self.first_ns) * 1e-9
        self._follow_warmup(records)
        whole = len(records) // BLOCK * BLOCK
        while self.samples < whole:
            end = min(whole, self.samples + _AT_ONCE)
            self._add_blocks(records[self.samples : end])
            if end - self.samples == _AT_ONCE:
                give_back(records)
            self.samples = end

    def _add_blocks(self, added: np.ndarray) -> None:
        latency = self._taken_ns(added).reshape(-1, BLOCK)
        start_s = (added["started_ns"][::BLOCK] - self.first_ns) * 1e-9
        median = np.partition(latency, BLOCK // 2, axis=1)[:, BLOCK // 2]
        self.start_s = np.concatenate([self.start_s, start_s])
        self.least_s = np.concatenate([self.least_s, latency.min(axis=1) * 1e-9])
        self.greatest_s = np.concatenate([self.greatest_s, latency.max(axis=1) * 1e-9])
        self.median_s = np.concatenate([self.median_s, median * 1e-9])

    def _follow_warmup(self, records: np.ndarray) -> None:
        """Warm-up comes first: look on from where it last went on, until a measured sample."""
        while self._warm_until < len(records) and records["phase"][self._warm_until] != MEASURED:
            phases = records["phase"][self._warm_until : self._warm_until + 65536]
            others = np.nonzero(phases == MEASURED)[0]
            self._warm_until += int(others[0]) if len(others) else len(phases)
            last_ns = int(records["finished_ns"][self._warm_until - 1])
            self.warmup_end_s = (last_ns - self.first_ns) * 1e-9
