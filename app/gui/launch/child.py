"""The batch process as the window's child: lines to its input, its output in a log file.

It has a session of its own and writes to a file, so it goes on when the window is gone; the
end of its input means nothing to it. (A QProcess would kill it on the window's way out.)
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from app.console.streams import ERROR_FILE, take_error_file
from app.gui.launch.cores import all_cores
from app.machine.child import STEERED
from exporters import install_layout
from exporters.types import GraphlapError

COMMAND = install_layout.command("app")
_LAST_BYTES = 4096
_let_go: list[subprocess.Popen[bytes]] = []
"""Those that outlive their window: kept, since Python complains of one that is forgotten."""


class BatchChild:
    """`graphlap ARGUMENTS`, its standard output and error appended to `log`."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self.log = log
        self._error_file = log.with_name(f"{log.name}.error.json")
        try:
            with log.open("ab") as output, all_cores():
                self._process = subprocess.Popen(
                    [*COMMAND, *arguments],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    bufsize=0,
                    start_new_session=True,
                    env={
                        **install_layout.child_environment(),
                        ERROR_FILE: str(self._error_file),
                        STEERED: "1",
                    },
                )
            assert self._process.stdin
            self._stdin = self._process.stdin
        except OSError as error:
            raise GraphlapError(
                f"the batch process can't be started ({error.strerror})",
                "see that the runs folder can be written",
            ) from None

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, word: str) -> None:
        """Write `pause`, `resume` or `stop`; one that has just ended does not hear it."""
        with contextlib.suppress(OSError):
            self._stdin.write(word.encode() + b"\n")

    def exit_code(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return self._process.poll()

    def let_go(self) -> None:
        """Close its input; it goes on alone, or has ended."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        if self._process.poll() is None:
            _let_go.append(self._process)

    def told_error(self) -> GraphlapError | None:
        """The error that ended it, once; None where it told none."""
        return take_error_file(self._error_file)

    def error(self) -> GraphlapError:
        """Why it ended: the error that it told, else the last line of its output."""
        return self.told_error() or GraphlapError(
            self._last_line() or "the batch process gave no reason",
            "its log, beside the run folder, has the rest",
        )

    def _last_line(self) -> str:
        try:
            text = self.log.read_bytes()[-_LAST_BYTES:].decode("utf-8", "replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""
