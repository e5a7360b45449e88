"""PyTorch keeps the contract, eager and compiled, and refuses what it would run differently."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from app.contract.graphs import CHANNELS, OUTPUTS, weights
from exporters.agreement import TOLERANCE
from exporters.diagnostics import diagnostic
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, Factory, Precision, Reference, TensorSpec
from exporters.worker import export
from runtimes.base import Lane, Session
from runtimes.errors import CompileFault, NotAvailable, Unsupported
from runtimes.options import Settings
from runtimes.pytorch.runtime import TorchCpu
from runtimes.pytorch.session import in_precision
from runtimes.session import precision as host_cpu
from tests.exporters.support import only_reference
from tests.runtimes.contract import ONE_THREAD, RuntimeContract, agrees, computes, reference_of
from tests.runtimes.graphs import FACTORIES, Graphs
from tests.runtimes.pytorch.host_place import opened
from tests.runtimes.stepped import streams

pytestmark = pytest.mark.filterwarnings(
    # torch's compiler still imports parts that torch itself calls deprecated.
    "ignore:.torch.jit.script_method. is deprecated:DeprecationWarning"
)


class TestTorchCpu(RuntimeContract):
    name = "torch-cpu"
    untried = frozenset({"mode=compile"})


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """One compiler cache for the module, so that each graph is compiled once."""
    cache = tmp_path_factory.mktemp("compiled")
    from torch._inductor.utils import clear_caches  # an import of two seconds

    clear_caches()  # what earlier tests of this process have compiled
    return Settings(threads=1, options={"mode": "compile"}, cache_dir=str(cache))


@pytest.mark.parametrize("name", ["dense", "step", "lookup"])
def test_bf16_lies_between_float32_ends(graphs: Graphs, name: str) -> None:
    model: ExportedModel = getattr(graphs, name)
    reference = reference_of(model, 3)
    with TorchCpu().compile(model, {"batch": 3}, Settings("bf16", threads=1)) as session:
        assert session.execution.precision == "bf16"
        (lane,) = session.lanes
        assert computes(lane, reference, TOLERANCE["bf16"])
        assert not agrees(lane.outputs(), reference), "float32 would be nearer"
        lane.poison()
        assert not agrees(lane.outputs(), reference, TOLERANCE["bf16"])


def test_a_processor_that_must_widen_bf16_is_told_of(
    graphs: Graphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings_by_flags = {
        "flags\t\t: fpu avx2": 1,
        "flags\t\t: fpu avx512_bf16": 0,
        "Features\t: bf16 i8mm": 0,
    }
    for number, (line, warning_count) in enumerate(warnings_by_flags.items()):
        file = tmp_path / str(number)
        file.write_text(f"processor\t: 0\n{line}\n")
        monkeypatch.setattr(host_cpu, "CPU_INFO", file)
        host_cpu.multiplies_bf16.cache_clear()
        with TorchCpu().compile(graphs.dense, {"batch": 1}, Settings("bf16")) as session:
            assert len(session.execution.warnings) == warning_count
    host_cpu.multiplies_bf16.cache_clear()


def given(session: Session, x: np.ndarray) -> np.ndarray:
    """What a run makes of `x`."""
    lane = session.lanes[0]
    lane.bind({"x": x})
    lane.run()
    return lane.outputs()["y"]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_pictures_lie_as_the_option_says(graphs: Graphs, precision: Precision) -> None:
    shapes = {"x": ("batch", 4, 6, 5), "y": ("batch", 8, 4, 3)}
    model = replace(
        of_module(graphs, "pictures"),
        inputs=(TensorSpec("x", "float32", shapes["x"]),),
        outputs=(TensorSpec("y", "float32", shapes["y"]),),
    )
    x = weights(2, 4, 6, 5)
    layouts = []
    for last in (False, True):
        settings = Settings(precision, threads=1, options={"channels_last": last})
        with TorchCpu().compile(model, {"batch": 2}, settings) as session:
            layouts.append(given(session, x))
    assert np.allclose(layouts[0], layouts[1] + 1, atol=2e-2 if precision == "bf16" else 1e-5)


def of_module(graphs: Graphs, name: str) -> ExportedModel:
    shape = ("batch", 3, 4)
    return replace(
        graphs.dense,
        inputs=(TensorSpec("x", "float32", shape),),
        outputs=(TensorSpec("y", "float32", shape),),
        factory=Factory(f"{FACTORIES}:{name}", seed=7),
    )


@pytest.mark.rare
def test_compiled_streams_and_keeps_its_cache_in_ours(graphs: Graphs, compiled: Settings) -> None:
    reference = reference_of(graphs.step, 1)
    with TorchCpu().compile(graphs.step, {"batch": 1}, compiled) as session:
        lane = session.lanes[0]
        assert session.execution.provider == "inductor"
        assert computes(lane, reference)
        assert streams(lane)
    assert any((Path(compiled.cache_dir) / "inductor").rglob("*.so"))


def test_a_module_that_cannot_be_compiled_whole_is_unsupported(
    graphs: Graphs, compiled: Settings
) -> None:
    model = of_module(graphs, "branching")
    with pytest.raises(Unsupported, match="whole") as exc_info:
        TorchCpu().compile(model, {"batch": 1}, compiled)
    assert "eager" in exc_info.value.remedy
    assert "\n" not in str(exc_info.value)
    assert not torch.is_inference_mode_enabled()


def test_a_machine_without_a_compiler_is_told_what_to_install(
    graphs: Graphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    settings = Settings(options={"mode": "compile"}, cache_dir=str(tmp_path))
    with pytest.raises(NotAvailable, match="g\\+\\+"):
        TorchCpu().compile(graphs.lookup, {"batch": 1}, settings)


def test_a_file_without_a_module_is_unsupported(graphs: Graphs) -> None:
    with pytest.raises(Unsupported, match="no torch module"):
        TorchCpu().refuse(replace(graphs.dense, factory=None), {"batch": 1}, ONE_THREAD)


def test_a_factory_of_the_catalogue_gets_its_arguments_seed_and_weights(
    graphs: Graphs, tmp_path: Path
) -> None:
    factory = Factory("exporters.models.networks:Mlp", {"widths": [CHANNELS, OUTPUTS]}, seed=3)
    x = weights(1, CHANNELS)

    def result(factory: Factory) -> np.ndarray:
        model = replace(graphs.dense, factory=factory)
        with TorchCpu().compile(model, {"batch": 1}, ONE_THREAD) as session:
            return given(session, x)

    torch.manual_seed(3)
    linear = torch.nn.Linear(CHANNELS, OUTPUTS)
    with torch.no_grad():
        expected = linear(torch.from_numpy(x)).numpy()
    assert np.array_equal(result(factory), expected)

    weights_path = tmp_path / "trained.safetensors"
    unit_weights, zeros = torch.ones(OUTPUTS, CHANNELS), torch.zeros(OUTPUTS)
    save_file({"linears.0.weight": unit_weights, "linears.0.bias": zeros}, weights_path)
    expected_sums = np.repeat(x.sum(axis=1, keepdims=True), OUTPUTS, axis=1)
    assert np.allclose(
        result(replace(factory, weights=str(weights_path))), expected_sums, atol=1e-6
    )


def test_a_factory_that_raises_is_a_compile_fault(graphs: Graphs) -> None:
    model = replace(
        graphs.dense, factory=Factory("exporters.models.networks:Mlp", {"widths": [-1, 1]})
    )
    with pytest.raises(CompileFault, match=r"networks:Mlp"):
        TorchCpu().compile(model, {"batch": 1}, ONE_THREAD)


def test_inference_mode_lasts_from_the_first_session_to_the_last(graphs: Graphs) -> None:
    first = TorchCpu().compile(graphs.dense, {"batch": 1}, ONE_THREAD)
    second = TorchCpu().compile(graphs.dense, {"batch": 1}, ONE_THREAD)
    first.close()
    assert torch.is_inference_mode_enabled()
    second.close()
    second.close()
    assert not torch.is_inference_mode_enabled()


LOWEST = torch.finfo(torch.float32).min


class Masked(torch.nn.Module):
    """Shares of scores under a mask; `largest` is a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.tensor([LOWEST, -torch.inf, torch.nan, 1.0]))
        self.register_buffer("places", torch.tensor([0, 70000]))
        self.largest = torch.nn.Parameter(torch.tensor([-LOWEST]))


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp16", torch.float16), ("bf16", torch.bfloat16)]
)
def test_the_lowest_number_of_a_mask_stays_finite(precision: Precision, dtype: torch.dtype) -> None:
    module = in_precision(Masked(), precision)
    largest, mask = torch.finfo(dtype).max, module.get_buffer("mask")
    assert mask.dtype == dtype
    assert mask[:2].tolist() == [-largest, -torch.inf]
    assert mask[2].isnan()
    assert mask[3] == 1
    assert next(module.parameters()).tolist() == [largest]
    assert module.get_buffer("places").tolist() == [0, 70000]


