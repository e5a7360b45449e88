"""A stream to print to whose failing costs no run: its reader has gone, its disk is full.

What is measured is in the run folder; what can no longer be printed is dropped, and why is kept
for the exit code.
"""

from __future__ import annotations

import errno
import io
import os
from typing import TextIO

from app.results.plain import one_line


class Lasting(io.StringIO):
    """`stream` as far as it goes; `fault` is what ended it, None while it takes all."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._encoding = (stream.encoding if stream else "") or "utf-8"
        self._stream = stream
        self.fault: OSError | None = None

    @property
    def lost(self) -> bool:
        """Whether something was dropped that somebody waits for: who closes a pipe does not."""
        return self.fault is not None and self.fault.errno != errno.EPIPE

    def write(self, text: str) -> int:
        if self._stream is not None and self.fault is None:
            try:
                self._stream.write(self._encodable(text))
            except OSError as error:
                self._give_up(self._stream, error)
        return len(text)

    def flush(self) -> None:
        if self._stream is not None and self.fault is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._give_up(self._stream, error)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def _give_up(self, stream: TextIO, error: OSError) -> None:
        """What is still buffered would be tried again when the interpreter ends."""
        self.fault = error
        try:
            descriptor = stream.fileno()
        except OSError:
            return  # it has none, as in a notebook
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)

    def _encodable(self, text: str) -> str:
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)


def report(sentence: str, errors: Lasting) -> None:
    """Write a sentence of ours to standard error, as one line."""
    errors.write(f"graphlap: {one_line(sentence)}\n")
    errors.flush()
