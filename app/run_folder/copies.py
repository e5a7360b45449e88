"""Work on a run in copies of this process, one for each core, which have it without reading it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

from app.machine.placement import usable_cores
from app.run_folder.run import Run

Answer = TypeVar("Answer")

_MANY = 1000
"""Cases that are worth starting processes for."""


class Copies:
    """Works on `run`; where there is no pool, or one of its processes fails, this one does it."""

    def __init__(self, run: Run, pool: ProcessPoolExecutor | None = None) -> None:
        self.run = run
        self._pool = pool

    def begin(self, work: Callable[..., Answer], *arguments: Any) -> Callable[[], Answer]:
        """Begin `work(run, *arguments)`; what is returned waits for its answer, or raises what
        stands in the way."""
        here = partial(work, self.run, *arguments)
        if self._pool is None:
            return here
        try:
            future = self._pool.submit(_in_copy, work, arguments)
        except BrokenProcessPool:
            return here

        def answer() -> Answer:
            try:
                return future.result()
            except Exception:
                return here()

        return answer


@contextmanager
def copies_of(run: Run) -> Iterator[Copies]:
    """For a run of many cases a process on each core, which end with the block."""
    cores = len(usable_cores())
    if len(run.cases) < _MANY or cores == 1:
        yield Copies(run)
        return
    with ProcessPoolExecutor(cores, get_context("fork"), _copied.append, (run,)) as pool:
        yield Copies(run, pool)


_copied: list[Run] = []
"""In a copy of a process its run."""


def _in_copy(work: Callable[..., Answer], arguments: tuple[Any, ...]) -> Answer:
    try:
        return work(_copied[0], *arguments)
    except Exception as error:  # which need not be one that can be sent
        raise RuntimeError(str(error)) from None
