"""OpenVINO as a reference, where it is installed, in a process of its own.

It is asked where ONNX Runtime and ONNX's evaluator leave a graph without two that agree.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from exporters.agreement import Arrays
from exporters.install_layout import command, run_child
from exporters.types import TensorSpec
from exporters.validation import EVALUATOR_LIMIT_S, TooSlow

_MODULE = "runtimes.openvino.reference"


def is_installed() -> bool:
    """Whether this environment has OpenVINO; it is not imported."""
    return find_spec("openvino") is not None


def by_openvino(path: Path, inputs: Arrays, outputs: Sequence[TensorSpec]) -> Arrays:
    """The outputs by name; NotImplementedError for what it refuses, TooSlow after the limit."""
    if any(spec.element or spec.owner or np.dtype(spec.dtype).kind in "UO" for spec in outputs):
        raise NotImplementedError("its outputs are not of a type that is asked of it")
    if any(array.dtype.kind in "UO" for array in inputs.values()):
        raise NotImplementedError("texts are not given to it")
    names = {"inputs": list(inputs), "outputs": {spec.name: spec.dtype for spec in outputs}}
    with tempfile.TemporaryDirectory() as folder:
        given_file, computed_file = Path(folder, "inputs.npz"), Path(folder, "outputs.npz")
        np.savez(given_file, *inputs.values())
        try:
            process = run_child(
                command(_MODULE, str(path), str(given_file), str(computed_file)),
                f"{json.dumps(names)}\n",
                time_limit_s=EVALUATOR_LIMIT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise TooSlow(f"it took longer than {EVALUATOR_LIMIT_S:g} s") from error
        if process.returncode:
            last_lines = process.stderr.strip().splitlines()[-1:]
            raise NotImplementedError(last_lines[0] if last_lines else "its process ended")
        with np.load(computed_file) as stored:
            return {spec.name: stored[f"arr_{n}"] for n, spec in enumerate(outputs)}
