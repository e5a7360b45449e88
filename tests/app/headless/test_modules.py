"""A user's modules and networks, narrow precisions and sizes, through a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

from app.cases.column import pairs_in
from app.run_folder.manifest import read_manifest
from exporters.messages import ExportRequest
from exporters.types import load_reference
from exporters.worker.export import export
from runtimes.openvino.library import library
from runtimes.session.precision import multiplies_bf16
from tests.app.headless.batch import rows, run
from tests.exporters.pytorch import networks
from tests.exporters.support import graph, tensor

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
WIDTH = 16
_DRAW = np.random.default_rng(0)


def _weights(*shape: int) -> np.ndarray:
    return _DRAW.standard_normal(shape).astype(np.float32) * np.float32(0.1)


def _info(name: str, kind: int, *shape: int | str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _save(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    weights: dict[str, Any] | None = None,
    *,
    opset: int = 17,
    domain: str = "",
    external: bool = False,
) -> None:
    initializers = [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()]
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 2 if domain == "ai.onnx.ml" else 1))
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options: dict[str, Any] = {}
    if external:
        options = {
            "save_as_external_data": True,
            "location": f"{path.stem}.data",
            "size_threshold": 0,
        }
    onnx.save(model, path, **options)


def write_networks(folder: Path) -> list[str]:
    """Write them; the names of the files."""
    node = helper.make_node
    _save(
        folder / "encoder.onnx",
        [
            node("Gather", ["table", "input_ids"], ["e"]),
            node("Cast", ["attention_mask"], ["m"], to=FLOAT),
            node("Unsqueeze", ["m", "last"], ["m3"]),
            node("Mul", ["e", "m3"], ["em"]),
            node("MatMul", ["em", "w"], ["y"]),
        ],
        [_info(name, INT64, "batch", "sequence") for name in ("input_ids", "attention_mask")],
        [_info("y", FLOAT, "batch", "sequence", WIDTH)],
        {"table": _weights(100, 32), "w": _weights(32, WIDTH), "last": np.array([2])},
    )
    _save(
        folder / "images_opset_11.onnx",
        [
            node("Conv", ["x", "w"], ["c"], strides=[2, 2]),
            node("GlobalAveragePool", ["c"], ["y"]),
        ],
        [_info("x", FLOAT, "N", 3, "height", "width")],
        [_info("y", FLOAT, "N", 8, 1, 1)],
        {"w": _weights(8, 3, 3, 3)},
        opset=11,
    )
    _save(
        folder / "texts.onnx",
        [
            node(
                "LabelEncoder",
                ["city"],
                ["n"],
                domain="ai.onnx.ml",
                keys_strings=["a", "b"],
                values_int64s=[0, 1],
            ),
            node("Cast", ["n"], ["y"], to=FLOAT),
        ],
        [_info("city", STRING, "rows", 1)],
        [_info("y", FLOAT, "rows", 1)],
        domain="ai.onnx.ml",
    )
    _save(
        folder / "boxes.onnx",
        [node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["y"])],
        [_info("boxes", FLOAT, 1, 50, 4), _info("scores", FLOAT, 1, 1, 50)],
        [_info("y", INT64, "found", 3)],
        {
            "most": np.array([10]),
            "overlap": np.array([0.5], np.float32),
            "least": np.array([0.0], np.float32),
        },
    )
    _save(
        folder / "state.onnx",
        [node("GRU", ["x", "w", "r", "", "", "h0"], ["y", "hn"], hidden_size=WIDTH)],
        [_info("x", FLOAT, "T", "batch", 8), _info("h0", FLOAT, 1, "batch", WIDTH)],
        [_info("y", FLOAT, "T", 1, "batch", WIDTH), _info("hn", FLOAT, 1, "batch", WIDTH)],
        {"w": _weights(1, 3 * WIDTH, 8), "r": _weights(1, 3 * WIDTH, WIDTH)},
    )
    _save(
        folder / "quantised.onnx",
        [
            node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
            node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
            node("DequantizeLinear", ["wq", "scale", "zero"], ["w"]),
            node("MatMul", ["d", "w"], ["y"]),
        ],
        [_info("x", FLOAT, "batch", 32)],
        [_info("y", FLOAT, "batch", 8)],
        {
            "scale": np.float32(0.02),
            "zero": np.int8(0),
            "wq": _DRAW.integers(-127, 127, (32, 8)).astype(np.int8),
        },
    )
    _save(
        folder / "decoder.onnx",
        [
            node("Gather", ["table", "input_ids"], ["e"]),
            node("Concat", ["past", "e"], ["present"], axis=1),
            node("Transpose", ["present"], ["keys"], perm=[0, 2, 1]),
            node("MatMul", ["e", "keys"], ["s"]),
            node("Cast", ["attention_mask"], ["m"], to=FLOAT),
            node("Unsqueeze", ["m", "middle"], ["m3"]),
            node("Add", ["s", "m3"], ["sm"]),
            node("Softmax", ["sm"], ["p"], axis=-1),
            node("MatMul", ["p", "present"], ["y"]),
        ],
        [
            _info("input_ids", INT64, "batch", "sequence"),
            _info("attention_mask", INT64, "batch", "total_sequence"),
            _info("past", FLOAT, "batch", "past_sequence", WIDTH),
        ],
        [
            _info("y", FLOAT, "batch", "sequence", WIDTH),
            _info("present", FLOAT, "batch", "total_sequence", WIDTH),
        ],
        {"table": _weights(100, WIDTH), "middle": np.array([1])},
    )
    dense = [_info("x", FLOAT, "batch", 64)], [_info("y", FLOAT, "batch", 32)]
    _save(
        folder / "external.onnx",
        [node("MatMul", ["x", "w"], ["y"])],
        *dense,
        {"w": _weights(64, 32)},
        external=True,
    )
    _save(
        folder / "vendor_operator.onnx",
        [node("FusedMatMul", ["x", "w"], ["y"], domain="com.microsoft", transB=1)],
        *dense,
        {"w": _weights(32, 64)},
        domain="com.microsoft",
    )
    _save(
        folder / "audio.onnx",
        [node("LSTM", ["x", "w", "r"], ["y"], hidden_size=WIDTH)],
        [_info("x", FLOAT, "frames", 1, 40)],
        [_info("y", FLOAT, "frames", 1, 1, WIDTH)],
        {"w": _weights(1, 4 * WIDTH, 40), "r": _weights(1, 4 * WIDTH, WIDTH)},
    )
    return sorted(path.name for path in folder.glob("*.onnx"))


FILE = str(Path(networks.__file__))


@pytest.mark.rare
def test_each_size_of_a_module_with_baked_in_sizes_is_measured_on_its_own_graph(
    work: Path,
) -> None:
    code, _, stderr = run(
        *("--headless", "--models", f"{FILE}:other_at_two", "--batch", "2,3", "--rounds", "1"),
        *("--runtimes", "ort-cpu,torch-cpu", "--op-times", "--out", "run"),
    )
    assert code == 0, stderr
    table = rows(work / "run")
    assert {row["status"] for row in table} == {"ok"}
    assert all("sizes_fixed" in row["warning_codes"] for row in table)
    by_batch = {row["batch_size"]: row["model_sha256"] for row in table}
    assert by_batch.keys() == {"2", "3"}
    assert by_batch["2"] != by_batch["3"]
    assert len(list((work / "run" / "operators").iterdir())) == 4


def test_a_row_tells_the_sizes_that_nobody_asked_for(work: Path) -> None:
    code, out, _ = run(
        *("--headless", "--models", f"{FILE}:keywords", "--axis", "sequence=7"),
        *("--runtimes", "ort-cpu", "--rounds", "1", "--out", "run"),
    )
    assert code == 0, out
    (row,) = rows(work / "run")
    assert (row["axes"], row["batch_size"]) == ("batch=1;sequence=7", "1")
    assert row["inputs_drawn"] == "input_ids as in the example, keep as in the example"


def test_an_axis_that_no_input_has_is_a_row_with_one_sentence(work: Path) -> None:
    code, *_ = run(
        *("--headless", "--models", f"{FILE}:keywords", "--axis", "heigth=7"),
        *("--runtimes", "ort-cpu", "--rounds", "1", "--out", "run"),
    )
    assert code == 1
    (row,) = rows(work / "run")
    assert row["reason"] == (
        "networks:keywords has no axis 'heigth': its axes are: batch, sequence"
    )


@pytest.mark.rare
def test_one_pattern_measures_every_kind_or_refuses_it_in_one_sentence(work: Path) -> None:
    (work / "add.onnx").unlink()
    files = write_networks(work)
    assert len(files) == 10
    options = ("--runtimes", "ort-cpu,openvino-cpu", "--preset", "glance", "--rounds", "1")
    code, _, errors = run("run", "*.onnx", *options, "--out", "out")
    assert code == 0, errors
    statuses = {(row["model"], row["runtime"]): row["status"] for row in rows(work / "out")}
    assert len(statuses) == 20
    refusals = {key for key, status in statuses.items() if status != "ok"}
    assert refusals == {("texts.onnx", "openvino-cpu")}
    (row,) = (row for row in rows(work / "out") if row["status"] != "ok")
    assert row["status"] == "unsupported"
    assert row["reason"].count("\n") == 0
    assert all(row["output_ok"] == "true" for row in rows(work / "out") if row["status"] == "ok")
    sizes = read_manifest(work / "out").assumed_sizes["decoder.onnx"]
    assert sizes["total_sequence"] == sizes["past_sequence"] + sizes["sequence"]
    assert sizes["batch"] == 1


@pytest.mark.usefixtures("exported")
def test_bf16_is_measured_where_it_is_executed_and_refused_elsewhere(work: Path) -> None:
    runtimes = ("torch-cpu", "openvino-cpu", "ort-cpu", "fpga")
    flags = ("--precision", "bf16", "--preset", "glance", "--rounds", "1", "--out", "run")
    run("--headless", "--models", "mlp", "--runtimes", ",".join(runtimes), *flags)
    torch, openvino, ort, card = rows(work / "run")
    measured_rows = [torch]
    if multiplies_bf16():
        measured_rows.append(openvino)
    elif "BF16" not in library().computes_in("CPU"):  # AVX-512 alone computes it in a longer way
        assert openvino["status"] == "unsupported"
    for row in measured_rows:
        assert (row["status"], row["precision"], row["output_ok"]) == ("ok", "bf16", "true")
        assert 0 < float(row["max_rel_error"]) <= float(row["tolerance"]) == 0.08
    for row, why in ((ort, "no products in"), (card, "by itself")):
        assert row["status"] == "unsupported"
        assert why in row["reason"]


AXES = ("--axis", "past=1", "--axis", "step=1,2", "--axis", "total=2,3")


def save_cached(path: Path) -> None:
    """y = concat(kept, x) @ w + mask, as a decoder's step: `total` has to be `past` + `step`."""
    ends = [tensor("kept", ["past", 4]), tensor("x", ["step", 4]), tensor("mask", ["total", 4])]
    nodes = [
        helper.make_node("Concat", ["kept", "x"], ["all"], axis=0),
        helper.make_node("MatMul", ["all", "w"], ["product"]),
        helper.make_node("Add", ["product", "mask"], ["y"]),
    ]
    weights = {"w": np.eye(4, dtype=np.float32)}
    onnx.save(graph(nodes, ends, [tensor("y", ["total", 4])], weights), path)


