"""The loop in C, or the remedy of what it lacks."""

from __future__ import annotations

import pytest

from exporters import install_layout
from runtimes import calls as timed


@pytest.fixture(autouse=True)
def _loop_is_built() -> None:
    if not timed.built():
        pytest.skip(f"the loop in C was not built; {install_layout.COMPILER_REMEDY}")
