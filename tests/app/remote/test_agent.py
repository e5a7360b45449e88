"""A host's agent: files by content, the same child as here, what it tells, and how a job ends."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
import threading
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.cases.round import MEASURED, RECORD, RoundResult
from app.remote.agent import MOST_JOBS, Agent
from app.remote.contract import FILE, CarrierError, Ended, HostFile, HostJob
from app.remote.running_job import scrubbed
from app.remote.workspace import MOST_COMING
from app.sweep.local_executor import ThisMachine
from exporters.codec import from_json
from exporters.file_access import file_sha256
from exporters.types import ExportedModel
from tests.app.remote.hosts import Heard, agent_of, carrier_of, child_of, is_gone, job, wait_until
from tests.app.sweep.sweeps import exported_add
from tests.checkout import ROOT


@pytest.fixture
def model(tmp_path: Path) -> ExportedModel:
    return exported_add(tmp_path)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(root=tmp_path / "worker")


def bring(agent: Agent, job: HostJob) -> None:
    for file in job.files:
        if agent.lacks((file,)):
            agent.keep(file.sha256, 0, file.path.read_bytes(), file.size_bytes)


def result_of(listener: Heard) -> RoundResult:
    (line,) = listener.said('"event": "result"')
    return from_json(RoundResult, json.loads(line))


def test_a_round_is_measured_as_here_and_its_samples_arrive_as_they_were_written(
    agent: Agent, model: ExportedModel, tmp_path: Path
) -> None:
    host_job, listener = job(model, tmp_path), Heard()
    assert len(agent.lacks(host_job.files)) == 2, "the graph and its reference"
    bring(agent, host_job)
    assert agent.lacks(host_job.files) == ()
    agent.run(host_job, listener)
    assert listener.end == Ended("exit code 0", exit_code=0)
    result = result_of(listener)
    assert result.status == "ok"
    records = np.frombuffer(listener.samples, RECORD)
    assert (records["phase"] == MEASURED).sum() == result.iterations
    assert zlib.crc32(listener.samples) == result.samples_crc32
    (agent_folder,) = (tmp_path / "worker" / "agents").iterdir()
    assert [path.name for path in agent_folder.iterdir()] == ["lock"], "nothing of a job is left"


def test_one_that_is_handed_over_twice_runs_once(
    agent: Agent, model: ExportedModel, tmp_path: Path
) -> None:
    host_job = job(model, tmp_path)
    bring(agent, host_job)
    agent.run(host_job, Heard())
    with pytest.raises(CarrierError, match="handed over twice"):
        agent.run(host_job, Heard())


def test_a_launchers_word_on_threads_does_not_reach_the_child(
    model: ExportedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask's nanny says OMP_NUM_THREADS=1, Slurm and MPI others: a local run hears none of it."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "KMP_AFFINITY", "MALLOC_TRIM_THRESHOLD_"):
        monkeypatch.setenv(name, "1")
    tells = tmp_path / "tells.py"
    tells.write_text("import json, os; print(json.dumps(dict(os.environ)), flush=True)")
    agent = Agent(root=tmp_path / "worker", commands={"round": (sys.executable, str(tells))})
    host_job, listener = job(model, tmp_path), Heard()
    bring(agent, host_job)
    agent.run(host_job, listener)
    (line,) = listener.said("PATH")
    variables = json.loads(line)
    assert not [name for name in variables if name.startswith(("OMP", "MKL", "KMP", "MALLOC"))]
    with ThisMachine(commands={"round": (sys.executable, str(tells))}) as machine:
        for name in os.environ.keys() - scrubbed().keys():
            monkeypatch.delenv(name)
        local = machine.start("round")
        wait_until(local.ended)
        (line,) = local.lines()
        local.close()
    assert variables == json.loads(line), "otherwise it is what a local run has"
    assert scrubbed({"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "1"}) == {
        "CUDA_VISIBLE_DEVICES": "1"
    }, "which devices there are, a launcher may say"


@pytest.mark.parametrize("how", ["stop", "terminate", "kill"])
def test_a_job_is_ended_at_any_time(
    agent: Agent, model: ExportedModel, tmp_path: Path, how: str
) -> None:
    host_job, listener = job(model, tmp_path, min_s=60.0), Heard()
    bring(agent, host_job)
    running = threading.Thread(target=agent.run, args=(host_job, listener))
    running.start()
    wait_until(lambda: bool(listener.said('"progress"')))
    agent.cancel(host_job.id, how)  # type: ignore[arg-type]
    running.join(20.0)
    assert isinstance(listener.end, Ended)
    if how == "stop":
        assert result_of(listener).stop_reason == "stopped"
    else:
        assert listener.end.killed


def test_a_job_that_is_cancelled_before_it_begins_does_not(
    agent: Agent, model: ExportedModel, tmp_path: Path
) -> None:
    host_job, listener = job(model, tmp_path), Heard()
    bring(agent, host_job)
    agent.cancel(host_job.id, "kill")
    agent.run(host_job, listener)
    assert listener.messages == [Ended("it was cancelled before it began", killed=True)]


def test_a_worker_that_holds_too_much_is_ended_there(model: ExportedModel, tmp_path: Path) -> None:
    hog = tmp_path / "hog.py"
    hog.write_text("import time\nheld = b'x' * (400 << 20)\ntime.sleep(60)\n")
    agent = Agent(root=tmp_path / "worker", commands={"round": (sys.executable, str(hog))})
    host_job, listener = job(model, tmp_path), Heard()
    bring(agent, host_job)
    agent.run(HostJob(host_job.id, "round", host_job.line, host_job.files, "", 200 << 20), listener)
    assert isinstance(listener.end, Ended)
    assert listener.end.too_large


def test_files_of_another_content_or_of_no_files_name_are_refused(
    agent: Agent, model: ExportedModel, tmp_path: Path
) -> None:
    with pytest.raises(CarrierError, match="another content"):
        agent.keep("0" * 64, 0, b"abc", 3)
    with pytest.raises(CarrierError, match="no sha256"):
        agent.keep("../../etc/passwd", 0, b"abc", 3)
    with pytest.raises(CarrierError, match="lies outside it"):
        agent.keep("0" * 64, 2, b"abc", 3)
    with pytest.raises(CarrierError, match="block of the file 000000000000 was lost"):
        agent.keep("0" * 64, 2, b"c", 3)
    (tmp_path / "f").write_bytes(b"abc")
    sha256 = file_sha256(tmp_path / "f")
    agent.keep(sha256, 0, b"ab", 3)
    agent.keep(sha256, 2, b"c", 3)
    stray = HostFile(sha256, 3, "../../f", tmp_path / "f")
    line = json.dumps({"path": f"{FILE}{sha256}/../../f"})
    with pytest.raises(CarrierError, match="no file's name"):
        agent.run(HostJob("b.0.1", "round", line, (stray,)), Heard())
    with pytest.raises(CarrierError, match="did not bring"):
        agent.run(HostJob("c.0.1", "round", line), Heard())


def test_a_cache_that_begins_with_an_agent_is_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Engines that were compiled for jobs lie there, and hold their networks."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "home" / "cache"))
    old_umask = os.umask(0)
    try:
        Agent().close()
    finally:
        os.umask(old_umask)
    assert stat.S_IMODE((tmp_path / "home" / "cache").stat().st_mode) == 0o700


def test_two_sweeps_bring_one_file_at_once(agent: Agent, tmp_path: Path) -> None:
    """To a worker of Dask's, which knows both; the second goes on where the first has come to."""
    path = tmp_path / "f"
    path.write_bytes(b"abcdef")
    file = HostFile(file_sha256(path), 6, "f", path)
    for offset, data in (
        (0, b"ab"),
        (0, b"ab"),
        (2, b"cd"),
        (0, b"abcd"),
        (2, b"cdef"),
        (4, b"ef"),
    ):
        agent.keep(file.sha256, offset, data, 6)
    assert agent.lacks((file,)) == ()
    with pytest.raises(CarrierError, match="was lost"):
        agent.keep("1" * 64, 2, b"c", 3)


