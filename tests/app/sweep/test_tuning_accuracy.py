"""The accuracy of what a search found, which no plan names before its rounds are over."""

from __future__ import annotations

from pathlib import Path

from app.cases.case import Case
from app.sweep.scheduling.accuracy import AccuracyFollowUp
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from tests.app.workers.labelled_files import write_arrays

WINNER = Case("echo.onnx", "ort-cpu", threads=2, axes={"batch": 4})


class Nothing:
    """A source whose rounds are over."""

    def next(self, finished: object) -> Work | None:
        return None


def test_cases_that_are_known_afterwards_are_asked_for_once(tmp_path: Path) -> None:
    write_arrays(tmp_path / "data.npz", 4, wrong=1)
    calls: list[int] = []

    def later() -> list[Case]:
        calls.append(1)
        return [WINNER]

    data = str(tmp_path / "data.npz")
    source = AccuracyFollowUp(Nothing(), [], data, [WINNER.case_id], [], 9.0, later)
    work = source.next([])
    assert isinstance(work, ExportWork), "a resumed run has exported nothing yet"
    assert work.request.model == "echo.onnx"
    assert work.request.points == ({"batch": 4},)
    source.next([])
    assert len(calls) == 1


def test_one_that_never_ran_is_not_tested(tmp_path: Path) -> None:
    write_arrays(tmp_path / "data.npz", 4, wrong=1)
    data = str(tmp_path / "data.npz")
    source = AccuracyFollowUp(Nothing(), [], data, [], [], 9.0, lambda: [WINNER])
    assert source.next([]) is None
