"""Samples of a followed run: files mapped while they grow, with counts over all rounds.

Reading goes through small buffers, so following a file of any size costs no memory; a map is made
anew with each look, so that pages that a plot has touched are given back.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from app.cases.round import MEASURED, RECORD, RoundResult, latency_ns
from app.run_folder.run import Run
from app.run_folder.telemetry import RoundTelemetry, round_telemetry
from app.stats.quantiles import BINS, Histogram
from exporters.file_access import open_file

CHUNK = 1 << 17
"""Records a reading: 4 MiB."""


class SampleTail:
    """`poll` reads what was added and says whether anything was.

    `from_schedule`: latencies count from when a run was due.
    """

    def __init__(self, path: Path, from_schedule: bool = False) -> None:
        self.path, self._from_schedule = path, from_schedule
        self._restart()

    def _restart(self) -> None:
        self._histogram = Histogram()
        self._first = b""
        self.records = 0

    @property
    def counts(self) -> np.ndarray:
        """Measured samples in the bins of `Histogram` [BINS]; a view, not a copy."""
        return self._histogram.counts

    def poll(self, chunks: int = 16) -> bool:
        """Read on for at most so many chunks, about a tenth of a second's work.

        A file that is gone counts as empty. One that was replaced or has shrunk, because its
        round is measured again, is read from its beginning.
        """
        previous_count = self.records
        try:
            with open_file(self.path) as file:
                self._notice_new_file(file)
                file.seek(self.records * RECORD.itemsize)
                for _ in range(chunks):
                    data = file.read(CHUNK * RECORD.itemsize)
                    records = np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)
                    self._add(records)
                    if len(records) < CHUNK:
                        break
        except OSError:
            self._restart()
        return self.records != previous_count

    def _notice_new_file(self, file: BinaryIO) -> None:
        """By its first record, which no two rounds share; a file's number may be used again."""
        first = file.read(RECORD.itemsize)
        shrunk = os.fstat(file.fileno()).st_size < self.records * RECORD.itemsize
        if shrunk or (self.records and first != self._first):
            self._restart()
        self._first = first

    def _add(self, records: np.ndarray) -> None:
        measured_records = records[records["phase"] == MEASURED]
        self._histogram.add(latency_ns(measured_records, self._from_schedule))
        self.records += len(records)

    def map(self) -> np.ndarray:
        """The records read so far as a read-only map [records]; empty if the file is gone."""
        if not self.records:
            return np.empty(0, RECORD)
        try:
            return np.memmap(self.path, RECORD, mode="r", shape=(self.records,))
        except (OSError, ValueError):
            return np.empty(0, RECORD)


def give_back(records: np.ndarray) -> None:
    """Let go of the pages of a map that were read: they are the file's, and come again if wanted.

    Read once from end to end, a long round would otherwise count as memory for as long as it is
    shown.
    """
    if isinstance(records.base, mmap.mmap):
        records.base.madvise(mmap.MADV_DONTNEED)


def no_counts() -> np.ndarray:
    """Bins [BINS] without any sample, shared by all series that have none."""
    return _NONE


_NONE = np.zeros(BINS, np.int64)
_NONE.flags.writeable = False


class CaseSamples:
    """Keeps one tail for each round; `follow` is told which files there are.

    `from_schedule`: latencies count from when a run was due.
    """

    def __init__(self, from_schedule: bool = False) -> None:
        self._from_schedule = from_schedule
        self._tails: dict[int, SampleTail] = {}
        self._counts = no_counts()

    def follow(self, files: Mapping[int, Path]) -> bool:
        """Read on in every round's file; whether anything changed."""
        has_changed = False
        for number in [number for number in self._tails if number not in files]:
            del self._tails[number]
            has_changed = True
        for number, path in files.items():
            tail = self._tails.setdefault(number, SampleTail(path, self._from_schedule))
            has_changed |= tail.poll()
        if has_changed:
            parts = [tail.counts for tail in self._tails.values()]
            self._counts = np.sum(parts, axis=0) if parts else no_counts()
        return has_changed

    @property
    def counts(self) -> np.ndarray:
        """Measured samples of all rounds by bin; never changed afterwards."""
        return self._counts

    @property
    def numbers(self) -> tuple[int, ...]:
        """The rounds that have a file, in their order."""
        return tuple(sorted(self._tails))

    def maps(self) -> tuple[np.ndarray, ...]:
        """A map of each round in their order."""
        return tuple(self._tails[number].map() for number in self.numbers)


class TelemetryCache:
    """`of` gives one for each numbered round, an empty one while a round is in flight."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, int], tuple[RoundResult, RoundTelemetry]] = {}

    def of(
        self, run: Run, key: str, rounds: Mapping[int, RoundResult], numbers: Iterable[int]
    ) -> tuple[RoundTelemetry, ...]:
        return tuple(self._telemetry_of(run, key, number, rounds.get(number)) for number in numbers)

    def _telemetry_of(
        self, run: Run, key: str, number: int, result: RoundResult | None
    ) -> RoundTelemetry:
        if result is None:
            return RoundTelemetry()
        cache_entry = self._read.get((key, number))
        if cache_entry is None or cache_entry[0] is not result:
            cache_entry = result, round_telemetry(run, result)
            self._read[key, number] = cache_entry
        return cache_entry[1]
