"""A pytest plugin: coverage's contexts are the tests, each of its parameters by itself, and those
that fail are noted: they would find every mutant."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

FAILED = "GRAPHLAP_FAILED_TESTS"
"""The variable with the file that gets the names of tests that fail."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        with Path(os.environ[FAILED]).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    running = coverage.Coverage.current()
    assert running is not None
    running.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        running.switch_context("")
