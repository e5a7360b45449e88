"""How the property tests draw: the same values in every run, fresh ones for `make fuzz`.

A pytest plugin. A test that fails says how its values become a fixed example.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

FAILING = "Failing test case: "
"""How Hypothesis begins the note that it adds to an error."""

# A deadline, or a slow draw, would let the load of the machine decide; and what is not said
# here is otherwise where a variable like CI is set (Hypothesis loads a profile for it).
settings.register_profile(
    "fresh",
    derandomize=False,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    report_multiple_bugs=False,
    max_examples=200,
)
settings.register_profile(
    "fixed", settings.get_profile("fresh"), derandomize=True, max_examples=100
)
settings.load_profile("fixed")

# Some draws are constants of the modules of ours that happen to be loaded: a test would then
# draw otherwise after other tests than alone, and a seed would not repeat a failure.
providers._get_local_constants = Constants


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.excinfo is not None:
        for note in getattr(call.excinfo.value, "__notes__", ()):
            if note.startswith(FAILING):
                report.sections.append(("How to keep this example", _keep_note(note)))
    return report


def _keep_note(note: str) -> str:
    """The decorator that makes these values a fixed example; `note` is Hypothesis' own."""
    _, parenthesis, arguments = note.removeprefix(FAILING).partition("(")
    return f"above the test, under @given, without fixtures:\n@example{parenthesis}{arguments}"
