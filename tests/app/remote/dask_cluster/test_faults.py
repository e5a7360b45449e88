"""A sweep that is killed leaves nothing that measures."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.app.remote.dask_cluster.cluster import cluster

SWEEP = """
import sys, time
from app.remote.dask_cluster.transport import DaskCarrier
from tests.app.remote.dask_cluster.jobs import Heard, job
carrier, heard = DaskCarrier(sys.argv[1]), Heard()
carrier.doctor()
carrier.run("alpha", job("orphan.0.0", 10_000, 0.01), heard)
sys.stderr.write(f"began {heard.said('began')['pid']} there")
sys.stderr.flush()
time.sleep(600)
"""
IMPATIENT = """
from app.remote.dask_cluster import worker
worker.ABANDONED_S, worker.LOOK_S = 3.0, 0.5
import runpy
runpy.run_module("tests.app.remote.dask_cluster.worker_process", run_name="__main__")
"""


@pytest.mark.rare
def test_a_job_whose_sweep_was_killed_is_ended(tmp_path: Path) -> None:
    with cluster(tmp_path, None) as dask_cluster:
        dask_cluster.worker("alpha", code=IMPATIENT)
        dask_cluster.until_says("alpha", "measures for")
        sweep = dask_cluster.start([sys.executable, "-c", SWEEP, dask_cluster.address], {}, "sweep")
        pid = int(dask_cluster.until_says("sweep", "there").rpartition("began ")[2].split()[0])
        child = psutil.Process(pid)
        time.sleep(4.0)
        assert child.is_running()  # who is asked about is left alone
        sweep.kill()
        child.wait(30)
