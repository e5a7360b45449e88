"""A command as a user gives it, in this process, and what it prints."""

from __future__ import annotations

from tests.app.cli.headless.batch import run


def told(*arguments: object) -> tuple[int, str]:
    """The exit code and the standard output."""
    code, out, _ = run(*map(str, arguments))
    return code, out
