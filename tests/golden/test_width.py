"""What commands print fits the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.present.terminal import width_of_text
from tests.golden.folders import NAMES, unpack
from tests.golden.screens import printed

WIDTHS = (80, 120)
PROGRAM = "/opt/graphlap/bin/graphlap"


def too_wide(text: str, width: int) -> list[str]:
    """Lines wider than the terminal that are no command and no single word, such as a path."""
    return [
        line
        for line in text.splitlines()
        if width_of_text(line) > width
        and not line.startswith(f"  {PROGRAM}")
        and " " in line.strip()
    ]


@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_wider_than_the_terminal(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = unpack(name, Path(name))
    if name == "history":
        commands: tuple[tuple[str, ...], ...] = (("history", name),)
    elif name == "compared":
        commands = (("compare", str(path.with_name("before")), str(path)), ("show", str(path)))
    else:
        commands = (("show", str(path)), ("show", str(path), "--verbose"))
    for command in commands:
        for width in WIDTHS:
            assert too_wide(printed(*command, columns=width), width) == [], command


@pytest.mark.parametrize("command", ["doctor", "models", "runtimes"])
def test_no_line_about_this_machine_is_wider_than_the_terminal(command: str) -> None:
    assert too_wide(printed(command, columns=80), 80) == []
