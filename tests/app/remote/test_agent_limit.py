"""An agent ends a job at the limit that it names, and at its own where it names none."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.remote import agent as agent_module
from app.remote.agent import Agent
from app.remote.contract import Ended, HostJob
from exporters.types import ExportedModel
from tests.app.remote.hosts import Heard, job
from tests.app.sweep.sweeps import exported_add


@pytest.fixture
def model(tmp_path: Path) -> ExportedModel:
    return exported_add(tmp_path)


def bring(agent: Agent, job: HostJob) -> None:
    for file in job.files:
        if agent.lacks((file,)):
            agent.keep(file.sha256, 0, file.path.read_bytes(), file.size_bytes)


@pytest.mark.parametrize("named", [True, False])
def test_a_worker_beyond_its_limit_is_ended_although_nobody_asks(
    named: bool, model: ExportedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep that asked for it may be gone, or hang; a job without a limit has the agent's."""
    if not named:
        monkeypatch.setattr(agent_module, "LONGEST_JOB_S", 0.5)
    endless = tmp_path / "endless.py"
    endless.write_text("import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(600)\n")
    agent = Agent(root=tmp_path / "worker", commands={"round": (sys.executable, str(endless))})
    host_job, listener = job(model, tmp_path), Heard()
    bring(agent, host_job)
    agent.run(replace(host_job, limit_s=0.5 if named else 0.0), listener)
    assert isinstance(listener.end, Ended)
    assert listener.end.too_late
    assert listener.end.killed


def test_a_worker_within_its_limit_is_left_alone(model: ExportedModel, tmp_path: Path) -> None:
    agent = Agent(root=tmp_path / "worker")
    host_job, listener = job(model, tmp_path), Heard()
    bring(agent, host_job)
    agent.run(replace(host_job, limit_s=120.0), listener)
    assert isinstance(listener.end, Ended)
    assert not listener.end.too_late
    assert listener.said('"status": "ok"')
