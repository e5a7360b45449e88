"""Small graphs with outputs worked out by numpy, one set for the whole test session, and the ways
of running one on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporters import install_layout

pytest.register_assert_rewrite(install_layout.module_name("app.contract.suite"))

from tests.runtimes.graphs import Graphs  # noqa: E402


@pytest.fixture(scope="session")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    return Graphs(Path(tmp_path_factory.mktemp("graphs")))


@pytest.fixture(params=["host", "device"])
def boundary(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["calls", "graph"])
def cuda_graph(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


from tests.runtimes.stand_ins.fixtures import (  # noqa: E402
    driver,  # noqa: F401
    driver_library,  # noqa: F401
    gpu,  # noqa: F401
    tensorrt,  # noqa: F401
    tensorrt_rtx,  # noqa: F401
)
