"""The bundled typeface: the application's own, with figures of one width."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication

from app.gui.look.style_sheet import FAMILY, SIZES, apply_theme, font, points, prepare_application


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
