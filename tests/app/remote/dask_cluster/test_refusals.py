"""One sentence for each way in which a cluster can't be used, and before any job."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import dask
import pytest

from app.cases.errors import PlanError
from app.machine.environment import graphlap_version
from app.remote.contract import CarrierError
from app.remote.dask_cluster.address import credentials, parse_address, reach
from app.remote.dask_cluster.protocol import refuse_scheduler
from app.remote.dask_cluster.transport import DaskCarrier
from app.remote.dask_cluster.worker import MeasureWorker
from app.remote.worker import main
from tests.app.remote.dask_cluster.certificates import Certificates, make
from tests.app.remote.dask_cluster.cluster import Cluster, cluster
from tests.app.remote.releases import release


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Of an authority that the cluster does not know."""
    return make(tmp_path_factory.mktemp("strangers"))


def _read_refusal(address: str) -> str:
    with pytest.raises(CarrierError) as refused:
        DaskCarrier(address).close()
    return str(refused.value)


def test_no_certificate_at_all(scheduler: Cluster) -> None:
    with dask.config.set({"distributed.comm.tls.ca-file": None}):
        refusal = _read_refusal(scheduler.address)
    assert "needs certificates, and DASK_DISTRIBUTED__COMM__TLS__CA_FILE names none" in refusal
    with dask.config.set({"distributed.comm.tls.client.cert": None}):
        refusal = _read_refusal(scheduler.address)
    assert "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT names none" in refusal


def test_a_certificate_that_is_not_there(scheduler: Cluster, tmp_path: Path) -> None:
    missing_path = str(tmp_path / "lost.pem")
    with dask.config.set({"distributed.comm.tls.client.key": missing_path}):
        assert f"{missing_path}, where no file is" in _read_refusal(scheduler.address)


def test_a_file_that_is_no_certificate(scheduler: Cluster, tmp_path: Path) -> None:
    (tmp_path / "text.pem").write_text("no certificate")
    with dask.config.set({"distributed.comm.tls.client.cert": str(tmp_path / "text.pem")}):
        assert "can't be used as authority, certificate and key" in _read_refusal(scheduler.address)


def test_a_key_of_another_certificate(scheduler: Cluster, strangers: Certificates) -> None:
    with dask.config.set({"distributed.comm.tls.client.key": str(strangers.key)}):
        assert "can't be used as authority, certificate and key" in _read_refusal(scheduler.address)


def test_a_scheduler_of_another_authority(scheduler: Cluster, strangers: Certificates) -> None:
    with dask.config.set(strangers.settings()):
        refusal = _read_refusal(scheduler.address)
    assert "is not one that our authority has signed" in refusal


def test_a_certificate_that_the_scheduler_does_not_know(
    scheduler: Cluster, strangers: Certificates, certificates: Certificates
) -> None:
    with dask.config.set(
        {**strangers.settings(), "distributed.comm.tls.ca-file": str(certificates.ca)}
    ):
        assert "refuses our certificate (" in _read_refusal(scheduler.address)


def test_tls_to_a_plain_port_and_the_other_way_round(scheduler: Cluster, measured: Cluster) -> None:
    assert "does not speak TLS" in _read_refusal(measured.address.replace("tcp:", "tls:"))
    with pytest.raises(CarrierError, match="is it a tls:// one"):
        reach(parse_address(scheduler.address.replace("tls:", "tcp:")), None, within_s=0.5)


def test_a_scheduler_without_workers_that_measure(scheduler: Cluster) -> None:
    carrier = DaskCarrier(scheduler.address)
    with pytest.raises(CarrierError, match=r"no worker that measures: start some: graphlap worker"):
        carrier.doctor()
    carrier.close()


def test_a_worker_in_the_place_of_a_scheduler(measured: Cluster) -> None:
    carrier = DaskCarrier(measured.address)
    carrier.doctor()
    where = carrier._hosts["alpha"]
    carrier.close()
    assert f"{where} is a MeasureWorker, not a scheduler" in _read_refusal(where)


