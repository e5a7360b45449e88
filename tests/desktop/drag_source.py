"""`python -m tests.desktop.drag_source X Y PATH…`: a window from which files can be dragged.

What a file manager offers, in a program that is always there: the paths as text/uri-list.
"""

from __future__ import annotations

import sys

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel

SIDE = 100


class Files(QLabel):
    """Says how they were taken once they are dropped."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__("\n".join(paths))
        self._paths = paths

    def mousePressEvent(self, _: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        drag, data = QDrag(self), QMimeData()
        data.setUrls([QUrl.fromLocalFile(path) for path in self._paths])
        drag.setMimeData(data)
        action = drag.exec(Qt.DropAction.CopyAction)
        sys.stdout.write(f"{action.name}\n")
        sys.stdout.flush()


def main() -> None:
    x, y, *paths = sys.argv[1:]
    application = QApplication(sys.argv[:1])
    files = Files(paths)
    files.setGeometry(int(x), int(y), SIDE, SIDE)
    files.show()
    sys.stdout.write("there\n")
    sys.stdout.flush()
    application.exec()


if __name__ == "__main__":
    main()
