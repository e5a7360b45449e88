"""A/A of a round here and by `local:1`: the same figures, and what the way there costs beside it.

Agent and batch process share this machine with the round, so that what they take shows; for a host
of its own the batch process is elsewhere.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from app.machine.environment import describe_host
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.remote.pipe_transport import PipedCarrier
from app.remote.transports import open_carrier
from app.sweep.cluster import Cluster
from app.sweep.engine import Completed, Event, ProgressReported, Started
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.work.round import RoundWork
from tests.benchmarks.pairs import PAIRS, interleaved, ratio_text

FLAGS = ("--headless", "--models", "mlp", "--runtimes", "ort-cpu", "--rounds", "1")


@dataclass(slots=True)
class Side:
    """One way of measuring; a list of each figure, of one sweep of one round after another.

    `cpu_share` is what batch process and agent take of a core while the round measures.
    """

    cluster: Cluster | None = None
    agent: psutil.Process | None = None
    p50_us: list[float] = field(default_factory=list)
    p99_us: list[float] = field(default_factory=list)
    overhead_s: list[float] = field(default_factory=list)
    cpu_share: list[float] = field(default_factory=list)
    _begun_s: float = 0.0
    _measuring_since: tuple[float, float] | None = None

    def measure(self) -> float:
        """One round; gives its p50 [us]."""
        with tempfile.TemporaryDirectory() as folder:
            plan = plan_from_options(parse(FLAGS))
            with (
                closing(create_run(plan, Path(folder, "run"))) as path,
                SweepRun(path, describe_host(), cluster=self.cluster) as run,
            ):
                while not run.finished:
                    for event in run.step(0.2):
                        self._take(event)
                run.close(0)
                (rounds,) = run.run.rounds.values()
                samples = run.run.samples_of(rounds[0])
        latency_us = (samples.finished_ns - samples.started_ns) / 1e3
        self.p50_us.append(float(np.percentile(latency_us, 50)))
        self.p99_us.append(float(np.percentile(latency_us, 99)))
        return self.p50_us[-1]

    def _take(self, event: Event) -> None:
        work = getattr(event, "work", None)
        if not isinstance(work, RoundWork):
            return
        now = time.perf_counter()
        match event:
            case Started():
                self._begun_s, self._measuring_since = now, None
            case ProgressReported() if work.phase == "measure" and self._measuring_since is None:
                self._measuring_since = now, self._cpu_s()
            case Completed():
                assert work.result is not None
                told_s = sum(work.result.phases_ms.values()) / 1e3
                self.overhead_s.append(now - self._begun_s - told_s)
                if self._measuring_since is not None:
                    since_s, cpu_s = self._measuring_since
                    self.cpu_share.append((self._cpu_s() - cpu_s) / (now - since_s))

    def _cpu_s(self) -> float:
        used_s = time.process_time()
        if self.agent is not None:
            times = self.agent.cpu_times()
            used_s += times.user + times.system
        return used_s


def main() -> None:
    pairs = PAIRS or 40
    carrier = open_carrier("local:1")
    assert isinstance(carrier, PipedCarrier)
    with closing(carrier):
        hosts = carrier.doctor()
        connection = carrier._hosts[hosts[0].name]._connection
        assert connection is not None
        cluster = Cluster(carrier, hosts, warnings={hosts[0].name: ()})
        main_side, agent_side = Side(), Side(cluster, psutil.Process(connection._process.pid))
        main_side.measure(), agent_side.measure()  # exports, files, page cache
        main_side, agent_side = Side(), Side(cluster, agent_side.agent)
        interleaved(pairs, main_side.measure, agent_side.measure)
    say = sys.stdout.write
    say(f"mlp on ort-cpu, {pairs} interleaved pairs of one round, local:1 over this machine\n")
    say(f"  p50       {ratio_text(agent_side.p50_us, main_side.p50_us)}\n")
    say(f"  p99       {ratio_text(agent_side.p99_us, main_side.p99_us)}\n")
    for name, side in (("here", main_side), ("local:1", agent_side)):
        say(
            f"  {name:8}  {np.median(side.overhead_s):.2f} s a round beside its phases, "
            f"{100 * np.median(side.cpu_share):.2f} % of a core while it measures "
            f"(batch process{' and agent' if side.agent else ''})\n"
        )
