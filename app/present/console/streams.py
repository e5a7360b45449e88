"""Output streams: terminal width, closed pipes and full disks; the error file for a parent."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
from pathlib import Path
from typing import TextIO

from app.formatting.text import one_line
from exporters.types import GraphlapError

DEFAULT_WIDTH = 80
"""Of a pipe or a file that nobody says otherwise of."""


def width_of(stream: TextIO) -> int:
    """What COLUMNS says, else the terminal behind `stream` or behind the standard error."""
    columns_text = os.environ.get("COLUMNS", "")
    if columns_text.isdecimal() and int(columns_text) > 0:
        return int(columns_text)
    for candidate in (stream, sys.stderr):
        try:
            return os.get_terminal_size(candidate.fileno()).columns or DEFAULT_WIDTH
        except (OSError, ValueError, AttributeError):
            continue
    return DEFAULT_WIDTH


ERROR_FILE = "GRAPHLAP_ERROR_FILE"
"""The environment variable with the file's path; unset where nobody waits for it."""


def write_error_file(error: GraphlapError) -> None:
    """Tell the parent, if it asked; one that can't be told has the sentence in its log."""
    path = os.environ.get(ERROR_FILE)
    if path:
        with contextlib.suppress(OSError):
            fields = {"cause": error.cause, "remedy": error.remedy, "option": error.option}
            Path(path).write_text(json.dumps(fields), "utf-8")


def take_error_file(path: Path) -> GraphlapError | None:
    """What was written there, which is removed; None if nothing was."""
    try:
        fields = json.loads(path.read_text("utf-8"))
        path.unlink()
    except (OSError, ValueError):
        return None
    return GraphlapError(fields["cause"], fields["remedy"], fields["option"])


_SPELLINGS = str.maketrans(
    {
        **{"µ": "u", "±": "+-", "·": "-", "…": "...", "─": "-", "≤": "<="},
        **{"“": '"', "”": '"', "°": " deg "},
    }
)
"""Of the characters that the program's own texts have, where a stream cannot encode a text."""


class ResilientStream(io.StringIO):
    """`stream` as far as it goes; `fault` is what ended it, None while it takes all."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._encoding = (stream.encoding if stream else "") or "utf-8"
        self._stream = stream
        self.fault: OSError | None = None

    @property
    def has_lost_output(self) -> bool:
        """Whether something was dropped that somebody waits for: who closes a pipe does not."""
        return self.fault is not None and self.fault.errno != errno.EPIPE

    def write(self, text: str) -> int:
        if self._stream is not None and self.fault is None:
            try:
                self._stream.write(self._encodable(text))
            except OSError as error:
                self._detach(self._stream, error)
        return len(text)

    def flush(self) -> None:
        if self._stream is not None and self.fault is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._detach(self._stream, error)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def _detach(self, stream: TextIO, error: OSError) -> None:
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
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            text = text.translate(_SPELLINGS)
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)


def report(sentence: str, errors: ResilientStream) -> None:
    """Write a sentence of ours to standard error, as one line."""
    errors.write(f"graphlap: {one_line(sentence)}\n")
    errors.flush()
