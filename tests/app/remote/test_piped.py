"""The way to a host: files once, a way that is cut, an end that is told once."""

from __future__ import annotations

import json
import sys
import threading
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from app.cases.round import RoundResult
from app.remote.contract import CarrierError, Ended, Lost
from app.remote.pipe_transport import PipedCarrier
from exporters.codec import from_json
from exporters.types import ExportedModel
from tests.app.remote.hosts import (
    Heard,
    agent_of,
    carrier_of,
    child_of,
    command_of,
    cut_off,
    is_gone,
    job,
    scripted,
    wait_until,
)
from tests.app.sweep.sweeps import exported_add
from tests.checkout import ROOT


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def model(tmp_path: Path) -> ExportedModel:
    return exported_add(tmp_path)


def test_files_are_brought_once_and_a_round_ends_as_its_worker_did(
    model: ExportedModel, tmp_path: Path
) -> None:
    large = tmp_path / "add.onnx"
    host_job = job(model, tmp_path)
    with carrier_of("one") as carrier:
        first, twice = Heard(), Heard()
        carrier.run("one", host_job, first)
        assert first.wait() == Ended("exit code 0", exit_code=0)
        (line,) = first.said('"event": "result"')
        result = from_json(RoundResult, json.loads(line))
        assert zlib.crc32(first.samples) == result.samples_crc32
        large.unlink()  # nobody asks for it again
        carrier.run("one", host_job, twice)
        end = twice.wait()
        assert isinstance(end, Lost)
        assert "handed over twice" in end.reason
    assert [type(m) for m in first.messages].count(Ended) == 1


@pytest.mark.rare
def test_a_host_that_falls_silent_is_lost_once_and_begins_anew(
    model: ExportedModel, tmp_path: Path
) -> None:
    carrier = PipedCarrier({"one": command_of("one")}, silence_s=4.0)
    with closing(carrier):
        listener, again = Heard(), Heard()
        carrier.run("one", job(model, tmp_path, min_s=60.0), listener)
        wait_until(lambda: bool(listener.said('"progress"')))
        agent = agent_of(carrier, "one")
        child = child_of(agent)
        cut_off(agent)
        assert listener.wait() == Lost("no answer for 4 s")
        wait_until(lambda: is_gone(agent) and is_gone(child))
        carrier.run("one", job(model, tmp_path), again)
        assert again.wait() == Ended("exit code 0", exit_code=0), "the next job starts it anew"
    assert len([m for m in listener.messages if isinstance(m, Lost | Ended)]) == 1


def test_closing_ends_the_job_and_its_process(model: ExportedModel, tmp_path: Path) -> None:
    listener = Heard()
    with carrier_of("one") as carrier:
        carrier.run("one", job(model, tmp_path, min_s=60.0), listener)
        wait_until(lambda: bool(listener.said('"progress"')))
        child = child_of(agent_of(carrier, "one"))
    assert listener.end == Lost("it was let go")
    wait_until(lambda: is_gone(child))


def test_letting_go_ends_the_wait_for_a_host_that_does_not_greet(tmp_path: Path) -> None:
    """As Ctrl-C does, while ssh waits for a machine that is off."""
    carrier = PipedCarrier({"off": (sys.executable, "-c", "import time; time.sleep(600)")})
    faults: list[CarrierError] = []

    def asks() -> None:
        try:
            carrier.doctor()
        except CarrierError as fault:
            faults.append(fault)

    asking = threading.Thread(target=asks)
    asking.start()
    wait_until(lambda: carrier._hosts["off"]._connection is not None)
    process = agent_of(carrier, "off")
    carrier.close()
    asking.join(20.0)
    assert [fault.cause for fault in faults] == ["off: it was let go"]
    assert is_gone(process)


def test_an_agent_that_fails_says_so_and_lives_on(tmp_path: Path) -> None:
    fails = scripted(
        tmp_path / "fails.py",
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from app.remote.agent import Agent\n"
        "from app.remote.worker import serve\n"
        "class Fails(Agent):\n"
        "    def doctor(self): raise PermissionError(13, 'not yours')\n"
        "serve(Fails(root=Path(sys.argv[1])))\n",
        str(tmp_path / "worker"),
    )
    with closing(PipedCarrier({"board": fails})) as carrier:
        for _ in range(2):
            with pytest.raises(CarrierError, match="failed with PermissionError"):
                carrier.doctor()


def test_a_file_that_has_changed_here_is_no_fault_of_the_host(
    model: ExportedModel, tmp_path: Path
) -> None:
    host_job, listener = job(model, tmp_path), Heard()
    path = host_job.files[0].path
    path.write_bytes(path.read_bytes() + b"more")
    with carrier_of("one") as carrier:
        carrier.run("one", host_job, listener)
        end = listener.wait()
    assert isinstance(end, Lost)
    assert end.is_ours
    assert f"{path} can't be read any more (it has changed)" in end.reason
