"""TOML files of a user's own, read within bounds: a plan, a card, a list of environments."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from exporters.regular import read_file

MOST_BYTES = 8 << 20
_MOST_PARTS = 32
"""Of a dotted key. Python's reader needs memory and time with the square of their number."""

_TEXT = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}")


def read_toml(path: Path) -> dict[str, Any]:
    """The values in the file; OSError, or ValueError with a clause that says what is wrong."""
    try:
        return toml_values(read_file(path, most_bytes=MOST_BYTES).decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8 text") from None


def toml_values(text: str) -> dict[str, Any]:
    """The values in a text; ValueError likewise."""
    if _LONG_KEY.search(_TEXT.sub("text", text)):
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is no valid TOML: {error}") from None
    except ValueError:  # from `int`, which reads no more digits than it can in good time
        raise ValueError("it has a number with too many digits") from None
