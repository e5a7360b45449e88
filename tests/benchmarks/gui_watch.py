"""A window that follows the runs whose folders are written to its standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QSocketNotifier, QTimer
from PySide6.QtWidgets import QApplication

from app.gui.launch import leave_last_core
from app.gui.look.preferences import Preferences
from app.gui.window import MainWindow
from app.run_folder.manifest import MANIFEST


def main() -> None:
    leave_last_core()
    app = QApplication(sys.argv[:1])
    window = MainWindow(Preferences())
    window.show()
    paths: list[Path] = []
    look = QTimer(window, interval=50)

    def read_request() -> None:
        line = sys.stdin.readline()
        if not line:
            window.close()
            app.quit()
            return
        paths[:] = [Path(line.strip())]
        look.start()

    def open_when_there() -> None:
        if paths and (paths[0] / MANIFEST).is_file():
            look.stop()
            window.open_run(paths[0])

    notifier = QSocketNotifier(0, QSocketNotifier.Type.Read)
    notifier.activated.connect(read_request)
    look.timeout.connect(open_when_there)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    app.exec()


if __name__ == "__main__":
    main()
