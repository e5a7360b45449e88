"""A pytest plugin: coverage's contexts are the tests, each of its parameters by itself."""

from __future__ import annotations

from collections.abc import Generator

import coverage
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    running = coverage.Coverage.current()
    assert running is not None
    running.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        running.switch_context("")
