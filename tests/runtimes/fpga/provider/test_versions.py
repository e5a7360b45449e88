"""The oldest ONNX Runtime that is supported runs the same tests as the newest.

Its CPU wheel is unpacked into a throw-away folder that goes before this environment's own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import onnxruntime
import pytest

from runtimes.fpga.provider import OLDEST_ONNXRUNTIME
from tests.checkout import ROOT
from tests.processes import ended, python

TESTS = ("provider/test_bridge.py", "provider/test_graph.py", "numerics/test_claims.py")
PYTEST = """
import sys, onnxruntime, pytest
assert onnxruntime.__version__.startswith(sys.argv[1] + ".")
sys.exit(pytest.main(sys.argv[2:]))
"""
OLDEST = ".".join(map(str, OLDEST_ONNXRUNTIME))


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the oldest supported onnxruntime in it."""
    folder = tmp_path_factory.mktemp("oldest")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    where = ["--only-binary", ":all:", "--retries", "1", "--timeout", "20", "--target", str(folder)]
    process = ended(*pip, *where, f"onnxruntime=={OLDEST}.*")
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        pytest.skip(f"onnxruntime {OLDEST} can't be fetched: {reason}")
    return folder


@pytest.mark.rare
@pytest.mark.timeout(600)
def test_the_bridge_works_on_the_oldest_onnxruntime(oldest: Path) -> None:
    if onnxruntime.__version__.startswith(f"{OLDEST}."):
        pytest.skip("the oldest is the one that all other tests ran on")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(oldest), str(ROOT)])}
    tests = [str(Path(__file__).parents[1] / name) for name in TESTS]
    process = python(
        "-c", PYTEST, OLDEST, "-q", "-p", "no:cacheprovider", *tests, cwd=ROOT, env=environment
    )
    assert process.returncode == 0, process.stdout[-4000:]
