"""A command as a user gives it, in this process, and what it prints."""

from __future__ import annotations

import pytest

from app.__main__ import main


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """The exit code and the standard output."""
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr().out
