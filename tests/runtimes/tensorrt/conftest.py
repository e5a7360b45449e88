"""TensorRT's own parser and builder, of the package whose builder needs no GPU."""

from __future__ import annotations

from types import ModuleType

import pytest

from runtimes.tensorrt.build import TENSORRT_RTX


@pytest.fixture(scope="session")
def rtx() -> ModuleType:
    """TensorRT for RTX itself; a skip with the remedy where it is not installed."""
    reason = f"TensorRT for RTX is not installed; {TENSORRT_RTX.remedy}"
    module: ModuleType = pytest.importorskip(TENSORRT_RTX.module, reason=reason)
    return module
