"""Nothing on standard error, from the start of a window to its end, whatever is done meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cases.case import Case
from tests.app.gui.runs import new_run, record_round, records
from tests.checkout import ROOT

_CASES = [Case(model, "fake", threads=n) for model in ("mlp", "cnn_tiny") for n in (1, 2)]
_ROUND_OF_ACTIONS = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from app.gui import main
from app.gui.views import VIEWS

run, other = map(Path, sys.argv[1:])
made = []
shown_window = main.shown_window

def act():
    window = made[0]
    for folder in (run, other):
        window.open_run(folder)
        while window.feed.state is None or window.feed.folder != folder:
            QTest.qWait(20)
        for spec in VIEWS:
            window.frame.show_key(spec.key)
            QTest.qWait(100)
        window.toggle_theme()
        QTest.qWait(100)
    window.compare_with(run)
    QTest.qWait(300)
    window.resize(900, 560)
    window.actions_by_key["fill"].trigger()
    QTest.qWait(100)
    print("done")
    window.close()

def shown():
    made.append(shown_window())
    QTimer.singleShot(0, act)
    return made[0]

main.shown_window = shown
sys.exit(main.main())
"""


@pytest.mark.rare
def test_a_window_writes_nothing_to_standard_error(tmp_path: Path) -> None:
    for name in ("run", "other"):
        with new_run(tmp_path / name, _CASES) as folder:
            for place, case in enumerate(_CASES):
                for number in range(3):
                    samples = records([50.0 + 9 * place + (k * k) % 17 for k in range(400)])
                    record_round(folder, case, number, samples)
    env = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_CONFIG_HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home"),
    }
    runs = [str(tmp_path / name) for name in ("run", "other")]
    command = [sys.executable, "-c", _ROUND_OF_ACTIONS, *runs]
    child = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout, child.stderr) == (0, "done\n", "")
