"""The operator times of one case on the machine that measured it, after its rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path

from app.carriers.bringing import unreadable
from app.carriers.contract import ENGINES, HostJob
from app.cases.operators import OperatorJob
from app.results.folder import RunFolder
from app.results.labels import FILE_NAMES, ModelNames
from app.results.lines import Line, Operators
from app.results.live import Live
from app.sweep.work.base import Needs, Starter
from app.sweep.work.brought import brought_model
from app.sweep.work.host_talk import AGENT_MARGIN_S, HostPlace, HostTalk
from app.sweep.work.hosted_round import Way
from app.sweep.work.operators import OperatorWork

_NUMBERS = count(1)


class HostedOperators(OperatorWork):
    """`lost` says why nothing came of it, where the host or the way to it failed. `attempt` is that
    of the case's rounds, with which these times stand and fall."""

    def __init__(
        self,
        job: OperatorJob,
        time_limit_s: float,
        needs: Needs,
        way: Way,
        attempt: int,
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(job, time_limit_s, memory_limit_bytes)
        self.host, self.needs = way.host, needs
        self.lost = ""
        self._way, self._attempt = way, attempt
        self._far: HostTalk | None = None

    def start(self, place: Starter) -> None:
        """Wherever the sweep itself is: the host has its own place."""
        case, way = self.job.case, self._way
        try:
            model, files = brought_model(self.job.model, case.axes, way.send_code)
        except OSError as error:
            self.over = True
            self._why_dropped = str(unreadable(error))
            return
        self.job = replace(self.job, model=model, cache_dir=ENGINES)
        job_id = f"{case.case_id}.{self.kind}.{next(_NUMBERS)}.{way.mark}"
        job = HostJob(
            id=job_id,
            kind=self.kind,
            line="",
            files=files,
            memory_limit_bytes=self.memory_limit_bytes,
            samples=False,
            limit_s=self.time_limit_s + AGENT_MARGIN_S,
        )
        self._far = HostTalk(way.carrier, way.host, job, Path(), way.ring)
        super().start(HostPlace(self._far))

    def ended(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        for line in super().ended(folder, live):
            assert isinstance(line, Operators), "it is all that there is"
            yield replace(line, attempt=self._attempt)

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        return f"{self.host}: {super().text(models)}"

    def _settle(self) -> None:
        super()._settle()
        if self._why_dropped:
            return
        assert self._far is not None, "it was started"
        self.lost = self._far.lost or self._never_begun
        if self.result is not None and self.result.case_id != self.job.case.case_id:
            self.lost = "it answered for another case"
        if self.lost:
            self.result, self._why_dropped = None, f"{self.host} was lost in it ({self.lost})"
