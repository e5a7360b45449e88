"""What Dask takes of a core while a worker measures, with our settings and with its own.

The child sleeps and writes samples, so that all that is counted is the cluster's: the worker with
its agent, the scheduler, and the sweep's end, each by the processor time of its process.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import psutil

from app.carriers.fleet.carrier import DaskCarrier
from tests.app.carriers.fleet.cluster import Cluster, cluster
from tests.app.carriers.fleet.jobs import Heard, job

SECONDS, SETTLE_S = 20.0, 3.0
AS_DASK_HAS_IT = (
    "from app.carriers.fleet import measuring\n"
    "measuring.WORKER, measuring.HEARTBEAT_S = (), 0.5\n"
    "import runpy\n"
    "runpy.run_module('tests.app.carriers.fleet.worker_process', run_name='__main__')\n"
)


def main() -> None:
    for what, code in (("our settings", ""), ("Dask's own", AS_DASK_HAS_IT)):
        with (
            tempfile.TemporaryDirectory() as folder,
            cluster(Path(folder), None, ours=not code) as made,
        ):
            made.worker("alpha", code=code)
            made.until_says("alpha", "measures for")
            _report(what, made)


def _report(what: str, made: Cluster) -> None:
    carrier = DaskCarrier(made.address)
    carrier.doctor()
    heard = Heard()
    carrier.run("alpha", job("bench.0.0", blocks=1_000_000, pause_s=0.01), heard)
    heard.said("began")
    scheduler, worker = (psutil.Process(process.pid) for process in made.processes)
    ends = {"worker and agent": worker, "scheduler": scheduler, "sweep's end": psutil.Process()}
    time.sleep(SETTLE_S)
    before = {name: _cpu_s(end) for name, end in ends.items()}
    begun = time.perf_counter()
    time.sleep(SECONDS)
    seconds = time.perf_counter() - begun
    shares = {name: (_cpu_s(end) - before[name]) / seconds for name, end in ends.items()}
    carrier.cancel("alpha", "bench.0.0", "kill")
    heard.last()
    carrier.close()
    told = ", ".join(f"{name} {share:.2%}" for name, share in shares.items())
    sys.stdout.write(f"{what}: {sum(shares.values()):.2%} of a core: {told} (aim < 1 %)\n")
    sys.stdout.flush()


def _cpu_s(process: psutil.Process) -> float:
    """Processor time of this process, without its children's."""
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