def test_the_store_stays_within_its_bound_and_takes_nothing_from_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", "250")
    agent = Agent(root=tmp_path / "worker")
    files = []
    for number in range(4):
        path = tmp_path / f"{number}"
        path.write_bytes(bytes([number]) * 100)
        files.append(HostFile(file_sha256(path), 100, path.name, path))
        agent.keep(files[-1].sha256, 0, path.read_bytes(), 100)
    assert agent.lacks(tuple(files)) == (files[0].sha256, files[1].sha256), "the oldest went"
    with pytest.raises(CarrierError, match="set GRAPHLAP_CACHE_LIMIT there"):
        agent.keep("0" * 64, 0, b"", 300)


def test_a_size_that_is_only_claimed_takes_nothing_from_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", "250")
    agent = Agent(root=tmp_path / "worker")
    path = tmp_path / "f"
    path.write_bytes(bytes(100))
    file = HostFile(file_sha256(path), 100, path.name, path)
    agent.keep(file.sha256, 0, path.read_bytes(), 100)
    agent.keep("0" * 64, 0, bytes(11), 250)
    assert agent.lacks((file,)) == ()
    with pytest.raises(CarrierError, match="fill the store"):
        for number in range(9):
            agent.keep(str(number) * 64, 0, bytes(40), 250)
    stored_bytes = sum(
        path.stat().st_size for path in (tmp_path / "worker").rglob("*") if path.is_file()
    )
    assert stored_bytes <= 250 + 4096, "beside what agents write down of themselves"


