"""Session config entries: what options pass on, what is refused, and int8 without VNNI."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.contract.graphs import weights
from exporters.diagnostics import codes
from exporters.types import Precision, Reference
from runtimes import registry
from runtimes.errors import CompileFault, Unsupported
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import OptionValue, Settings, Used
from runtimes.session import precision as host_cpu
from tests.runtimes.graphs import Graphs, quantised_conv
from tests.runtimes.loop_in_c import ENGINE_CALLS

WIDE_SUMS = "session.x64quantprecision"
HASWELL = "flags\t\t: fpu lm avx2 fma avx512_bf16"
Processor = Callable[[str], None]


@pytest.fixture
def processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Processor]:
    """Lets /proc/cpuinfo have this line."""

    def pretend(line: str) -> None:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{line}\n", "utf-8")
        monkeypatch.setattr(host_cpu, "CPU_INFO", tmp_path / "cpuinfo")
        host_cpu.saturates_int8.cache_clear()

    yield pretend
    host_cpu.saturates_int8.cache_clear()


@pytest.mark.parametrize(
    ("line", "precision", "options", "expected"),
    [
        (HASWELL, "int8", {}, ("int8_sums_widened",)),
        (HASWELL, "int8", {WIDE_SUMS: "0"}, ()),
        (HASWELL, "fp32", {}, ()),
        (f"{HASWELL} avx512_vnni", "int8", {}, ()),
        (f"{HASWELL} avx_vnni", "int8", {}, ()),
        ("Features\t: asimd i8mm", "int8", {}, ()),
    ],
)
def test_our_own_int8_is_widened_where_the_processor_saturates(
    graphs: Graphs,
    processor: Processor,
    line: str,
    precision: Precision,
    options: dict[str, OptionValue],
    expected: tuple[str, ...],
) -> None:
    processor(line)
    model = replace(quantised_conv(graphs, "entries_int8"), precision=precision)
    settings = Settings(precision, threads=1, options=options)
    with OrtCpu().compile(model, model.axes, settings) as session:
        assert codes(session.execution.warnings) == expected
    whole = OrtCpu().request(model, model.axes, settings)
    program = OrtCpu().usage(Used(model, replace(settings, options=whole.options))).python
    assert (f'"{WIDE_SUMS}", "1"' in program) == bool(expected)


@ENGINE_CALLS
@pytest.mark.parametrize(
    "option", ["session.load_model_format", "session.session.load_model_format"]
)
def test_an_entry_reaches_the_engine_by_every_call(
    graphs: Graphs, options: dict[str, OptionValue], option: str
) -> None:
    """The engine is told to read the file as one of another format."""
    for value, is_refused in (("ONNX", False), ("ORT", True)):
        settings = Settings(threads=1, options={**options, option: value})
        if is_refused:
            with pytest.raises(CompileFault):
                OrtCpu().compile(graphs.dense, {"batch": 1}, settings)
        else:
            OrtCpu().compile(graphs.dense, {"batch": 1}, settings).close()


@pytest.mark.parametrize("key", ["session.no_such_key", "session.optimization.none", "session.x"])
def test_a_key_that_the_library_lacks_is_refused(graphs: Graphs, key: str) -> None:
    with pytest.raises(Unsupported, match=key):
        OrtCpu().compile(graphs.dense, {"batch": 1}, Settings(threads=1, options={key: "1"}))


@pytest.mark.parametrize("name", ["ort-cpu", "ort-cuda", "ort-tensorrt", "ort-ep"])
@pytest.mark.parametrize(
    ("key", "is_set_by", "remedy"),
    [
        ("session.intra_op.allow_spinning", ["ort-cpu"], "--option ort-cpu.intra_op_spinning"),
        ("session.session.set_denormal_as_zero", ["ort-cpu"], "--option ort-cpu.flush_denormals"),
        ("session.intra_op_num_threads", None, "--threads"),
        ("session.record_ep_graph_assignment_info", None, "leave it out"),
        ("session.use_env_allocators", [], ""),
    ],
)
def test_what_graphlap_sets_is_refused_with_what_to_use(
    name: str, key: str, is_set_by: list[str] | None, remedy: str
) -> None:
    runtime = registry.load(name)
    (option,) = [option for option in runtime.options_for([key]) if option.name == key]
    if is_set_by is None or name in is_set_by:
        with pytest.raises(ValueError, match=remedy):
            option.parse("1")
    else:
        assert option.parse("1") == "1"


def test_a_graph_that_cannot_be_widened_is_measured_and_says_so(
    graphs: Graphs, processor: Processor
) -> None:
    """ONNX Runtime fails to widen weights that two products share."""
    processor(HASWELL)
    text = """(float[batch,8] x) => (float[batch,8] y) {
        xq = QuantizeLinear(x, step, middle) xd = DequantizeLinear(xq, step, middle)
        kd = DequantizeLinear(k, step, zero)
        a = MatMul(xd, kd) aq = QuantizeLinear(a, step, middle)
        ad = DequantizeLinear(aq, step, middle)
        b = MatMul(xd, kd) bq = QuantizeLinear(b, step, middle)
        bd = DequantizeLinear(bq, step, middle)
        y = Sub(ad, bd)
    }"""
    model = graphs.of_text(
        "entries_shared",
        text,
        Reference({"x": weights(1, 8)}, {}),
        step=np.float32(0.05),
        middle=np.uint8(128),
        zero=np.int8(0),
        k=np.random.default_rng(0).integers(-90, 90, (8, 8)).astype(np.int8),
    )
    model = replace(model, precision="int8")
    settings = Settings("int8", threads=1)
    with OrtCpu().compile(model, model.axes, settings) as session:
        assert codes(session.execution.warnings) == ("int8_sums_saturate",)
