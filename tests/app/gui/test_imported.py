"""A run that was imported, in the window: named as another program's wherever it is shown."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from app.__main__ import main
from app.gui.plots.style import legend_text
from app.gui.views import VIEWS
from app.gui.window import MainWindow
from app.plot_data.series import ranked
from tests.app.gui.windows import open_run, seen, statuses, wait_for_summaries
from tests.app.runs.importing.foreign import trtexec_times

LEGEND = "another program's clock, imported)"


def test_it_is_shown_hollow_under_its_own_clock_and_ranked_by_nothing(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    file = tmp_path / "times.json"
    file.write_text(trtexec_times([1.0 + 0.01 * number for number in range(100)]))
    folder = tmp_path / "run"
    files = [f"{name}={file}" for name in ("small", "large")]
    assert main(["import", *files, "--out", str(folder)]) == 0
    open_run(window, qtbot, folder)
    wait_for_summaries(window, qtbot)
    assert statuses(window) == ["imported", "imported"]
    model = window.table.model
    assert window.progress.bar.format() == "imported", "no process is to tell anything of it"
    names = [column.key for column in model.columns]
    cells = [model.index(0, place).data() for place in range(len(names))]
    assert cells[names.index("clock")] == "CUDA events of trtexec"

    def is_told() -> bool:
        return window.badge.headline.startswith("imported: all 2 cases")

    qtbot.waitUntil(is_told)
    series = seen(window).series
    assert [legend_text(case_series).partition(" (")[2] for case_series in series] == [LEGEND] * 2
    assert not ranked(series)
    for spec in VIEWS:
        window.frame.show_key(spec.key)
        window.grab()
