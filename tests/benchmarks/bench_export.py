"""How long all exports take, cold and warm, and how much memory an export process takes.

Two export processes behind the sweep's own engine, each model at its default axes, into a
cache of its own that is thrown away.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.sweep.engine import Completed, Engine
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from exporters.messages import ExportReply, ExportRequest
from exporters.models import catalogue

LIMIT_S = 600.0


@dataclass
class Exports:
    """A source of work that only exports."""

    models: list[str]

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        if not self.models:
            return None
        return ExportWork(ExportRequest(self.models.pop(0)), LIMIT_S)


def main() -> None:
    suites = catalogue.by_suite()
    zoo = [definition.name for definition in suites.pop("zoo")]
    other_names = [definition.name for definitions in suites.values() for definition in definitions]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GRAPHLAP_CACHE"] = folder
        _walk("everything but the zoo, cold", other_names, "aim < 3 min")
        _walk("everything but the zoo, warm", other_names, "aim: all from the cache")
        _walk("zoo, cold", zoo, "aim < 20 min, peak < 6 GiB")
        _walk("zoo, warm", zoo, "aim: all from the cache")
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    sys.stdout.write(f"the cache took {size / 2**30:.2f} GiB\n")


def _walk(title: str, models: Sequence[str], aim: str) -> None:
    source = Exports(list(models))
    replies: list[ExportReply] = []
    start_s = time.perf_counter()
    with Engine(source) as engine:
        while not engine.finished:
            for event in engine.poll(1.0):
                if not isinstance(event, Completed) or not isinstance(event.work, ExportWork):
                    continue
                if event.work.reply is not None:
                    replies.append(event.work.reply)
                if event.work.failed:
                    sys.stdout.write(f"  {event.work.text()}\n")
    seconds = time.perf_counter() - start_s
    # Linux tells the largest child there ever was, so the order of the walks matters.
    peak_gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    hits = sum(reply.cached for reply in replies)
    sys.stdout.write(
        f"{title}: {len(replies)} models in {seconds:.0f} s, {hits} from the cache, largest "
        f"process so far {peak_gib:.2f} GiB ({aim}); load {os.getloadavg()[0]:.1f}\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