def test_a_worker_of_another_release_is_named_with_both(measured: Cluster, tmp_path: Path) -> None:
    """One that really is of another, started as its user would."""
    command = release("9.9.9", tmp_path / "old").command("app", "worker", measured.address)
    variables = {"GRAPHLAP_CACHE": str(tmp_path / "cache")}
    worker = measured.start([*command, "--name", "old"], variables, "old")
    measured.until_says("old", "measures for")
    carrier = DaskCarrier(measured.address)
    words = f"the worker old has Graphlap 9.9.9, and this machine has {graphlap_version()}"
    with pytest.raises(CarrierError, match=re.escape(words)):
        carrier.doctor()
    carrier.close()
    worker.terminate()
    worker.wait()


def test_a_scheduler_of_another_release_is_named_with_both() -> None:
    identity = {"host": {"python": "3.9.1.final.0"}, "packages": {"distributed": "2020.1.0"}}
    with pytest.raises(CarrierError, match=r"tls://a:1 has Python 3\.9, and this machine has 3\."):
        refuse_scheduler("tls://a:1", identity)


def test_two_workers_of_one_name(measured: Cluster) -> None:
    with pytest.raises(CarrierError, match=r"does not take this worker .*name taken, alpha"):
        main([measured.address, "--name", "alpha"])


def test_a_worker_refuses_as_a_sweep_does(scheduler: Cluster) -> None:
    with pytest.raises(CarrierError, match="--insecure-cluster"):
        main(["tcp://10.0.0.1:8786"])
    variable = "DASK_DISTRIBUTED__COMM__TLS__WORKER__CERT"
    with pytest.raises(CarrierError, match=f"--tls-cert or {variable} names none"):
        main([scheduler.address])
    with pytest.raises(PlanError, match="'x' is no list of cores"):
        main([scheduler.address, "--cores", "x"])


def test_a_nanny_is_refused() -> None:
    """It would limit each engine to one thread."""
    with pytest.raises(CarrierError, match=r"one thread.*--no-nanny"):
        MeasureWorker("tcp://127.0.0.1:8786", nanny="tcp://127.0.0.1:1")


@pytest.mark.rare
def test_a_worker_ends_when_its_scheduler_does(tmp_path: Path) -> None:
    with cluster(tmp_path, None) as short:
        stopped_worker, worker = short.worker("asked"), short.worker("left")
        stopped_worker.terminate()
        assert stopped_worker.wait(60) == 0
        short.processes[0].kill()
        assert worker.wait(60) == 1
        assert "is gone, or has let go of left" in short.until_says("left", "gone")


@pytest.mark.rare
def test_dasks_own_command_starts_a_worker(tmp_path: Path) -> None:
    """As docs/cluster.md has it for Slurm and SSH; with a nanny it says what is wrong."""
    dask_worker = [sys.executable, "-m", "distributed.cli.dask_worker"]
    kind = ["--worker-class", "app.remote.dask_cluster.worker.MeasureWorker"]
    with cluster(tmp_path, None) as dask_cluster:
        dask_cluster.start(
            [*dask_worker, dask_cluster.address, *kind, "--name", "nannied"], {}, "nanny"
        )
        dask_cluster.until_says("nanny", "start the worker without one: --no-nanny")
        carrier = DaskCarrier(dask_cluster.address)
        for number in ("7", "8"):
            worker_command = [
                *dask_worker,
                dask_cluster.address,
                *kind,
                "--no-nanny",
                "--name",
                number,
            ]
            dask_cluster.start(worker_command, {}, number)
            dask_cluster.until_says(number, "Registered to:")
            names = {host.name for host in carrier.doctor()}
            hostname = socket.gethostname()
            if number == "7":
                assert names == {hostname}
            else:
                assert len(names) == 2
                assert all(name.startswith(f"{hostname}@127.0.0.1:") for name in names)
        carrier.close()


def test_an_address_decides_whether_certificates_are_asked_for(certificates: Certificates) -> None:
    _, context = credentials("client", parse_address("tcp://localhost"), {})
    assert context is None
    tls_values = {"ca_file": str(certificates.ca), "cert": str(certificates.cert)}
    security, context = credentials(
        "worker", parse_address("tls://far"), {**tls_values, "key": str(certificates.key)}
    )
    assert context is not None
    assert security.require_encryption
