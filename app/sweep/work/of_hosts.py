"""Something to tell of the hosts of a sweep, and rounds that no longer count because of it."""

from __future__ import annotations

from collections.abc import Iterable

from app.results.folder import RunFolder
from app.results.labels import FILE_NAMES, ModelNames
from app.results.lines import Line, Voided
from app.results.live import Live
from app.sweep.work.base import Known


class HostNews(Known):
    """`said` is one sentence, `voided` are the rounds that are done again."""

    kind = "host"

    def __init__(self, said: str, voided: tuple[Voided, ...] = ()) -> None:
        self._said, self.voided = said, voided

    def ended(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        return self.voided

    @property
    def failed(self) -> bool:
        return True  # whoever sees nothing but failures is to see this

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        return self._said
