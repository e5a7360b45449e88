"""The rounds of a search for the highest rate: what each of them is given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.capabilities.slo_search.search import rate_searches
from app.cases.round import Limits
from app.runs.reader import read_run
from app.sweep.scheduling.rate_search import HighestRate
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork
from exporters.messages import ExportReply
from tests.app.capabilities.slo_search.searched import Script, new_search, record_round
from tests.app.columns.filled import MODEL
from tests.app.run_folder.runs import ENVIRONMENT
from tests.app.workers.conftest import AXES


def first_round(path: Path, rates: tuple[float, ...]) -> RoundWork:
    """What the search asks for after a closed loop and a round at each of these rates."""
    with new_search(path, "p99=5ms") as folder:
        folder.begin(ENVIRONMENT)
        (search,) = rate_searches(read_run(folder.path))
        for number in range(4):
            record_round(folder, search, None, number, Script())
        for rate_hz in rates:
            record_round(folder, search, rate_hz, 0, Script())
        stored_run = read_run(folder.path)
    schedule = Schedule(
        stored_run.manifest.cases, 8, Limits(), 60.0, 1, path / "samples", arrivals_seed=5
    )
    source = HighestRate(schedule, stored_run)
    export = source.next(())
    assert isinstance(export, ExportWork)
    export.reply = ExportReply("ok", replace(MODEL, axes=AXES))
    work = source.next((export,))
    assert isinstance(work, RoundWork)
    return work


def test_rounds_at_different_rates_meet_different_gaps(tmp_path: Path) -> None:
    first = first_round(tmp_path / "first", ())
    second = first_round(tmp_path / "second", (700.0,))
    again = first_round(tmp_path / "again", ())
    assert first.job.scenario.rate_hz == 700.0
    assert second.job.scenario.rate_hz != 700.0
    assert first.job.round == second.job.round == 0
    assert first.job.arrivals_seed != second.job.arrivals_seed
    assert first.job.arrivals_seed == again.job.arrivals_seed, "a resumed search asks for the same"
