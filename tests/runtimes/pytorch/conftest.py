"""The two boundaries of a session on a GPU, with a recorded graph and without."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["host", "device"])
def boundary(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["calls", "graph"])
def cuda_graph(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)
