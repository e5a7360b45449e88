"""Workers of a Dask scheduler as hosts: a run to its rows, one that is killed, what is refused."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import dask
import psutil
import pytest

from app.runs.reader import read_run
from app.runs.verify import verify
from app.sweep.remote.carriers import ask_hosts
from app.sweep.remote.fleet.carrier import FleetCarrier
from app.sweep.remote.fleet.worker import check_security, checked_address, refuse_others
from app.sweep.remote.link import HostError
from tests.app.cli.headless.batch import SLEEPING, rows, run
from tests.app.sweep.remote.fleet.certificates import Certificates, make
from tests.app.sweep.remote.fleet.cluster import Cluster, cluster
from tests.app.sweep.sweeps import write_add_graph

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture(autouse=True)
def _one_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))


def measure(tmp_path: Path, address: str, *flags: str) -> tuple[int, str]:
    """The exit code of a run of two small graphs, and what it said."""
    paths = [write_add_graph(tmp_path / f"net{number}.onnx") for number in range(2)]
    words = ["run", *map(str, paths), "--runtimes", "fake", "--preset", "glance", *SLEEPING]
    out = ("--out", str(tmp_path / "run"))
    code, _, errors = run(*words, "--cluster", address, *flags, *out)
    return code, errors


@pytest.mark.long
def test_a_run_is_shared_out_and_goes_on_without_a_worker_that_was_killed(
    scheduler: Cluster, tmp_path: Path
) -> None:
    first, _ = (scheduler.worker(name) for name in ("first", "second"))
    with killed_while_it_measures(first):
        code, errors = measure(tmp_path, scheduler.address, "--rounds", "2")
    assert code == 0, errors
    measured = rows(tmp_path / "run")
    assert Counter(row["status"] for row in measured) == {"ok": 2}
    assert "first is left out" in errors or "first is lost" in errors
    assert {row["host"] for row in measured} <= {"first", "second"}
    stored = read_run(tmp_path / "run")
    assert {len(rounds) for rounds in stored.rounds.values()} == {2}
    assert not [finding for finding in verify(stored.path).findings if not finding.harmless]


@contextmanager
def killed_while_it_measures(worker: Popen[bytes]) -> Iterator[None]:
    over = threading.Event()

    def watch() -> None:
        process = psutil.Process(worker.pid)
        while not over.is_set() and len(process.children(recursive=True)) < 3:
            time.sleep(0.05)
        worker.send_signal(signal.SIGKILL)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def refusal(address: str) -> str:
    with pytest.raises(HostError) as refused:
        FleetCarrier(address).close()
    return str(refused.value)


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Of an authority that the cluster does not know."""
    return make(tmp_path_factory.mktemp("strangers"))


def test_certificates_that_can_not_be_used_are_named(
    scheduler: Cluster, strangers: Certificates, tmp_path: Path
) -> None:
    (tmp_path / "text.pem").write_text("no certificate")
    tls = "distributed.comm.tls"
    for setting, value, said in (
        ("ca-file", None, "names none"),
        ("client.cert", None, "names none"),
        ("client.key", str(tmp_path / "lost.pem"), "can't be used as certificates"),
        ("client.cert", str(tmp_path / "text.pem"), "can't be used as certificates"),
        ("client.key", str(strangers.key), "can't be used as certificates"),
    ):
        with dask.config.set({f"{tls}.{setting}": value}):
            assert said in refusal(scheduler.address), setting


def test_a_scheduler_of_another_authority_or_without_one_does_not_answer(
    tmp_path: Path, scheduler: Cluster, strangers: Certificates
) -> None:
    with dask.config.set(strangers.settings()):
        assert "does not answer" in refusal(scheduler.address)
    with cluster(tmp_path, None) as plain:
        assert "does not answer" in refusal(plain.address.replace("tcp:", "tls:"))
        assert "no worker that measures" in refusal(plain.address)


def test_workers_are_asked_what_they_have_and_end_with_their_scheduler(tmp_path: Path) -> None:
    with cluster(tmp_path, None) as short:
        asked, left = short.worker("asked"), short.worker("left")
        carrier = FleetCarrier(short.address)
        assert {host.name for host in ask_hosts(carrier)} == {"asked", "left"}
        carrier.close()
        asked.terminate()
        assert asked.wait(60) == 0
        short.processes[0].kill()
        assert left.wait(60) == 0


def test_a_plain_address_elsewhere_is_refused() -> None:
    with pytest.raises(HostError, match="--insecure-cluster"):
        checked_address("tcp://10.0.0.1")
    assert checked_address("tcp://10.0.0.1", insecure=True) == "tcp://10.0.0.1:8786"
    assert checked_address("tls://[::1]:9") == "tls://[::1]:9"
    for text in ("http://a", "tls://", "tls://a:b", "board"):
        with pytest.raises(HostError, match="no address of a scheduler"):
            checked_address(text)
    check_security("client", "tcp://localhost:1")


def test_a_worker_of_other_versions_is_named_with_both() -> None:
    ours = {"python": "3.11.2.final.0", "distributed": "2026.8.0"}
    refuse_others("board", {**ours, "python": "3.11.9.final.0"}, ours)
    for package, other in (("python", "3.12.2.final.0"), ("distributed", "2026.8.1")):
        with pytest.raises(HostError, match=f"board has {package} {other[:4]}"):
            refuse_others("board", {**ours, package: other}, ours)
