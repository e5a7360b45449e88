"""A source with the operator times of what it found to run after it, never between."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from app.cases.case import Case
from app.cases.operators import OperatorJob
from app.machine import engines
from app.sweep.sources.afterwards import Afterwards
from app.sweep.work.base import Source, Work
from app.sweep.work.operators import OperatorWork


class WithOperators(Afterwards):
    """`source` until it is exhausted, then the operator times of each case not yet `done`.

    `ran` are the ids of the cases that are recorded to give outputs. `time_limit_s` is how
    long they may take.
    """

    kind = OperatorWork.kind

    def __init__(
        self,
        source: Source,
        cases: Sequence[Case],
        ran: Iterable[str],
        done: Collection[str],
        time_limit_s: float,
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(source, ran, time_limit_s, memory_limit_bytes)
        self._waiting = deque(case for case in cases if case.case_id not in done)

    @property
    def left(self) -> int:
        return len(self._waiting)

    def _next_of_ours(self) -> Work | None:
        while self._waiting:
            case = self._waiting[0]
            if case.case_id not in self._ran:
                self._waiting.popleft()
                continue
            known = self._model_or_export(case, self._waiting)
            if isinstance(known, Work):
                return known
            self._waiting.popleft()
            if known is not None:
                job = OperatorJob(case, known, str(engines.folder()))
                return OperatorWork(job, self._time_limit_s, self._memory_limit_bytes)
        return None
