"""Four workers, one killed and one cut off in mid-round: every round arrives, none twice."""

from __future__ import annotations

import queue
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import dask
import psutil
import pytest

from app.carriers.contract import Ended
from app.carriers.fleet.carrier import DaskCarrier
from tests.app.carriers.fleet.certificates import Certificates
from tests.app.carriers.fleet.cluster import cluster
from tests.app.carriers.fleet.jobs import Heard, job, samples

NAMES = ("one", "two", "three", "four")
ROUNDS, BLOCKS = 24, 60


SWEEP = """
import sys, time
from app.carriers.fleet.carrier import DaskCarrier
from tests.app.carriers.fleet.jobs import Heard, job
carrier, heard = DaskCarrier(sys.argv[1]), Heard()
carrier.doctor()
carrier.run("alpha", job("orphan.0.0", 10_000, 0.01), heard)
sys.stderr.write(f"began {heard.said('began')['pid']} there")
sys.stderr.flush()
time.sleep(600)
"""
IMPATIENT = """
from app.carriers.fleet import measuring
measuring.ABANDONED_S, measuring.LOOK_S = 3.0, 0.5
import runpy
runpy.run_module("tests.app.carriers.fleet.worker_process", run_name="__main__")
"""


@pytest.mark.rare
def test_a_job_whose_sweep_was_killed_is_ended(tmp_path: Path) -> None:
    with cluster(tmp_path, None) as made:
        made.worker("alpha", code=IMPATIENT)
        made.until_says("alpha", "measures for")
        sweep = made.start([sys.executable, "-c", SWEEP, made.address], {}, "sweep")
        pid = int(made.until_says("sweep", "there").rpartition("began ")[2].split()[0])
        child = psutil.Process(pid)
        time.sleep(4.0)
        assert child.is_running()  # who is asked about is left alone
        sweep.kill()
        child.wait(30)


@pytest.mark.rare
def test_one_killed_and_one_cut_off(tmp_path: Path, certificates: Certificates) -> None:
    waiting: queue.Queue[tuple[int, int]] = queue.Queue()
    for number in range(ROUNDS):
        waiting.put((number, 0))
    arrived: Counter[int] = Counter()
    lost: list[str] = []
    with cluster(tmp_path, certificates) as made:
        processes = {name: made.worker(name) for name in NAMES}
        dask.config.set(certificates.settings())
        carrier = DaskCarrier(made.address, silence_s=4.0)
        assert {host.name for host in carrier.doctor()} == set(NAMES)

        def drive(host: str) -> None:
            """A small sweep: one job at a time on this host, until it is lost."""
            while sum(arrived.values()) < ROUNDS:
                try:
                    number, attempt = waiting.get(timeout=0.2)
                except queue.Empty:
                    continue
                heard = Heard()
                carrier.run(host, job(f"case.{number}.{attempt}", BLOCKS, 0.02), heard)
                if isinstance(heard.last(), Ended):
                    assert heard.data() == samples(BLOCKS)
                    arrived[number] += 1
                else:
                    lost.append(host)
                    waiting.put((number, attempt + 1))
                    return

        drivers = [threading.Thread(target=drive, args=(name,)) for name in NAMES]
        for driver in drivers:
            driver.start()
        time.sleep(2.0)
        processes["two"].kill()
        processes["three"].send_signal(signal.SIGSTOP)
        for driver in drivers:
            driver.join(120)
        carrier.close()
    assert sorted(lost) == ["three", "two"]
    assert arrived == Counter(range(ROUNDS))
