"""Runs ONNX's own node tests as users' files, one JSON line each: name, outcome and cause.

A process of its own, so that an engine that dies is seen as such and not as a broken test run.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from app.cases.round import Check
from app.workers.output_check import compare
from exporters.agreement import tolerance_of
from exporters.messages import ExportRequest, OutlineRequest
from exporters.onnx_files.outline import outline
from exporters.plain_arrays import widen
from exporters.types import ExportedModel, ExportError, NotBenchmarkable
from exporters.worker import export
from runtimes.errors import RuntimeFault, Unsupported
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from tests.exporters.support import only_reference

PASSED = "pass"
NEWER_OPSET = "opset newer than the runtime"
NO_KERNEL = "no kernel"
NOT_BENCHMARKABLE = "input kind not benchmarkable"
WRONG = "wrong"


def main() -> None:
    """All cases that the installed onnx generates."""
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    with TemporaryDirectory() as scratch:
        for number, case in enumerate(collect_testcases()):
            # A cache counts all that it holds after each export.
            cache = Path(scratch) / f"cache{number // 100}"
            outcome, cause = judge(case, Path(scratch) / case.name, cache)
            print(json.dumps([case.name, outcome, cause]), flush=True)


def judge(case: Any, folder: Path, cache: Path) -> tuple[str, str]:
    """The outcome of one case, and what it is due to."""
    try:
        path = save(case, folder)
        model, _ = export(ExportRequest(str(path), points=_points(path), cache_dir=str(cache)))
        check, outputs = measured(model)
    except NotBenchmarkable as error:
        return NOT_BENCHMARKABLE, str(error)
    except ExportError as error:
        return WRONG, f"export: {error}"
    except Unsupported as error:
        return (NEWER_OPSET if "newer than" in str(error) else NO_KERNEL), str(error)
    except RuntimeFault as error:
        return WRONG, f"{error.status}: {error}"
    return verdict(case, check, outputs)


def _points(path: Path) -> tuple[dict[str, int], ...]:
    """Sizes for the entries of a sequence, which the data of a case does not set."""
    export_outline = outline(OutlineRequest(str(path)))
    has_sequences = any(spec.owner for spec in export_outline.inputs)
    return (dict.fromkeys(export_outline.axes, 3),) if has_sequences and export_outline.axes else ()


def save(case: Any, folder: Path) -> Path:
    """The case as ONNX lays it out: the model, and its first data set beside it."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    path = folder / "model.onnx"
    onnx.save(case.model, path)
    for kind, values in zip(("input", "output"), case.data_sets[0], strict=True):
        for index, value in enumerate(values):
            file = data / f"{kind}_{index}.pb"
            if isinstance(value, np.ndarray | np.generic):
                file.write_bytes(numpy_helper.from_array(np.asarray(value)).SerializeToString())
            elif isinstance(value, onnx.TensorProto):
                file.write_bytes(value.SerializeToString())
    return path


def measured(model: ExportedModel) -> tuple[Check, dict[str, np.ndarray]]:
    """ort-cpu's outputs for the model's reference inputs, judged as a round judges them."""
    reference = only_reference(model)
    with OrtCpu().compile(model, model.axes, Settings()) as session:
        lane = session.lanes[0]
        lane.bind(reference.inputs)
        lane.poison()
        try:
            lane.run()
        except Exception as error:
            raise session.fault(error) from error
        outputs = lane.outputs()
    tolerance = tolerance_of(["fp32"], model.depth, model.outputs)
    return compare(outputs, reference.outputs, model.reference, tolerance), outputs


def verdict(case: Any, check: Check, outputs: dict[str, np.ndarray]) -> tuple[str, str]:
    for value in case.model.graph.output:
        if not value.type.HasField("tensor_type"):
            continue
        expected_type = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        expected_type = widen(np.empty(0, expected_type)).dtype
        is_text = expected_type.kind == "O" and outputs[value.name].dtype.kind == "U"
        if outputs[value.name].dtype != expected_type and not is_text:
            return (
                WRONG,
                f"output: {value.name} is {outputs[value.name].dtype}, not {expected_type}",
            )
    if not check.output_ok:
        return WRONG, f"output: {check.worst_output} differs by {check.max_rel_error:.2g}"
    return PASSED, ""


if __name__ == "__main__":
    main()
