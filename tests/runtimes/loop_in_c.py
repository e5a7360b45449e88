"""Marks of tests that need the loop in C, which a machine without a C compiler lacks."""

from __future__ import annotations

import pytest

from exporters import install_layout
from runtimes import calls

NEEDS_C = pytest.mark.skipif(
    not calls.built(), reason=f"the loop in C was not built; {install_layout.COMPILER_REMEDY}"
)
CALLS = pytest.mark.parametrize("call", [pytest.param("c", marks=NEEDS_C), "python"])
"""Both loops."""
ENGINE_CALLS = pytest.mark.parametrize(
    "options",
    [{}, {"call": "python"}, pytest.param({"build": "library"}, marks=NEEDS_C)],
    ids=["usual", "python", "library"],
)
"""Each way of calling ONNX Runtime."""
