"""A host that lies, floods or never ends loses its round: nothing of it is recorded, nothing waits.

The host is a real agent whose words are changed on their way.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from app.remote import pipe_transport
from app.remote.contract import Carrier, CarrierError, Ended, Hear, HostJob
from app.remote.pipe_transport import PipedCarrier
from app.remote.wire import job_read, job_written
from app.sweep.engine import Engine
from app.sweep.work import remote_channel
from app.sweep.work.remote_rounds import HostedRound, Way
from exporters.types import ExportedModel
from tests.app.headless.batch import rows, run
from tests.app.remote.hosts import carrier_of, command_of
from tests.app.remote.lying import FLOODS, LIES, Frame, Lie, LyingFrames, flooding
from tests.app.sweep.sweeps import Given, drive, round_work, write_add_graph


@pytest.fixture(autouse=True)
def _short_limits(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))
    monkeypatch.setattr(remote_channel, "END_LIMIT_S", 1.0)
    monkeypatch.setattr(remote_channel, "LONGEST_END_S", 3.0)
    monkeypatch.setattr(remote_channel, "MAXIMUM_SAMPLES_BYTES", 32 << 20)
    monkeypatch.setattr(remote_channel, "MAXIMUM_LINES_BYTES", 1 << 20)
    monkeypatch.setattr(remote_channel, "MAXIMUM_MESSAGES", 5000)


@pytest.fixture(scope="module")
def carrier() -> Iterator[PipedCarrier]:
    """One agent for all lies, started anew where a lie has ended it."""
    with pytest.MonkeyPatch.context() as patch, carrier_of("h") as carrier_made:
        patch.setattr(pipe_transport, "Frames", LyingFrames)
        yield carrier_made


def _round_on(carrier: PipedCarrier, model: ExportedModel, folder: Path) -> HostedRound:
    """The round as it ended on the carrier's host; its samples lie in `folder/samples`."""
    (folder / "samples").mkdir()
    local_work = round_work(model, folder / "samples")
    way = Way(carrier, "h", lambda: None, folder.name)
    work = HostedRound(local_work.case, local_work.job, 10.0, way=way)
    with Engine(Given([work])) as engine:
        drive(engine)
    return work


def _refuse(work: HostedRound, folder: Path) -> None:
    assert work.over
    assert work.result is None
    assert work.lost
    byte_count = sum(path.stat().st_size for path in (folder / "samples").iterdir())
    assert byte_count <= remote_channel.MAXIMUM_SAMPLES_BYTES


def test_an_honest_host_loses_nothing(
    carrier: PipedCarrier, model: ExportedModel, tmp_path: Path
) -> None:
    work = _round_on(carrier, model, tmp_path)
    assert work.result is not None
    assert (work.lost, work.result.status) == ("", "ok")


@pytest.mark.parametrize("lie", [lie for lie in LIES if lie != "is deep"])
def test_a_round_of_a_lying_host_is_lost(
    lie: str,
    carrier: PipedCarrier,
    model: ExportedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LyingFrames, "lie", LIES[lie])
    _refuse(_round_on(carrier, model, tmp_path), tmp_path)


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_a_host_ends_with_its_round(
    flood: str, model: ExportedModel, tmp_path: Path
) -> None:
    command = flooding(flood, command_of("h"))
    with closing(PipedCarrier({"h": command})) as carrier:
        _refuse(_round_on(carrier, model, tmp_path), tmp_path)


def test_what_a_host_is_may_not_be_nested_without_an_end(
    carrier: PipedCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert carrier.doctor()
    monkeypatch.setattr(LyingFrames, "lie", LIES["is deep"])
    with pytest.raises(CarrierError, match="environment"):
        carrier.doctor()


def test_a_sweep_ends_with_the_rows_of_the_other_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the command line, by what stands in for ssh: one host tells NaN, the other is honest."""
    stand_in = tmp_path / "ssh"
    honest, liar = (shlex.join(command_of(name)) for name in ("honest", "liar"))
    stand_in.write_text(f'#!/bin/sh\ncase "$*" in *liar*) exec {liar};; *) exec {honest};; esac\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("GRAPHLAP_SSH_COMMAND", str(stand_in))
    take_all = _lie_for_host("liar", LIES["says nan"])
    monkeypatch.setattr(pipe_transport.Connection, "_take_all", take_all)
    graph = write_add_graph(tmp_path / "add.onnx")
    arguments = ["--headless", "--models", str(graph), "--runtimes", "fake", "--preset", "glance"]
    cases = ["--option", "fake.latency_us=50,60", "--rounds", "1"]
    hosts = ["--cluster", "ssh:liar,honest", "--out", str(tmp_path / "run")]
    code, _, errors = run(*arguments, *cases, *hosts)
    assert code == 0, errors
    outcomes = [(row["status"], row["host"]) for row in rows(tmp_path / "run")]
    assert outcomes == [("ok", "honest")] * 2
    journals = (tmp_path / "run" / "journal").iterdir()
    assert not any(b"NaN" in journal.read_bytes() for journal in journals)


def _lie_for_host(host: str, lie: Lie) -> Callable[..., str]:
    """`Connection._take_all`, with the frames of one host changed."""
    take_all = pipe_transport.Connection._take_all

    def changed(of: pipe_transport.Connection, frames: Iterator[Frame]) -> str:
        if of.host != host:
            return take_all(of, frames)
        return take_all(of, (told for frame in frames for told in lie(*frame)))

    return changed


def test_a_round_names_the_limit_at_which_its_host_ends_it(
    model: ExportedModel, tmp_path: Path
) -> None:
    """It lies beyond those of the sweep itself, and crosses to the host with the job."""
    jobs: list[HostJob] = []

    class Taking:
        def run(self, host: str, job: HostJob, hear: Hear) -> None:
            jobs.append(job_read(job_written(job)))
            hear(Ended("killed", killed=True, too_late=True))

    (tmp_path / "samples").mkdir()
    local_work = round_work(model, tmp_path / "samples")
    way = Way(cast("Carrier", Taking()), "h", lambda: None, "mark")
    work = HostedRound(local_work.case, local_work.job, 10.0, compile_limit_s=20.0, way=way)
    with Engine(Given([work])) as engine:
        drive(engine)
    (job,) = jobs
    assert job.limit_s == 10.0 + 20.0 + remote_channel.AGENT_MARGIN_S
    _refuse(work, tmp_path)


def test_a_job_of_an_earlier_release_names_none() -> None:
    values = {k: v for k, v in job_written(HostJob("a", "round", "{}")).items() if k != "limit_s"}
    assert job_read(values).limit_s == 0.0