def test_files_that_come_in_part_are_few_at_a_time(agent: Agent) -> None:
    with pytest.raises(CarrierError, match="half here"):
        for number in range(MOST_COMING + 1):
            agent.keep(f"{number:064x}", 0, b"a", 3)


def test_a_part_that_somebody_removed_takes_no_other_file_along(
    agent: Agent, tmp_path: Path
) -> None:
    agent.keep("0" * 64, 0, b"ab", 3)
    for part in (tmp_path / "worker" / "agents").rglob("*"):
        if part.is_file() and part.read_bytes() == b"ab":
            part.unlink()
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    sha256 = file_sha256(path)
    agent.keep(sha256, 0, b"abc", 3)
    assert agent.lacks((HostFile(sha256, 3, "f", path),)) == ()


@pytest.mark.parametrize("kind", ["export", "check", "accuracy", "what"])
def test_a_worker_that_serves_without_an_end_is_no_job(
    agent: Agent, model: ExportedModel, tmp_path: Path, kind: str
) -> None:
    host_job, listener = job(model, tmp_path), Heard()
    bring(agent, host_job)
    with pytest.raises(CarrierError, match="no kind of job"):
        agent.run(replace(host_job, kind=kind), listener)
    agent.run(host_job, listener)
    assert listener.end == Ended("exit code 0", exit_code=0), "and nothing holds the turn"


def test_a_flood_of_jobs_makes_no_flood_of_threads(model: ExportedModel, tmp_path: Path) -> None:
    """Each waits for the first, which never ends, until there are too many."""
    host_job = replace(job(model, tmp_path, min_s=60.0), files=(), line="{}")
    waits = (sys.executable, "-c", "import time; time.sleep(60)")
    agent = Agent(root=tmp_path / "worker", commands={"round": waits})
    threads = [
        threading.Thread(target=_run_quietly, args=(agent, replace(host_job, id=f"{number}")))
        for number in range(10 * MOST_JOBS)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: sum(thread.is_alive() for thread in threads) <= MOST_JOBS)
    assert any(thread.is_alive() for thread in threads)
    for number in range(len(threads)):
        agent.cancel(f"{number}", "kill")
    for thread in threads:
        thread.join(20.0)
    assert not any(thread.is_alive() for thread in threads)


def _run_quietly(agent: Agent, host_job: HostJob) -> None:
    with contextlib.suppress(CarrierError):
        agent.run(host_job, Heard())


def test_cores_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CarrierError, match="core 4000 is not there"):
        Agent(cores=(4000,), root=tmp_path / "worker")


