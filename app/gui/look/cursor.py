"""A text cursor that stops blinking: each blink paints, and an idle window is to do nothing."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

RESTS_AFTER_MS = 10_000


class RestingCursor(QObject):
    """Blinks for so long after the focus has moved, and stands still from then on."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._usual_ms = QGuiApplication.styleHints().cursorFlashTime()
        self._timer = QTimer(self, singleShot=True, interval=RESTS_AFTER_MS)
        self._timer.timeout.connect(self._rest)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self._focus = application.focusChanged.connect(self._blink)

    def close(self) -> None:
        """Leave the cursor as it was found."""
        QObject.disconnect(self._focus)
        self._timer.stop()
        QGuiApplication.styleHints().setCursorFlashTime(self._usual_ms)

    def _blink(self, *_: object) -> None:
        QGuiApplication.styleHints().setCursorFlashTime(self._usual_ms)
        self._timer.start()

    def _rest(self) -> None:
        QGuiApplication.styleHints().setCursorFlashTime(0)
