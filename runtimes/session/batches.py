"""One graph compiled for several batches: a session for each, as one that a batcher chooses from.

Each has weights of its own, as TensorFlow Serving's allowed batch sizes and engines built for fixed
shapes do: so many times the memory of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from exporters.types import ExportedModel
from runtimes.base import Runtime, Session
from runtimes.dealing import each, options_on
from runtimes.faults import Unsupported
from runtimes.options import Settings, sessions_of
from runtimes.request import batch_size
from runtimes.session.several import Several


def compile_batches(
    runtime: Runtime, models: Sequence[ExportedModel], settings: Settings
) -> Batches:
    """A session for each of `models`, which are one model at several batches.

    Raises what `runtime.compile` raises, and Unsupported where one has several lanes; the sessions
    that were compiled before one that fails are closed.
    """
    lanes = sessions_of(options_on(runtime, settings.device), settings.options)
    settings = each(runtime, settings)[0]
    with ExitStack() as opened:
        sessions = {
            batch_size(model, model.axes): opened.enter_context(
                runtime.compile(model, model.axes, settings)
            )
            for model in models
        }
        lanes *= max(len(session.lanes) for session in sessions.values())
        if lanes > 1:
            raise Unsupported(
                f"a batcher sends one batch after another, and {runtime.name} runs {lanes} at once",
                "use one session with one stream",
            )
        together = Batches(sessions)
        opened.pop_all()
    return together


class Batches(Several):
    """`by_size` are the sessions by their batch; the one lane is that of the first."""

    def __init__(self, by_size: Mapping[int, Session]) -> None:
        super().__init__(tuple(by_size.values()))
        self.by_size = by_size
        self.lanes = self.lanes[:1]
