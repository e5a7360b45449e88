"""The answer of a capability about a run: printed, written to its folder, and its exit code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from app.cases.status import Status
from app.comparison.measured_case import MeasuredCase
from app.present.document import Block
from app.present.figure import Figure


class Answer(ABC):
    """The answer of a search to the question of its plan.

    `is_final`: it stands in place of the ranking of runtimes, and its own words state how complete
    it is. `replaces_rows`: medians of cases and warnings are not shown with it. `expected` are
    statuses that answer the question where they would be failures elsewhere.
    """

    is_final: ClassVar[bool] = True
    replaces_rows: ClassVar[bool] = False
    expected: ClassVar[frozenset[Status]] = frozenset()

    @property
    def exit_code(self) -> int | None:
        """The exit code in place of the rows' own; None where rows decide."""
        return None

    @abstractmethod
    def question(self, models: str, runtimes: str) -> str:
        """What the plan asks, as the title of a page."""

    @abstractmethod
    def tables(self) -> Iterator[Block]:
        """The answer, then its evidence."""

    def sentences(self) -> Iterator[str]:
        """The answer in a line for each model."""
        yield from ()

    def figures(self) -> Iterator[Figure]:
        """Pictures of the search."""
        yield from ()

    def evidence(self, cases: Sequence[MeasuredCase]) -> Iterator[Figure]:
        """Pictures of all cases at once."""
        yield from ()

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Names in the run folder and what is in them."""
        yield from ()

    def complete(self) -> Answer:
        """With what is measured once the rounds are over."""
        return self
