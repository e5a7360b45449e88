"""The bundled typeface: the application's own, with figures of one width."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from PySide6.QtGui import QFont, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication

from app.gui.look.style_sheet import FAMILY, SIZES, apply_theme, font, points, prepare_application
from tests.checkout import ROOT as CHECKOUT


def test_the_bundled_typeface_has_figures_of_one_width(qapp: QApplication) -> None:
    prepare_application()
    apply_theme("light")
    for bold in (False, True):
        typeface = font("body", bold=bold)
        assert QFontInfo(typeface).family() == FAMILY
        widths = {
            round(QFontMetricsF(typeface).horizontalAdvance(figure), 3) for figure in "0123456789"
        }
        assert len(widths) == 1


_START = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from app.gui.look.preferences import Preferences
from app.gui.window import MainWindow
app = QApplication([])
window = MainWindow(Preferences(Path(sys.argv[1])))
parts = (window, window.header, window.menuBar(), window.table, window.series_list, window.editor)
print(*{part.font().family() for part in parts}, sep=";")
window.close()
"""


def test_a_window_is_made_in_the_bundled_typeface(tmp_path: Path) -> None:
    started = subprocess.run(
        [sys.executable, "-c", _START, str(tmp_path / "window.ini")],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_CACHE_HOME": str(tmp_path)},
        cwd=CHECKOUT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert started.stdout.strip() == FAMILY


def test_sizes_follow_a_larger_desktop_font(qapp: QApplication) -> None:
    prepare_application()
    apply_theme("light")
    old_font = QApplication.font()
    larger = QFont(old_font)
    larger.setPointSizeF(1.75 * old_font.pointSizeF())
    body = points("body")
    QApplication.setFont(larger)
    try:
        assert abs(points("body") / body - 1.75) < 1e-6
        assert [points(size) for size in SIZES] == sorted(points(size) for size in SIZES)
    finally:
        QApplication.setFont(old_font)
