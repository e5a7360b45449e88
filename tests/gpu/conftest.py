"""Checks that need a GPU: each is skipped, with the reason, where its runtime is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exporters import install_layout

pytest.register_assert_rewrite(install_layout.module_name("app.contract.suite"))

from exporters.types import ExportedModel  # noqa: E402
from runtimes import registry  # noqa: E402
from runtimes.base import Runtime, Unavailable  # noqa: E402
from runtimes.cuda import options  # noqa: E402
from runtimes.cuda import runtime as libraries  # noqa: E402
from tests.gpu.models import chain_of_products  # noqa: E402
from tests.runtimes.graphs import Graphs  # noqa: E402

GPU_RUNTIMES = ("ort-cuda", "ort-tensorrt", "tensorrt", "torch-cuda")


@pytest.fixture(scope="session")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    return Graphs(Path(tmp_path_factory.mktemp("graphs")))


@pytest.fixture(scope="session")
def slow(graphs: Graphs) -> ExportedModel:
    return chain_of_products(graphs)


def available(name: str) -> Runtime:
    """The runtime, or a skip of the test with what this machine lacks."""
    runtime = registry.load(name)
    state = runtime.availability()
    if isinstance(state, Unavailable):
        pytest.skip(f"{name}: {state.reason}; {state.remedy}")
    return runtime


@pytest.fixture(params=GPU_RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> Runtime:
    return available(str(request.param))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All have the GPU for themselves; one reason for all of them where there is none at all."""
    refusal = libraries.why_not((), 0, "a GPU runtime")
    if refusal is None:
        # NVIDIA's libraries read it when they are loaded: of TensorRT's provider nothing else tells
        # whether TF32 was off. The engines that have an option for TF32 set it besides.
        os.environ.setdefault(options.VARIABLE, "0")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            if refusal is None:
                item.add_marker(pytest.mark.alone)
                # PyTorch's compiler advises TF32 wherever a GPU has it.
                item.add_marker(pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores"))
            else:
                item.add_marker(pytest.mark.skip(reason=f"{refusal.reason}; {refusal.remedy}"))
