"""A pytest plugin: coverage's contexts are the tests, each of its parameters by itself. How long
each test took is noted, and which failed: they would find every mutant."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Generator
from functools import _lru_cache_wrapper, lru_cache
from pathlib import Path
from typing import Any

import coverage
import pytest

NOTES = "GRAPHLAP_TRACED_TESTS"
"""The variable with the file that gets what is noted: an object with `durations_s` by test and the
list `failed`."""
PREFIXES = ("app.stats.", "app.analysis.comparison.", "app.run_folder.", "app.cases.")
_durations_s = Counter[str]()
_failed: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _durations_s[report.nodeid] += report.duration  # type: ignore[assignment]
    if report.failed:
        _failed.append(report.nodeid)


def pytest_sessionfinish() -> None:
    notes = {"durations_s": _durations_s, "failed": _failed}
    Path(os.environ[NOTES]).write_text(json.dumps(notes), "utf-8")


@lru_cache(maxsize=1)
def _caches(modules: int) -> list[Any]:
    """Those of the mutated packages, while there are so many modules."""
    return [
        value
        for name, module in sys.modules.items()
        if name.startswith(PREFIXES)
        for value in vars(module).values()
        if isinstance(value, _lru_cache_wrapper)
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    running = coverage.Coverage.current()
    assert running is not None
    for wrapper in _caches(len(sys.modules)):
        wrapper.cache_clear()  # otherwise only the first test of all would run what is in them
    running.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        running.switch_context("")
