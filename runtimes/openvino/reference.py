"""The process that computes a graph's outputs once by OpenVINO, as a reference for other engines.

Its command is `python -m runtimes.openvino.reference MODEL INPUTS.npz OUTPUTS.npz`, with one JSON
line on its standard input: the names of the inputs, and name and numpy type of each output. Arrays
are stored by place. Products are computed in float32, and no graph is quantised any further.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from runtimes.openvino.library import OpenVinoError, library

_PROPERTIES = {
    "INFERENCE_PRECISION_HINT": "f32",
    "EXECUTION_MODE_HINT": "ACCURACY",
    "LP_TRANSFORMS_MODE": "NO",
}


def outputs_of(
    model: str, inputs: dict[str, np.ndarray], outputs: dict[str, str]
) -> list[np.ndarray]:
    """The outputs in their order; raises OpenVinoError."""
    engine = library()
    with ExitStack() as resources:
        graph = engine.read(resources, model, {name: a.shape for name, a in inputs.items()})
        compiled_model = engine.compile(resources, graph, "CPU", _PROPERTIES)
        request = engine.request(resources, compiled_model)
        ports = engine.inputs(resources, compiled_model, list(inputs)).by_name
        for name, array in inputs.items():
            engine.share(resources, request, ports[name], array)
        engine.timed(request)()
        ports = engine.outputs(resources, compiled_model, list(outputs)).by_name
        return [
            engine.view(request, ports[name], np.dtype(kind)).copy()
            for name, kind in outputs.items()
        ]


def main(model: str, inputs_file: str, outputs_file: str) -> int:
    names = json.loads(sys.stdin.readline())
    with np.load(inputs_file) as stored:
        arrays = [np.ascontiguousarray(stored[f"arr_{n}"]) for n in range(len(names["inputs"]))]
    try:
        results = outputs_of(
            model, dict(zip(names["inputs"], arrays, strict=True)), names["outputs"]
        )
    except OpenVinoError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        sys.stderr.write(f"{lines[-1] if lines else 'it failed without a word'}\n")
        return 1
    np.savez(Path(outputs_file), *results)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
