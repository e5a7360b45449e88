"""A neighbour from the measuring process's side: started, told to end, and judged by its work.

It is a child of the measuring process, on the same cores, and goes with it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from app.cases.round import NeighbourJob, NeighbourResult, Stretch
from app.workers.neighbour import WORKING
from app.workers.round_context import RoundContext
from exporters import install_layout
from exporters.codec import from_json, to_json
from exporters.diagnostics import diagnostic
from runtimes.errors import RuntimeFault

MINIMUM_AT_WORK = 0.9
"""A neighbour that worked for less of the measured time was none."""


@contextmanager
def colocated_load(context: RoundContext) -> Iterator[Neighbour | None]:
    """The case's neighbour, at work; None for a case without one.

    Raises RuntimeFault, with the status that it ended with, for one that does not begin to work.
    """
    if context.job.neighbour is None:
        yield None
        return
    neighbour = Neighbour(context.job.neighbour)
    try:
        neighbour.wait_until_at_work()
        yield neighbour
    finally:
        neighbour.close()


class Neighbour:
    """One process; `close` ends it."""

    def __init__(self, job: NeighbourJob) -> None:
        self._name = job.model.name
        self._child = subprocess.Popen(
            install_layout.command("app.workers.neighbour"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**install_layout.child_environment(), install_layout.PARENT: str(os.getpid())},
        )
        self._send(json.dumps(to_json(job)))

    @property
    def pid(self) -> int:
        return self._child.pid

    def wait_until_at_work(self) -> None:
        """Until its runs have begun; the round's time limit is its too."""
        event = self._next_event()
        if event.pop("event", "") == WORKING:
            return
        result = from_json(NeighbourResult, event) if event else None
        fault = RuntimeFault(
            f"the neighbour {self._name} can't run as co-located load: "
            + (result.reason if result else f"its process ended, {self._how_it_ended()}")
        )
        fault.status = result.status if result else "run_failed"
        raise fault

    def note(self, context: RoundContext, start_ns: int, end_ns: int) -> None:
        """End it, and note how often it ran in the measured time; a round without it is invalid."""
        self._send("stop")
        event = self._next_event()
        if not event:
            context.note(valid=False)
            exit_code = self._child.wait()
            context.warn(diagnostic("neighbour_ended", self._name, exit_code=exit_code))
            return
        event.pop("event", "")
        result = from_json(NeighbourResult, event)
        runs, share = work_in_window(result.stretches, start_ns, end_ns)
        per_s = runs / ((end_ns - start_ns) * 1e-9)
        load_facts = {"colocated_runs_per_s": per_s, "colocated_busy_fraction": share}
        context.note(facts={**context.result.facts, **load_facts})
        if result.reason or share < MINIMUM_AT_WORK:
            context.note(valid=False)
            context.warn(
                diagnostic("neighbour_failed", self._name, share=share, error=result.reason)
                if result.reason
                else diagnostic("neighbour_idle", self._name, share=share)
            )

    def close(self) -> None:
        self._child.kill()
        self._child.communicate()

    def _send(self, line: str) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(line.encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            return  # its end is noticed when it says nothing

    def _next_event(self) -> dict[str, Any]:
        """Its next event; {} once it is gone."""
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        event: dict[str, Any] = json.loads(line) if line.strip() else {}
        return event

    def _how_it_ended(self) -> str:
        code = self._child.wait()
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def work_in_window(stretches: Sequence[Stretch], start_ns: int, end_ns: int) -> tuple[float, float]:
    """How many runs fell between two times, and for what share of them it was running.

    A stretch that lies across an end counts by its part within.
    """
    runs = within_ns = 0.0
    for stretch in stretches:
        part_ns = min(stretch.ended_ns, end_ns) - max(stretch.begun_ns, start_ns)
        if part_ns > 0:
            within_ns += part_ns
            runs += stretch.runs * part_ns / (stretch.ended_ns - stretch.begun_ns)
    return runs, within_ns / (end_ns - start_ns)
