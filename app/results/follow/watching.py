"""What was recorded beside the rounds of the cases that are shown, each read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from app.cases.round import RoundResult
from app.results.watched import Watched, watched_round


class Watching:
    """`of` gives one for each numbered round, an empty one while a round is in flight."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._read: dict[tuple[str, int], tuple[RoundResult, Watched]] = {}

    def of(
        self, key: str, rounds: Mapping[int, RoundResult], numbers: Iterable[int]
    ) -> tuple[Watched, ...]:
        return tuple(self._one(key, number, rounds.get(number)) for number in numbers)

    def _one(self, key: str, number: int, result: RoundResult | None) -> Watched:
        if result is None:
            return Watched()
        known = self._read.get((key, number))
        if known is None or known[0] is not result:
            known = result, watched_round(self._run, result)
            self._read[key, number] = known
        return known[1]
