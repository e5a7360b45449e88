"""Small graphs with outputs worked out by numpy, one set for the whole test session."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.runtimes.contract")

from tests.runtimes.graphs import Graphs  # noqa: E402


@pytest.fixture(scope="session")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    return Graphs(Path(tmp_path_factory.mktemp("graphs")))


from tests.runtimes.stand_ins.fixtures import driver, driver_library, tensorrt  # noqa: E402, F401
