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
from app.workers.execution_facts import distributions_of, engine_facts
from exporters.diagnostics import codes, diagnostic
from exporters.types import PACKAGED, ExportedModel, Reference, axes_key, save_reference
from runtimes.registry import load
from tests.app.machine.unprivileged import give_up, needs_realtime
from tests.app.workers.conftest import AXES, Measure, float_model
from tests.exporters.support import model_of


def install(site: Path, name: str, *files: str) -> None:
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def test_an_engine_is_told_with_its_file_and_its_package() -> None:
    facts = engine_facts(load("ort-cpu"))
    assert facts["engine_path"] == onnxruntime.__file__
    assert [facts["engine_distribution"]] == packages_distributions()["onnxruntime"]


def test_openvinos_library_is_told_though_its_module_is_never_imported() -> None:
    runtime = load("openvino-cpu")
    runtime.load()
    facts = engine_facts(runtime)
    assert "libopenvino_c.so" in facts["engine_path"]
    assert facts["engine_distribution"] == "openvino"


def test_two_packages_that_wrote_the_same_file_are_both_told(tmp_path: Path) -> None:
    """Nobody knows whose file it is: the one that was installed last has overwritten the other."""
    for name in ("onnxruntime", "onnxruntime-gpu"):
        install(tmp_path, name, "onnxruntime/__init__.py")
    file = tmp_path / "onnxruntime" / "__init__.py"
    assert distributions_of(file) == ("onnxruntime", "onnxruntime-gpu")


def test_a_package_of_another_name_is_found_too(tmp_path: Path) -> None:
    install(tmp_path, "onnxruntime-extensions", "onnxruntime_extensions/__init__.py")
    install(tmp_path, "ort-nightly", "onnxruntime/__init__.py")
    file = tmp_path / "onnxruntime" / "__init__.py"
    assert distributions_of(file) == ("ort-nightly",)
    assert distributions_of(tmp_path / "mine.py") == ()


LAST = (max(usable_cores()),)


_REFUSAL_CODES = {"memory_not_locked", "realtime_refused"}


@needs_realtime
@pytest.mark.parametrize(("runtime", "threads"), [("ort-cpu", 1), ("fake", 1)])
def test_what_was_permitted_was_had(measure: Measure, runtime: str, threads: int) -> None:
    priority = min(3, highest_realtime())
    result, _, _ = measure(
        runtime,
        affinity=LAST,
        asked=ProcessSettings(lock_memory=True, realtime=priority),
        threads=threads,
    )
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


def test_the_batch_process_on_the_same_cores_is_told(measure: Measure) -> None:
    result, _, _ = measure("fake", affinity=LAST, shared=True)
    assert "batch_process_on_measured_cores" in codes(result.warnings)


def test_cores_that_are_gone_since_are_not_claimed(measure: Measure) -> None:
    """The system silently takes away what it does not allow."""
    result, _, _ = measure("fake", affinity=(*LAST, 8000))
    assert result.environment["affinity"] == list(LAST)
    cores = {"requested": f"{LAST[0]},8000", "granted": f"{LAST[0]}"}
    assert diagnostic("cores_not_granted", **cores) in result.warnings


SHAPE = (1, 3, 8, 8)


def described(path: Path, reference: Path) -> ExportedModel:
    """A file with one input x and one output y, beside what ONNX's evaluator says of it."""
    x = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    (out,) = ReferenceEvaluator(str(path)).run(None, {"x": x})
    y = np.asarray(out)
    save_reference(str(reference), Reference({"x": x}, {"y": y}, (PACKAGED,)))
    inputs, outputs = {"x": ("batch", *x.shape[1:])}, {"y": ("batch", *y.shape[1:])}
    return float_model(path, inputs, outputs, {axes_key(AXES): str(reference)})


def saved(path: Path, nodes: str, **constants: np.ndarray) -> Path:
    model = model_of(f"(float[batch,3,8,8] x) => (float[] y) {{ {nodes} }}", constants)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


def test_a_partial_graph_with_other_outputs_still_says_what_it_left(
    measure: Measure, tmp_path: Path
) -> None:
    """It was run_failed without a node: the difference took the place of `partial`."""
    path = saved(
        tmp_path / "split.onnx",
        "[there] moved = Add(x, far) [and_back] back = Sub(moved, far) [determinant] y = Det(back)",
        far=np.array(4096, np.float32),
    )
    result, records, _ = measure("fpga:v80", model=described(path, tmp_path / "split.npz"))
    assert result.status == "partial"
    assert "Det 'determinant' on CPUExecutionProvider" in result.reason
    assert result.facts["partitions"] == 2, "the card, then the processor"
    assert "splitting_nodes" not in result.facts, "nothing of the card's comes after it"
    assert result.check is not None
    assert not result.check.output_ok
    assert "outputs_inexact" in codes(result.warnings)
    assert len(records) == 0


def test_a_node_that_splits_the_graph_is_named(measure: Measure, tmp_path: Path) -> None:
    path = saved(
        tmp_path / "between.onnx",
        "[before] positive = Relu(x) [between] scale = Det(positive) [after] y = Relu(scale)",
    )
    result, _, _ = measure("fpga:v80", model=described(path, tmp_path / "between.npz"))
    assert result.status == "partial"
    assert result.facts["partitions"] == 3
    assert result.facts["splitting_nodes"] == "Det 'between' on CPUExecutionProvider"
