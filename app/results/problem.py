"""Why a run folder, or a line in it, can't be read."""

from __future__ import annotations

from dataclasses import dataclass

from app.cases.errors import ResultsError


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as a value: `cause` is why, `remedy` what to do about it."""

    cause: str
    remedy: str

    @property
    def error(self) -> ResultsError:
        """For who shows errors."""
        return ResultsError(self.cause, self.remedy)
