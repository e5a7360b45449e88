"""What holds for all tests: how random values are drawn."""

from __future__ import annotations

pytest_plugins = ("tests.draws",)
