"""What the capabilities of a run came to, as blocks and figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.plot_data.series import Series
from app.cases.column import Row
from app.cases.status import Status
from app.plan.capabilities import parts
from app.present.document import Block
from app.present.figure import Figure
from app.run_folder.run import Run


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

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """The same as values by the names of columns."""
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


Table = tuple[Sequence[str], Sequence[Sequence[object]]]
"""Names of columns, and rows."""


class CasesView(ABC):
    """A view of a run's cases in the window, which draws its figures below each other.

    `place` is what it is called where views are chosen, `hint` says what it shows, `missing` what
    to do while there is nothing. It is offered for a run whose cases it has something of.
    """

    title: ClassVar[str]
    place: ClassVar[str]
    hint: ClassVar[str]
    missing: ClassVar[str]

    @abstractmethod
    def offers(self, series: Sequence[Series]) -> bool:
        """Whether there is something to see of these cases."""

    @abstractmethod
    def figures(self, series: Sequence[Series]) -> list[Figure]:
        """The pictures; each of their series looks as the first of its cases."""

    @abstractmethod
    def heading(self, series: Sequence[Series]) -> tuple[str, str]:
        """The title above them, and a note."""

    @abstractmethod
    def table(self, series: Sequence[Series]) -> Table:
        """What they show, as rows."""


def answers(run: Run) -> tuple[Answer, ...]:
    """What the run came to, by each capability that its plan asks for."""
    candidates = (make(run) for make in parts("answer"))
    return tuple(answer for answer in candidates if answer is not None)


def tables(run: Run, rows: Sequence[Row], width: int) -> Iterator[Block]:
    """Tables of what capabilities recorded, laid out for so many columns."""
    for make in parts("tables"):
        yield from make(run, rows, width)
