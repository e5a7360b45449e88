"""A whole round in a real measuring process, and how each way of failing is told."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.cases.process_settings import ProcessSettings
from app.cases.round import MEASURED, RECORD, WARMUP, Limits
from exporters.diagnostics import codes, diagnostic
from exporters.types import UNOPTIMISED, ExportedModel, Reference, load_reference, save_reference
from runtimes import registry
from tests.app.workers.conftest import SHORT, Measure
from tests.processes import python

Change = Callable[[np.ndarray], np.ndarray]
HEAVY = ("pydantic", "pandas", "onnx", "psutil", "PySide6")

PHASES = [
    "import",
    "compile",
    "first_inference",
    "warmup",
    "correctness",
    "measure",
    "correctness",
    "teardown",
]


def test_a_round_goes_through_its_phases_and_leaves_its_samples(measure: Measure) -> None:
    result, records, events = measure()
    assert (result.status, result.reason, result.stop_reason) == ("ok", "", "min_time")
    assert [e["phase"] for e in events if e["event"] == "phase"] == PHASES
    assert set(result.phases_ms) == set(PHASES)
    assert result.check is not None
    assert result.check.output_ok
    assert result.precision == "fp32"
    assert result.execution_provider == "CPUExecutionProvider"
    measured_records = records[records["phase"] == MEASURED]
    assert len(measured_records) == result.iterations >= SHORT.min_samples
    assert np.count_nonzero(records["phase"] == WARMUP) >= result.warmup_iterations
    assert (measured_records["finished_ns"] > measured_records["started_ns"]).all()
    assert (np.diff(records["started_ns"]) > 0).all()
    assert result.harness_floor_ns is not None
    assert 0 < result.harness_floor_ns < 50_000
    assert result.rss_peak_mb is not None


def change_reference(counter: ExportedModel, change: Change, *, inputs: bool = False) -> None:
    """The stored outputs, and the inputs where asked for, become what `change` makes of each."""
    path = next(iter(counter.references.values()))
    reference = load_reference(path)
    values = {name: change(array) for name, array in reference.inputs.items()}
    outputs = {name: change(array) for name, array in reference.outputs.items()}
    save_reference(path, Reference(values if inputs else reference.inputs, outputs))


def test_the_check_starts_from_the_references_own_state_within_a_given_tolerance(
    measure: Measure, counter: ExportedModel
) -> None:
    """Thousands of steps lie between the checks; none of them may show in the second."""
    change_reference(counter, lambda array: array + 1)
    result, _, _ = measure()
    assert result.status == "wrong_output"
    assert result.check is not None
    assert result.check.max_abs_error == pytest.approx(1.0)
    lax, _, _ = measure(asked=ProcessSettings(tolerance=0.5))
    assert lax.status == "ok"
    assert lax.check is not None
    assert lax.check.tolerance == 0.5


def test_what_is_not_to_be_compared_is_measured_and_says_why(
    measure: Measure, counter: ExportedModel
) -> None:
    why = diagnostic("outputs_not_checked")
    result, records, _ = measure(model=replace(counter, reference="", uncompared=why))
    assert (result.status, result.check) == ("ok", None)
    assert why in result.warnings
    assert len(records)


def test_onnxruntime_beside_onnxruntime_and_nan_beside_nan_are_told(
    measure: Measure, counter: ExportedModel
) -> None:
    change_reference(counter, lambda array: array * np.float32(np.nan), inputs=True)
    result, _, _ = measure(model=replace(counter, reference=UNOPTIMISED))
    assert result.status == "ok"
    assert {"only_own_reference", "outputs_empty"} <= {*codes(result.warnings)}
    other, _, _ = measure("openvino-cpu", model=replace(counter, reference=UNOPTIMISED))
    assert "only_own_reference" not in codes(other.warnings)


def test_a_failure_in_mid_measurement_keeps_what_was_known(measure: Measure) -> None:
    result, _, _ = measure("fake", options={"fail": "run", "fail_after": 60})
    assert result.status == "run_failed"
    assert result.runtime_version
    assert result.execution_provider
    assert "warmup" in result.phases_ms


def test_measuring_ends_when_there_is_no_more_time(measure: Measure) -> None:
    many = replace(SHORT, min_samples=10**9, max_s=0.3)
    assert measure("fake", limits=many)[0].stop_reason == "max_time"


def test_without_runs_for_checks_the_outputs_of_the_last_measured_run_are_compared(
    measure: Measure, counter: ExportedModel
) -> None:
    """Unless a state is held: the last of many steps gives others than the single step."""
    stateless, limits = replace(counter, states=()), replace(SHORT, has_check_runs=False)
    for model, checks in ((stateless, ["measure", "correctness"]), (counter, PHASES[4:7])):
        result, _, events = measure(limits=limits, model=model)
        phases = [event["phase"] for event in events if event["event"] == "phase"]
        assert [name for name in phases if name in checks] == checks
        assert result.check is not None
        assert result.check.output_ok
    wrong, _, _ = measure("fake", limits=limits, model=stateless, options={"fail": "wrong"})
    assert wrong.status == "wrong_output"


@pytest.mark.alone
def test_what_never_settles_says_so_and_is_measured(measure: Measure) -> None:
    limits = Limits(min_s=0.05, max_s=0.2, min_samples=1, warmup_max_s=2.5)
    result, records, _ = measure("fake", limits=limits, options={"slowing": 2.0})
    assert result.settled is False
    assert "no_steady_state" in codes(result.warnings)
    assert result.status == "ok"
    assert len(records)


def test_a_full_disk_is_no_result_of_the_case_nor_a_block_that_is_written_in_part(
    measure: Measure,
) -> None:
    result, _, _ = measure(samples=Path("/dev/full"))
    assert (result.status, result.stop_reason) == ("cancelled", "disk_full")
    size = 50_000 * RECORD.itemsize - 5
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    result, _, _ = measure(
        "fpga",
        limits=replace(SHORT, simulated_samples=50_000),
        said_first=f"import resource, sys; sys.dont_write_bytecode = True; {limit}",
    )
    assert (result.status, result.stop_reason) == ("cancelled", "disk_full")


@pytest.mark.parametrize("sessions", [1, 2])
def test_a_stop_ends_the_round_after_the_block(measure: Measure, sessions: int) -> None:
    limits = Limits(min_s=60.0, max_s=60.0, warmup_min_s=0.0, warmup_max_s=0.1)
    result, records, _ = measure(
        "fake", options={"sessions": sessions}, limits=limits, stopped=True
    )
    assert result.stop_reason == "stopped"
    assert len(records)


def test_the_memory_peak_is_the_rounds_own_and_not_that_of_who_started_it(measure: Measure) -> None:
    ballast = bytearray(1 << 30)
    ballast[::4096] = b"x" * len(ballast[::4096])
    result, _, _ = measure()
    assert result.rss_peak_mb is not None
    assert 20 < result.rss_peak_mb < 512


def test_a_graph_that_runs_in_a_wider_precision_than_asked_has_no_latency(
    measure: Measure, counter: ExportedModel
) -> None:
    result, records, _ = measure(precision="int8", model=replace(counter, precision="int8"))
    assert (result.status, result.precision, result.samples) == ("unsupported", "fp32", "")
    assert "this int8 graph in fp32" in result.reason
    assert len(records) == 0


def test_the_measuring_process_holds_its_engine_and_little_else() -> None:
    """What is imported beside takes memory that the round reports, and time that a search pays."""
    names = sorted(set(registry.names()) - {"fpga"})
    script = (
        "import sys; from app.workers import measure; from runtimes import registry\n"
        f"for name in {names!r}:\n"
        "    registry.load(name)\n"
        f"    print(name, *[n for n in {HEAVY!r} if n in sys.modules])"
    )
    result = python("-c", script, check=True)
    assert result.stdout.splitlines() == names
