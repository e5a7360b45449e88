"""Real processes as the window starts them: batch runs, reports, schedules of a card."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.card import CardRun
from app.cases.case import Case
from app.gui.launch import CardProcess, OwnCommand, RunControl, SweepQueue, log_of
from app.plan.plan_files import plan_toml
from app.run_folder.folder import is_being_written
from app.runs.following.state import CaseDetails
from app.runs.reader import read_run
from exporters.types import GraphlapError
from tests.app.gui.runs import fake_plan, tiny_model, wait_for_end
from tests.runtimes.graphs import Graphs

TIMEOUT_MS = 60_000


@pytest.fixture
def control(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunControl]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run_control = RunControl(SweepQueue(), tmp_path / "runs")
    yield run_control
    if run_control.child is not None:
        os.killpg(run_control.child.pid, signal.SIGKILL)
        wait_for_end(run_control.child)
    run_control.close()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny_model(tmp_path / "tiny.onnx")


def _folder(control: RunControl) -> Path:
    assert control.folder is not None
    return control.folder


def _count_rounds(folder: Path) -> int:
    try:
        return sum(len(rounds) for rounds in read_run(folder).rounds.values())
    except Exception:
        return 0


def test_a_sweep_is_measured_and_the_next_one_of_the_queue_after_it(
    control: RunControl, qtbot: QtBot, model: Path
) -> None:
    endings: list[tuple[str, int]] = []
    control.ended.connect(lambda folder, code: endings.append((folder.name, code)))
    control.run(fake_plan(model, "first"))
    control.run(fake_plan(model, "second", fail=["crash"]))
    assert len(control.queue.plans) == 1
    qtbot.waitUntil(lambda: len(endings) == 2, timeout=TIMEOUT_MS)
    assert [name.split("-", 2)[2] for name, _ in endings] == ["first", "second"]
    assert [code for _, code in endings] == [0, 1], "a crashed worker is a failed row"
    assert control.state == "idle"


def test_pause_holds_between_rounds_and_stop_leaves_a_run_that_resumes_and_holds_the_queue(
    control: RunControl, qtbot: QtBot, model: Path
) -> None:
    control.run(fake_plan(model, rounds=4))
    control.run(fake_plan(model, "waits"))
    folder = _folder(control)
    qtbot.waitUntil(lambda: _count_rounds(folder) >= 1, timeout=TIMEOUT_MS)
    control.pause()
    live = folder / "live.json"
    qtbot.waitUntil(lambda: '"paused"' in live.read_text(), timeout=TIMEOUT_MS)
    round_count = _count_rounds(folder)
    qtbot.wait(500)
    assert _count_rounds(folder) == round_count < 4
    with qtbot.waitSignal(control.ended, timeout=TIMEOUT_MS) as blocker:
        control.stop()
    assert blocker.args[1] == 130
    assert control.state == "idle"
    assert [plan.name for plan in control.queue.plans] == ["waits"]
    control.queue.plans.clear()
    with qtbot.waitSignal(control.ended, timeout=TIMEOUT_MS) as blocker:
        control.resume_folder(folder)
    assert blocker.args[1] == 0
    assert _count_rounds(folder) == 4


def test_what_the_batch_process_refuses_comes_back_as_its_sentence(
    control: RunControl, qtbot: QtBot, tmp_path: Path
) -> None:
    folder = tmp_path / "run: monday"
    folder.mkdir()
    with qtbot.waitSignal(control.refused, timeout=TIMEOUT_MS) as blocker:
        control.resume_folder(folder)
    error = blocker.args[0]
    assert error.cause.startswith(f"{folder} is no run folder"), "all of it, colons and all"
    assert error.remedy and str(error) in log_of(folder).read_text()
    assert not list(tmp_path.glob("*.json"))


_LAUNCH = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.gui.launch import RunControl, SweepQueue
from app.plan.plan_files import load_plan
app = QCoreApplication([])
control = RunControl(SweepQueue(), Path(sys.argv[1]))
control.run(load_plan(Path(sys.argv[2])))
print(control.folder, flush=True)
app.exec()
"""


def test_the_run_goes_on_when_the_window_is_killed(
    qtbot: QtBot, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    plan = tmp_path / "plan.toml"
    plan.write_text(plan_toml(fake_plan(model, rounds=2)))
    command = [sys.executable, "-c", _LAUNCH, str(tmp_path / "runs"), str(plan)]
    window = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert window.stdout is not None
    folder = Path(window.stdout.readline().strip())
    os.killpg(window.pid, signal.SIGKILL)
    window.wait()
    window.stdout.close()
    qtbot.waitUntil(lambda: _count_rounds(folder) == 2, timeout=TIMEOUT_MS)
    qtbot.waitUntil(lambda: not is_being_written(folder), timeout=TIMEOUT_MS)
    assert '"finished"' in (folder / "live.json").read_text()


def answered(card: CardProcess, qtbot: QtBot) -> CardRun | GraphlapError:
    """What the process answers, within half a minute."""
    answers: list[CardRun | GraphlapError | None] = [None]

    def has_answered() -> bool:
        answers.append(card.poll())
        return answers[-1] is not None

    qtbot.waitUntil(has_answered, timeout=30_000)
    assert answers[-1] is not None
    return answers[-1]


def test_a_case_on_a_card_gets_its_schedule_and_without_its_graph_a_sentence(
    qtbot: QtBot, tmp_path: Path
) -> None:
    card, graphs = CardProcess(), Graphs(tmp_path)
    case = Case("step.onnx", "fpga:ia-420f", axes={"batch": 1})
    assert card.ask(CaseDetails(case, graphs.step))
    answer = answered(card, qtbot)
    assert isinstance(answer, CardRun), answer
    assert (answer.model, answer.card) == (graphs.step.name, "IA-420F")
    assert answer.cycles == max(event.done for event in answer.events)
    Path(graphs.step.path).unlink()
    assert card.ask(CaseDetails(case, graphs.step))
    answer = answered(card, qtbot)
    assert isinstance(answer, GraphlapError)
    assert Path(graphs.step.path).name in answer.cause and answer.remedy


@pytest.fixture
def command(qtbot: QtBot) -> Iterator[OwnCommand]:
    owner = QObject()
    own_command = OwnCommand("a report is being written", owner)
    yield own_command
    own_command.close()


def test_a_process_that_does_not_start_or_ends_by_a_signal_is_an_error_and_blocks_no_other(
    qtbot: QtBot, command: OwnCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, qtbot.waitSignal(command.failed, timeout=TIMEOUT_MS):
        patch.setattr(sys, "executable", str(tmp_path / "python"))
        command.start(["--version"])
    children = psutil.Process().children()
    with qtbot.waitSignal(command.failed, timeout=TIMEOUT_MS):
        command.start(["--version"], (0, int(signal.SIGHUP)))  # its number is a good exit code
        (child,) = set(psutil.Process().children()) - set(children)
        child.send_signal(signal.SIGHUP)
    with qtbot.waitSignal(command.ended, timeout=TIMEOUT_MS) as end:
        command.start(["--version"])
    assert end.args[0] == 0
