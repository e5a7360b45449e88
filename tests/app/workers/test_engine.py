"""What a measuring process has of the system, and of which package its engine is."""

from __future__ import annotations

from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from app.cases.process_settings import ProcessSettings
from app.machine.placement import highest_realtime, nodes_of, usable_cores
from app.workers.execution_facts import engine_facts
from exporters.diagnostics import codes, diagnostic
from exporters.types import PACKAGED, ExportedModel, Reference, axes_key, save_reference
from runtimes.registry import load
from tests.app.machine.unprivileged import give_up, needs_realtime
from tests.app.workers.conftest import AXES, Measure, float_model
from tests.exporters.support import model_of


def test_an_engine_is_told_with_its_file_and_its_package() -> None:
    """OpenVINO's is its library, since its module is never imported."""
    facts = engine_facts(load("ort-cpu"))
    assert facts["engine_path"] == onnxruntime.__file__
    assert [facts["engine_distribution"]] == packages_distributions()["onnxruntime"]
    runtime = load("openvino-cpu")
    runtime.load()
    facts = engine_facts(runtime)
    assert "libopenvino_c.so" in facts["engine_path"]
    assert facts["engine_distribution"] == "openvino"


LAST = (max(usable_cores()),)


_REFUSAL_CODES = {"memory_not_locked", "realtime_refused"}


@needs_realtime
def test_what_was_permitted_was_had(measure: Measure) -> None:
    priority = min(3, highest_realtime())
    asked = ProcessSettings(lock_memory=True, realtime=priority)
    result, _, _ = measure(affinity=LAST, asked=asked)
    assert (result.status, result.reason) == ("ok", "")
    assert result.environment["affinity"] == list(LAST)
    assert result.environment["numa_nodes"] == list(nodes_of(LAST))
    assert result.environment["scheduler"] == f"fifo {priority}"
    assert result.environment["memory_locked"] is True
    assert not _REFUSAL_CODES & {*codes(result.warnings)}


@needs_realtime
@pytest.mark.parametrize(
    ("runtime", "threads", "options"), [("fake", 1, {"sessions": 2}), ("ort-cpu", 2, {})]
)
def test_real_time_threads_that_could_wait_for_each_other_for_ever_are_refused(
    measure: Measure, runtime: str, threads: int, options: dict[str, int]
) -> None:
    arguments = {"affinity": LAST, "options": options, "threads": threads}
    result, records, _ = measure(runtime, asked=ProcessSettings(realtime=1), **arguments)
    assert result.status == "unsupported"
    assert "2 threads of one real-time priority take no turns on 1 core" in result.reason
    assert len(records) == 0
    other_result, _, _ = measure(
        runtime, asked=ProcessSettings(realtime=1), before=give_up, **arguments
    )
    assert other_result.status == "ok", "who has no priority takes turns"


def test_what_was_not_permitted_is_told_with_its_remedy(measure: Measure) -> None:
    result, records, _ = measure(
        "ort-cpu",
        affinity=LAST,
        asked=ProcessSettings(lock_memory=True, realtime=3),
        before=give_up,
    )
    assert result.status == "ok"
    assert len(records) > 0
    assert result.environment["scheduler"] == "other"
    assert result.environment["memory_locked"] is False
    assert {*codes(result.warnings)} >= _REFUSAL_CODES
    (priority,) = (warning for warning in result.warnings if warning.code == "realtime_refused")
    assert priority.parameters["priority"] == 3


@pytest.mark.parametrize(
    ("why", "asked", "is_told"),
    [
        ("", ProcessSettings(huge_pages=True), False),
        ("switched off", ProcessSettings(huge_pages_from="1B"), True),
        ("switched off", ProcessSettings(huge_pages=True, huge_pages_from="1GiB"), False),
    ],
)
def test_huge_pages_that_are_not_to_be_had_are_told(
    measure: Measure, why: str, asked: ProcessSettings, is_told: bool
) -> None:
    patch = f"import app.workers.conditions as c; c.huge_pages_refusal = lambda: {why!r}"
    result, records, _ = measure("fake", asked=asked, said_first=patch)
    assert result.status == "ok" and len(records) > 0
    assert (diagnostic("huge_pages_refused", error=why) in result.warnings) is is_told


def test_cores_that_are_gone_since_are_not_claimed_and_the_batch_process_on_them_told(
    measure: Measure,
) -> None:
    """The system silently takes away what it does not allow."""
    result, _, _ = measure("fake", affinity=(*LAST, 8000), shared=True)
    assert result.environment["affinity"] == list(LAST)
    cores = {"requested": f"{LAST[0]},8000", "granted": f"{LAST[0]}"}
    assert diagnostic("cores_not_granted", **cores) in result.warnings
    assert "batch_process_on_measured_cores" in codes(result.warnings)


def partial(folder: Path, nodes: str, **constants: np.ndarray) -> ExportedModel:
    """A graph of these nodes from x to y, beside what ONNX's evaluator says of it."""
    path, reference = folder / "partial.onnx", str(folder / "partial.npz")
    model = model_of(f"(float[batch,3,8,8] x) => (float[] y) {{ {nodes} }}", constants)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    x = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)
    (y,) = map(np.asarray, ReferenceEvaluator(str(path)).run(None, {"x": x}))
    save_reference(reference, Reference({"x": x}, {"y": y}, (PACKAGED,)))
    inputs, outputs = {"x": ("batch", 3, 8, 8)}, {"y": ("batch", *y.shape[1:])}
    return float_model(path, inputs, outputs, {axes_key(AXES): reference})


def test_a_partial_graph_with_other_outputs_still_says_what_it_left(
    measure: Measure, tmp_path: Path
) -> None:
    """It was run_failed without a node: the difference took the place of `partial`."""
    nodes = """[there] moved = Add(x, far) [and_back] back = Sub(moved, far)
        [between] scale = Det(back) [after] y = Relu(scale)"""
    model = partial(tmp_path, nodes, far=np.array(4096, np.float32))
    result, records, _ = measure("fpga:v80", model=model)
    assert result.status == "partial"
    assert "Det 'between' on CPUExecutionProvider" in result.reason
    assert result.facts["partitions"] == 3
    assert result.facts["splitting_nodes"] == "Det 'between' on CPUExecutionProvider"
    assert result.check is not None
    assert not result.check.output_ok
    assert "outputs_inexact" in codes(result.warnings)
    assert len(records) == 0
