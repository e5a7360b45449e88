"""Forks of a template: which rounds have them, how they end, and what is never forked."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from app.analysis.columns.rows import Rows
from app.cases.round import FORKED
from app.machine.child import Bell, Child
from app.machine.placement import huge_pages_refusal
from app.machine.template import Template
from app.runs.reader import read_run
from app.sweep.work.local_executor import ThisMachine
from exporters import install_layout
from tests.app.cli.headless.batch import run
from tests.app.sweep.remote.processes import wait_until
from tests.app.sweep.sweeps import children, write_add_graph

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture
def bell() -> Iterator[Bell]:
    with closing(Bell()) as bell:
        yield bell


def forked(template: Template, bell: Bell) -> Child:
    child = template.fork(bell)
    assert child is not None
    return child


def template_after(code: str, monkeypatch: pytest.MonkeyPatch) -> Template:
    """One whose process has run this before."""
    code = f"from app.workers import measure, template\n{code}\ntemplate.main()"
    monkeypatch.chdir(install_layout.ROOT)
    monkeypatch.setattr(
        install_layout, "command", lambda _, *words: [sys.executable, "-c", code, *words]
    )
    return Template("", 1)


def test_rounds_after_the_first_are_forks_where_cases_share_a_template(tmp_path: Path) -> None:
    pids = children()
    paths = [str(write_add_graph(tmp_path / f"{name}.onnx")) for name in "ab"]
    words = ("--runtimes", "fake", "--rounds", "2", "--preset", "glance")
    for name, models, more in (("two", paths, ("--huge-pages",)), ("one", paths[:1], ())):
        code, _, errors = run("run", *models, *words, *more, "--out", str(tmp_path / name))
        assert code == 0, errors
    two, one = (read_run(tmp_path / name) for name in ("two", "one"))
    for case in two.cases:
        first, *others = two.rounds_of(case)
        assert FORKED not in first.facts and all(FORKED in result.facts for result in others)
    assert all(FORKED not in result.facts for case in one.cases for result in one.rounds_of(case))
    assert [m.row["processes"] for m in Rows().measured(two)] == ["fresh; forked"] * 2
    peaks = [two.rounds_of(case)[0].rss_peak_mb for case in two.cases]
    assert [m.row["rss_peak_mib"] for m in Rows().measured(two)] == peaks
    assert children() <= pids


@pytest.mark.skipif(bool(huge_pages_refusal()), reason="the system has no huge pages for malloc")
def test_every_process_that_measures_has_huge_pages_if_asked_for(tmp_path: Path) -> None:
    paths = [str(write_add_graph(tmp_path / f"{name}.onnx")) for name in "ab"]
    words = ("--runtimes", "fake", "--rounds", "2", "--preset", "glance", "--huge-pages")
    code, out, errors = run("run", *paths, *words, "--out", str(tmp_path / "run"))
    assert code == 0, errors
    assert "huge pages (" in " ".join(out.split())
    result = read_run(tmp_path / "run")
    for measured in Rows().measured(result):
        rounds = result.rounds_of(measured.case)
        fractions = [one.environment["huge_page_fraction"] or 0.0 for one in rounds]
        assert len(fractions) == 2 and fractions[0] > 0.0, "a fork shares the pages of its template"
        assert measured.row["huge_page_fraction"] == pytest.approx(sum(fractions) / 2)


def test_forks_end_with_their_template_stopped_ones_too(bell: Bell) -> None:
    template = Template("", 0)
    with closing(forked(template, bell)) as running, closing(forked(template, bell)) as stopped:
        os.kill(stopped.pid, signal.SIGSTOP)
        os.kill(psutil.Process(running.pid).ppid(), signal.SIGKILL)
        wait_until(lambda: running.ended() and stopped.ended())
        assert running.was_killed() and stopped.was_killed()
    assert template.fork(bell) is None


def test_a_case_comes_once_to_a_template_whose_next_is_ready() -> None:
    """Each pass has another process to fork, which was started in the pass before."""
    with ThisMachine() as machine:

        def pass_of(cases: str) -> list[int]:
            workers = [machine.start("round", template=("fake", 1, case)) for case in cases]
            parents = [psutil.Process(worker.pid).ppid() for worker in workers]
            for worker in workers:
                worker.close()
            return parents

        pass_of("ab")
        before = children()
        first, second = pass_of("ab")
        assert first == second != os.getpid()
        (waiting,) = children() - before - {first}
        assert pass_of("ba") == [waiting, waiting]
        assert pass_of("ab")[0] not in {first, waiting}
    wait_until(lambda: children() <= before)


CASES = [("fake", 1, "a"), ("fake", 1, "b"), ("", 0, "c"), ("", 0, "d"), ("fake", 2, "alone")]
"""Two of each of two engines, and one of its own."""


def after_a_pass(machine: ThisMachine) -> set[int]:
    """The processes that there are after a first round of each."""
    for case in CASES:
        machine.start("round", template=case).close()
    return children()


def test_the_templates_of_a_pass_import_beside_its_first_process() -> None:
    """The first pass that forks has none waiting, so that all begin as its first is asked for."""
    with ThisMachine() as machine:
        before = after_a_pass(machine)
        with closing(machine.start("round", template=CASES[0])) as worker:
            waiting = children() - before - {worker.pid, psutil.Process(worker.pid).ppid()}
            assert len(waiting) == 2, "its own of the next pass, and that of the other engine"
        with closing(machine.start("round", template=CASES[2])) as other:
            assert psutil.Process(other.pid).ppid() in waiting


def test_the_templates_of_a_pass_import_while_a_card_simulates_its_rounds() -> None:
    """Nothing is timed then; the start of the card's own process comes before."""
    with ThisMachine() as machine:
        before = after_a_pass(machine)
        machine.give_back(machine.start("round", reused="card"), "card")
        (card,) = children() - before
        with closing(machine.start("round", reused="card")) as again:
            waiting = children() - before - {card}
            assert again.pid == card and len(waiting) == 2
        with closing(machine.start("round", template=CASES[2])) as fork:
            assert psutil.Process(fork.pid).ppid() in waiting


def test_a_fork_collects_nothing_of_what_its_template_holds(
    bell: Bell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would copy each page that one of these objects lies in."""
    code = "import gc\nmeasure.main = lambda: print(len(gc.get_objects()), flush=True)"
    with closing(forked(template_after(code, monkeypatch), bell)) as fork:
        wait_until(fork.ended)
        assert int(fork.lines()[0]) < 1000


def test_how_a_fork_ended_is_told_as_of_any_child(bell: Bell) -> None:
    template = Template("fake", 1)
    with closing(forked(template, bell)) as without_job, closing(forked(template, bell)) as killed:
        without_job.send("")
        os.kill(killed.pid, signal.SIGSEGV)
        wait_until(lambda: without_job.ended() and killed.ended())
        without_job.lines()
        assert without_job.how_it_ended().startswith("exit code 2: ")
        assert killed.how_it_ended() == "signal SIGSEGV"


def test_a_process_with_threads_is_not_forked(bell: Bell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether an engine's import starts threads depends on the machine, so a thread is started."""
    code = "import threading as t\nt.Thread(target=t.Event().wait, daemon=True).start()"
    assert template_after(code, monkeypatch).fork(bell) is None
