"""The library of one operator, `graphlap.test.Twice`, compiled where a test needs it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import onnx
import pytest
from onnx import helper

from tests.checkout import ROOT
from tests.exporters.support import graph, tensor

DOMAIN = "graphlap.test"


def library(folder: Path) -> str:
    """The path of the library, built in the folder; skips where there is no C compiler."""
    compiler = which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler to build a library of operators with")
    library_path = folder / "twice.so"
    source = ROOT / "tests" / "operators" / "twice.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-w", source, "-o", library_path], check=True)
    return str(library_path)


def save_twice(path: Path) -> Path:
    """y = Twice(x), with x [batch, 8], as a file."""
    node = helper.make_node("Twice", ["x"], ["y"], domain=DOMAIN)
    ends = [tensor("x", ["batch", 8])], [tensor("y", ["batch", 8])]
    onnx.save(graph([node], *ends, vendor=DOMAIN), path)
    return path
