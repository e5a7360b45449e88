"""OpenVINO's devices as those of one runtime: AUTO and the CPU, which are everywhere, in full."""

from __future__ import annotations

import pytest

from exporters.diagnostics import diagnostic
from exporters.types import ExportedModel
from runtimes.base import Session
from runtimes.errors import NotAvailable, Unsupported
from runtimes.openvino.library import library
from runtimes.openvino.runtime import OpenVino, refuse_type
from runtimes.options import OptionValue, Settings
from runtimes.session.precision import multiplies_bf16, usable_cores
from runtimes.session.session_group import compile_sessions
from tests.runtimes.contract import RuntimeContract, computes, reference_of
from tests.runtimes.graphs import Graphs


class TestOpenVinoOnAuto(RuntimeContract):
    name = "openvino"
    untried = frozenset(
        f"inference_precision={narrow_or_own}" for narrow_or_own in ("f16", "bf16", "device")
    )


def opened(model: ExportedModel, device: str, threads: int = 1, **options: OptionValue) -> Session:
    settings = Settings(threads=threads, device=device, options=options)
    return OpenVino().compile(model, {"batch": 1}, settings)


@pytest.mark.parametrize("device", ["CPU", "AUTO", "AUTO:CPU", "MULTI:CPU", "HETERO:CPU"])
def test_the_row_tells_what_executed_whatever_chose_it(graphs: Graphs, device: str) -> None:
    reference = reference_of(graphs.step, 1)
    with opened(graphs.step, device, threads=2, streams=2) as session:
        assert len(session.lanes) == 2
        for lane in session.lanes:
            assert computes(lane, reference)
        execution = session.execution
    assert execution.provider == "CPU"
    assert execution.device_name == library().device_name("CPU")
    assert execution.precision == "fp32"
    assert {"xw_node", "hu_node"} <= {node.node for node in execution.placement}


def test_more_streams_than_the_chosen_device_makes_are_refused(graphs: Graphs) -> None:
    with pytest.raises(Unsupported, match="makes 1 stream of its threads and not 2"):
        opened(graphs.step, "AUTO", threads=1, streams=2)


@pytest.mark.skipif(usable_cores() < 2, reason="one core is shared in any case")
def test_sessions_on_the_same_cores_are_told_which_runtime_leaves_them_free(graphs: Graphs) -> None:
    settings = Settings(threads=1, device="CPU", options={"sessions": 2})
    with compile_sessions(OpenVino(), graphs.dense, {"batch": 1}, settings) as session:
        (finding,) = session.execution.warnings
    cores = usable_cores()
    assert finding == diagnostic("threads_pinned_together", sessions=2, threads=1, cores=cores)


def test_a_device_that_is_not_here_is_named_with_those_that_are(graphs: Graphs) -> None:
    local_devices = library().devices()
    if any(name.startswith("GPU") for name in local_devices):
        pytest.skip("this machine has a GPU that OpenVINO computes on")
    for device in ("GPU", "GPU.1", "AUTO:GPU+CPU", "HETERO:CPU+GPU"):
        with pytest.raises(NotAvailable, match=r"finds no GPU(\.1)? on this machine") as exc_info:
            opened(graphs.dense, device)
        assert "CPU" in exc_info.value.remedy


@pytest.mark.parametrize(
    ("device", "told"),
    [
        ("gpu", "calls no device 'gpu'"),
        ("HETERO", "HETERO needs the devices"),
        ("MULTI", "MULTI needs the devices"),
        ("CPU:GPU", "calls no device"),
        ("AUTO:", "calls no device"),
        ("AUTO:GPU,CPU", "calls no device"),
    ],
)
def test_what_is_no_device_is_refused_by_its_words_alone(device: str, told: str) -> None:
    with pytest.raises(NotAvailable, match=told) as exc_info:
        OpenVino().refuse_device(device, "")
    assert "openvino:" in exc_info.value.remedy


def test_float32_is_stated_unless_the_type_is_left_to_the_device(graphs: Graphs) -> None:
    """A processor with bf16 would take that on its own."""
    device_precision = "bf16" if multiplies_bf16() else "fp32"
    for inference_type, precision in (
        ("graph", "fp32"),
        ("f32", "fp32"),
        ("device", device_precision),
    ):
        with opened(graphs.dense, "AUTO", inference_precision=inference_type) as session:
            assert session.execution.precision == precision


def test_a_device_without_float32_says_how_it_is_measured() -> None:
    refuse_type("NPU", "f16", ("FP16", "INT8", "EXPORT_IMPORT"))
    with pytest.raises(Unsupported, match="NPU does not compute in f32"):
        refuse_type("NPU", "f32", ("FP16", "INT8", "EXPORT_IMPORT"))