@pytest.mark.parametrize("more", [("--precision", "int8"), ("--overhead",)], ids=str)
def test_a_combination_that_does_not_fit_is_one_row(work: Path, more: tuple[str, ...]) -> None:
    save_cached(work / "step.onnx")
    models = ("--models", "step.onnx", "--runtimes", "ort-cpu", *AXES, *more)
    lengths = ("--preset", "glance", "--rounds", "1", "--out", "run")
    code, out, log = run("--headless", *models, *lengths)
    assert code == 1, "two of four failed"
    unfit_rows = [row for row in rows(work / "run") if row["precision"] or row["status"] != "ok"]
    for row in (unfit_row for unfit_row in unfit_rows if "null" not in unfit_row["model"]):
        sizes = pairs_in(row["axes"])
        fits = int(sizes["past"]) + int(sizes["step"]) == int(sizes["total"])
        refused = ("run_failed", "compile_failed")
        assert row["status"] in (("ok",) if fits else refused), row["reason"]
        assert fits or "--axis total=" in row["reason"]
    assert sum(row["status"] == "ok" for row in unfit_rows) >= 2, out + log


def test_a_file_that_takes_none_of_the_sizes_has_inputs_alone(tmp_path: Path) -> None:
    save_cached(tmp_path / "step.onnx")
    points = tuple({"past": 1, "step": 1, "total": total} for total in (4, 5))
    request = ExportRequest(str(tmp_path / "step.onnx"), points=points, cache_dir=str(tmp_path))
    model, _ = export(request)
    assert len(model.references) == len(model.unfit) == 2 and not model.reference
    assert all(not load_reference(file).outputs for file in model.references.values())
    fitting = {"past": 1, "step": 1, "total": 2}
    request = ExportRequest(
        str(tmp_path / "step.onnx"), points=(points[0], fitting), cache_dir=str(tmp_path)
    )
    model, _ = export(request)
    assert len(model.references) == 2 and len(model.unfit) == 1
    assert model.at(points[0]).uncompared and not model.at(fitting).uncompared
    assert model.at(points[0]).unfit_at and not model.at(fitting).unfit_at
    assert np.prod(model.inputs[0].shape_at(model.axes)) == 4