def exported(folder: Path, name: str) -> ExportedModel:
    return export(ExportRequest(f"{FACTORIES}:{name}", cache_dir=str(folder)))[0]


def repeats(lane: Lane, reference: Reference, tolerance: float) -> bool:
    """Whether the third run after a binding still gives the expected outputs."""
    lane.bind(reference.inputs)
    for _ in range(3):
        lane.poison()
        lane.run()
    return agrees(lane.outputs(), reference, tolerance)


@pytest.mark.parametrize(
    ("name", "written"),
    [("returned", ("x",)), ("buffer", ()), ("pure", ())],
)
def test_every_run_computes_on_what_was_bound(
    name: str, written: tuple[str, ...], tmp_path: Path
) -> None:
    model = exported(tmp_path, name)
    assert model.written_inputs == written
    reference = only_reference(model)
    assert np.array_equal(reference.inputs["x"], np.ones((1, 4), np.float32))
    tolerances: dict[Precision, float] = {"fp32": 1e-5, "bf16": 0.05}
    for precision, tolerance in tolerances.items():
        settings = Settings(threads=1, precision=precision)
        with TorchCpu().compile(model, {"batch": 1}, settings) as session:
            (lane,) = session.lanes
            assert repeats(lane, reference, tolerance)
            copy_finding = diagnostic("inputs_copied", inputs=written)
            assert (copy_finding in session.execution.warnings) == bool(written)


@pytest.mark.parametrize("boundary", ["host", "device"])
@pytest.mark.parametrize("recorded", [False, True])
def test_it_is_so_on_a_gpu_at_both_boundaries(
    boundary: str, recorded: bool, tmp_path: Path
) -> None:
    model = exported(tmp_path, "returned")
    with opened(model, boundary, recorded) as session:
        assert repeats(session.lanes[0], only_reference(model), 1e-5)