def test_what_an_agent_that_was_killed_has_left_is_cleared_away(tmp_path: Path) -> None:
    """Its jobs and files that had come in part; the folder may be shared by machines that know
    nothing of each other's processes."""
    root = tmp_path / "worker"
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom app.remote.agent import Agent\n"
        "agent = Agent(root=Path(sys.argv[1]))\n"
        "agent.keep('0' * 64, 0, b'part', 9)\nos._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(root)], cwd=ROOT, check=False)
    (left,) = (root / "agents").iterdir()
    assert len(list(left.iterdir())) == 2, "its lock and the part of a file"
    fresh_folder = root / "agents" / ".begun"
    fresh_folder.mkdir()
    first_agent, other = Agent(root=root), Agent(root=root)
    assert not left.exists()
    assert fresh_folder.exists(), "one that has only begun is not locked yet"
    os.utime(fresh_folder, (1.0, 1.0))
    Agent(root=root).close()
    assert len(list((root / "agents").iterdir())) == 2, "agents that are at work keep theirs"
    for agent in (first_agent, other):
        agent.close()
    assert not any((root / "agents").iterdir())


def test_a_file_that_was_damaged_in_the_store_is_brought_again(
    agent: Agent, model: ExportedModel, tmp_path: Path
) -> None:
    host_job, listener = job(model, tmp_path), Heard()
    bring(agent, host_job)
    file = host_job.files[0]
    for damage in (b"", b"\0" * file.size_bytes):
        (tmp_path / "worker" / "files" / file.sha256).write_bytes(damage)
        assert agent.lacks(host_job.files) == (file.sha256,)
        bring(agent, host_job)
    agent.run(host_job, listener)
    assert result_of(listener).status == "ok"


def test_agents_of_several_sweeps_take_turns_on_one_machine(
    model: ExportedModel, tmp_path: Path
) -> None:
    """Each sweep that comes by ssh has an agent of its own, which knows nothing of the others."""
    agents = [Agent(root=tmp_path / "worker") for _ in range(3)]
    jobs = [replace(job(model, tmp_path, min_s=60.0), id="long"), *[job(model, tmp_path)] * 2]
    listeners = [Heard() for _ in agents]
    bring(agents[0], jobs[0])
    threads = [
        threading.Thread(target=agent.run, args=(host_job, hear), daemon=True)
        for agent, host_job, hear in zip(agents, jobs, listeners, strict=True)
    ]
    threads[0].start()
    wait_until(lambda: bool(listeners[0].said('"progress"')))
    other_listener = Heard()
    Agent(root=tmp_path / "worker", machine="socket1").run(jobs[1], other_listener)
    assert result_of(other_listener).status == "ok", "half a machine that has a name is one"
    for thread in threads[1:]:
        thread.start()
    wait_until(lambda: all(agent._known for agent in agents))
    agents[2].cancel(jobs[2].id, "stop")
    threads[2].join(20.0)
    assert listeners[2].messages == [Ended("it was cancelled before it began", killed=True)]
    assert not listeners[1].messages, "the first is still at work"
    agents[0].cancel("long", "stop")
    threads[1].join(20.0)
    assert result_of(listeners[1]).status == "ok"


def test_it_tells_what_its_machine_has(agent: Agent) -> None:
    host = agent.doctor()
    assert host.runtimes["fake"].version
    assert set(host.cores) == set(os.sched_getaffinity(0))
    assert host.python == sys.version.split()[0]
    assert host.runtimes["fpga"].devices["v80"]


def test_its_child_goes_with_it(model: ExportedModel, tmp_path: Path) -> None:
    """By signal 9, which nobody can answer."""
    with carrier_of("one") as carrier:
        listener = Heard()
        carrier.run("one", job(model, tmp_path, min_s=60.0), listener)
        wait_until(lambda: bool(listener.said('"progress"')))
        agent = agent_of(carrier, "one")
        child = child_of(agent)
        agent.kill()
        assert "signal 9" in getattr(listener.wait(), "reason", "")
        wait_until(lambda: is_gone(child))
