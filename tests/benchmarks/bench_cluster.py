"""What Dask takes of a core while a worker measures, and an A/A of rounds here and by a worker.

For the first the child sleeps and writes samples, so that all that is counted is the cluster's: the
worker with its agent, the scheduler, and the sweep's end, each by the processor time of its
process, with our settings and with Dask's own. In the A/A all of them share this machine.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median

import psutil

from app.remote.dask_cluster.transport import DaskCarrier
from app.sweep.cluster import Cluster as Hosts
from tests.app.remote.dask_cluster.cluster import Cluster, cluster
from tests.app.remote.dask_cluster.jobs import Heard, job
from tests.benchmarks.bench_carriers import Side
from tests.benchmarks.pairs import PAIRS, interleaved, ratio_text

SECONDS, SETTLE_S = 20.0, 3.0
AS_DASK_HAS_IT = (
    "from app.remote.dask_cluster import worker\n"
    "worker.WORKER, worker.HEARTBEAT_S = (), 0.5\n"
    "import runpy\n"
    "runpy.run_module('tests.app.remote.dask_cluster.worker_process', run_name='__main__')\n"
)


def main() -> None:
    for label, code in (("our settings", ""), ("Dask's own", AS_DASK_HAS_IT)):
        with (
            tempfile.TemporaryDirectory() as folder,
            cluster(Path(folder), None, ours=not code) as hosts,
        ):
            hosts.worker("alpha", code=code)
            hosts.until_says("alpha", "measures for")
            _report(label, hosts)
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster(Path(folder), None) as hosts,
    ):
        hosts.worker("alpha")
        with closing(DaskCarrier(hosts.address)) as carrier:
            _compare(carrier, psutil.Process(hosts.processes[-1].pid))


def _compare(carrier: DaskCarrier, worker: psutil.Process) -> None:
    """The same round of one case here and by the worker, in pairs."""
    pairs = PAIRS or 40
    hosts = Hosts(carrier, carrier.doctor(), warnings={"alpha": ()})
    for side in (Side(), Side(hosts, worker)):
        side.measure()  # exports, files, page cache
    main_side, agent_side = Side(), Side(hosts, worker)
    interleaved(pairs, main_side.measure, agent_side.measure)
    sys.stdout.write(
        f"mlp on ort-cpu, {pairs} interleaved pairs of one round, a worker over this machine:\n"
        f"  p50 {ratio_text(agent_side.p50_us, main_side.p50_us)}\n"
        f"  p99 {ratio_text(agent_side.p99_us, main_side.p99_us)}\n"
        f"  beside its phases a round takes {median(main_side.overhead_s):.2f} s here and "
        f"{median(agent_side.overhead_s):.2f} s by the worker\n"
    )


def _report(label: str, hosts: Cluster) -> None:
    carrier = DaskCarrier(hosts.address)
    carrier.doctor()
    listener = Heard()
    carrier.run("alpha", job("bench.0.0", blocks=1_000_000, pause_s=0.01), listener)
    listener.said("began")
    scheduler, worker = (psutil.Process(process.pid) for process in hosts.processes)
    ends = {"worker and agent": worker, "scheduler": scheduler, "sweep's end": psutil.Process()}
    time.sleep(SETTLE_S)
    cpu_before = {name: _cpu_s(end) for name, end in ends.items()}
    start_s = time.perf_counter()
    time.sleep(SECONDS)
    seconds = time.perf_counter() - start_s
    shares = {name: (_cpu_s(end) - cpu_before[name]) / seconds for name, end in ends.items()}
    carrier.cancel("alpha", "bench.0.0", "kill")
    listener.last()
    carrier.close()
    shares_text = ", ".join(f"{name} {share:.2%}" for name, share in shares.items())
    sys.stdout.write(f"{label}: {sum(shares.values()):.2%} of a core: {shares_text} (aim < 1 %)\n")
    sys.stdout.flush()


def _cpu_s(process: psutil.Process) -> float:
    """Processor time of this process, without its children's."""
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
