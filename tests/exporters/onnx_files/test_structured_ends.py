"""What is drawn for a user's graph means something to it, whatever its inputs are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from exporters.agreement import Bound, difference
from exporters.diagnostics import diagnostic
from exporters.messages import ExportRequest
from exporters.onnx_files.model_io import inspect
from exporters.plain_arrays import NARROW_TYPES, arrays_of, values_of
from exporters.types import (
    ExportedModel,
    ExportError,
    NotBenchmarkable,
    TensorSpec,
    load_reference,
)
from exporters.worker import export
from tests.exporters.support import WorkerProcess, only_reference
from tests.files.measured import KINDS
from tests.shapes.table import SHAPES, Shape, drawn, session

BY_NAME = {kind.name: kind for kind in KINDS}


def exported(name: str, folder: Path, *points: dict[str, int]) -> ExportedModel:
    folder.mkdir(exist_ok=True)
    path = BY_NAME[name].build(folder)
    request = ExportRequest(str(path), points=points, cache_dir=str(folder / "cache"))
    return export(request)[0]


def test_texts_are_drawn_from_the_encoders_own_categories(tmp_path: Path) -> None:
    model = exported("pipeline-zipped", tmp_path, {"batch": 40})
    values = only_reference(model)
    assert set(values.inputs["city"].ravel()) == {"Berlin", "Lima", "Oslo"}
    assert values.inputs["age"].shape == (40, 1)
    assert set(values.outputs["label"]) <= {"no", "yes"}
    assert values.outputs["probabilities.lengths"].tolist() == [2] * 40
    assert values.outputs["probabilities.keys"].tolist() == ["no", "yes"] * 40
    sums = values.outputs["probabilities.values"].reshape(40, 2).sum(1)
    assert np.allclose(sums, 1.0, atol=1e-5)


NARROW = {
    f"ends-{end}": name
    for end, name in (
        ("bfloat16", "bfloat16"),
        ("float8", "float8e4m3fn"),
        ("float8-wide", "float8e5m2"),
        ("float8-unsigned-zero", "float8e4m3fnuz"),
        ("float8-wide-unsigned-zero", "float8e5m2fnuz"),
        ("int4", "int4"),
        ("uint4", "uint4"),
    )
}


@pytest.mark.parametrize("name", NARROW)
def test_types_that_numpy_lacks_are_drawn_as_their_values(name: str, tmp_path: Path) -> None:
    """The graph doubles its input, which is exact in each of these types."""
    model = exported(name, tmp_path, {"batch": 3})
    arrays = only_reference(model)
    x, y = arrays.inputs["x"], arrays.outputs["y"]
    narrow = NARROW_TYPES[NARROW[name]]
    assert (model.inputs[0].element, model.outputs[0].element) == (NARROW[name], NARROW[name])
    assert x.dtype == y.dtype == np.dtype(narrow.held_as)
    assert len(np.unique(x)) > 1
    assert np.array_equal(narrow.round(x), x)
    assert np.array_equal(y, 2 * x)


@pytest.mark.parametrize(
    ("name", "axis"),
    [("ends-bfloat16", "batch"), ("text-joined", "n"), ("sequence-output", "batch")],
)
def test_what_is_no_array_of_numbers_has_no_null_twin(name: str, axis: str, tmp_path: Path) -> None:
    point = {axis: 2}
    model = exported(name, tmp_path, point)
    request = ExportRequest(
        model.name, points=(point,), cache_dir=str(tmp_path / "cache"), null_of=model
    )
    with pytest.raises(NotBenchmarkable, match="no-op copy"):
        export(request)


@pytest.mark.parametrize("past", [0, 12])
def test_positions_and_masks_agree_with_the_cache(past: int, tmp_path: Path) -> None:
    sizes = {"batch_size": 1, "sequence_length": 4, "past_sequence_length": past}
    sizes["total_sequence_length"] = past + 4
    values = only_reference(exported("decoder-positions", tmp_path, sizes))
    assert values.inputs["attention_mask"].tolist() == [[1] * (past + 4)]
    assert values.inputs["position_ids"].tolist() == [[past, past + 1, past + 2, past + 3]]
    assert values.inputs["past_key_values.0.key"].shape == (1, 2, past, 16)
    assert values.inputs["input_ids"].max() < 97, "the vocabulary's size"
    assert values.outputs["present.1.value"].shape == (1, 2, past + 4, 16)


@pytest.mark.parametrize(("total", "warned"), [(9, []), (100, [(100, 9)])])
def test_a_total_that_is_no_sum_is_told(
    total: int, warned: list[tuple[int, int]], tmp_path: Path
) -> None:
    sizes = {"batch_size": 1, "sequence_length": 1, "past_sequence_length": 8}
    reply = exported("decoder-positions", tmp_path, sizes | {"total_sequence_length": total})
    found = [w.parameters for w in reply.warnings if w.code == "axis_is_no_sum"]
    assert [(values["size"], values["total"]) for values in found] == warned


def test_lengths_that_are_inputs_count_the_cache_and_the_new_tokens(tmp_path: Path) -> None:
    values = only_reference(
        exported("direct-lengths", tmp_path, {"batch": 3, "sequence": 1, "past": 5})
    )
    assert values.inputs["seqlens_k"].tolist() == [5, 5, 5]
    assert values.inputs["total_sequence_length"] == 6


def test_a_contradictory_combination_of_sizes_costs_its_own_point(tmp_path: Path) -> None:
    common = {"batch": 1, "sequence": 2, "past_sequence": 3}
    fitting = {**common, "past_sequence + sequence": 5}
    contradicting = {**common, "past_sequence + sequence": 9}
    model = exported("joined-cache", tmp_path, contradicting, fitting)
    assert len(model.references) == 2 and len(model.unfit) == 1
    assert model.at(contradicting).unfit_at
    assert not model.at(fitting).unfit_at
    with pytest.raises(ExportError):
        exported("joined-cache", tmp_path / "none", {**common, "batch": 0})


@pytest.mark.parametrize(
    ("name", "reference"),
    [("normalised-extended", "onnxruntime unoptimised"), ("attribute-unknown", "onnx")],
)
def test_what_the_checker_rejects_is_marked_and_exported(
    name: str, reference: str, tmp_path: Path
) -> None:
    """The engine opens the one, ONNX's evaluator the other: each engine says itself if it can."""
    model = exported(name, tmp_path, {"batch": 1})
    (warning,) = [entry for entry in model.warnings if entry.code == "checker_rejects_graph"]
    assert ("onnxruntime_note" in str(warning.parameters["objection"])) == (reference == "onnx")
    assert model.reference == reference and not model.unfit_at


def test_the_engines_own_format_is_not_converted(tmp_path: Path) -> None:
    request = ExportRequest(
        str(BY_NAME["ort-dense"].build(tmp_path)), cache_dir=str(tmp_path / "c")
    )
    for asked in (replace(request, precision="fp16"), replace(request, from_nodes=("a",))):
        with pytest.raises(ExportError) as refusal:
            export(asked)
        assert refusal.value.status == "unsupported"


def test_structured_values_become_arrays_and_inputs_become_values(tmp_path: Path) -> None:
    maps = [{"b": 2.0, "a": 1.0}, {"c": 3.0}]
    arrays = arrays_of("y", maps)
    assert arrays["y.lengths"].tolist() == [2, 1]
    assert arrays["y.keys"].tolist() == ["a", "b", "c"]
    assert arrays["y.values"].tolist() == [1.0, 2.0, 3.0]
    assert {n: a.tolist() for n, a in arrays_of("s", [np.ones(2), np.zeros(1)]).items()} == {
        "s.length": 2,
        "s[0]": [1.0, 1.0],
        "s[1]": [0.0],
    }
    model = exported("map-input", tmp_path / "map")
    input_arrays = only_reference(model).inputs
    input_values: Any = values_of(model.inputs, input_arrays)["x"]
    assert input_values.keys() == {"age", "height"}
    sequence = exported("sequence-input", tmp_path / "sequence", {"batch": 2})
    entries: Any = values_of(sequence.inputs, only_reference(sequence).inputs)["x"]
    assert [entry.shape for entry in entries] == [(2, 4), (2, 4)]


def test_texts_must_be_equal() -> None:
    expected = np.array(["yes", "no"])
    bound = Bound(0.5)
    assert bound.holds(difference(np.array(["yes", "no"]), expected), expected)
    assert not bound.holds(difference(np.array(["yes", "maybe"]), expected), expected)
    assert not bound.holds(difference(np.array([1.0, 2.0]), expected), expected)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_public_shape_is_fed_with_what_it_takes(shape: Shape, tmp_path: Path) -> None:
    found = drawn(shape, tmp_path)
    outputs = session(found.path).run(None, found.inputs)
    assert all(output.size for output in outputs)
    assert not found.model.unfit


def test_a_threshold_that_no_score_reaches_is_lowered_and_said(tmp_path: Path) -> None:
    shape = next(shape for shape in SHAPES if "limits as inputs" in shape.name)
    found = drawn(shape, tmp_path)
    assert found.inputs["score_threshold"] == np.float32(0.05)
    (said,) = (spec for spec in found.model.inputs if spec.name == "score_threshold")
    assert said.fill == ((0.05,),)
    assert said.assumed == "threshold"


ROWS = 40
IDS = "(int64[batch,5] ids) => (float[] y) { y = Gather(table, ids) }"


def _save(path: Path, text: str, constants: dict[str, object] | None = None) -> Path:
    """A graph of ONNX's text whose last node gives the output `y`."""
    graph = parser.parse_graph(f"meaning {text}")
    arrays = {"table": np.random.default_rng(0).standard_normal((ROWS, 3)).astype(np.float32)}
    arrays |= {name: np.asarray(value) for name, value in (constants or {}).items()}
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


def _inputs_of(path: Path) -> dict[str, TensorSpec]:
    return {spec.name: spec for spec in inspect(path).inputs}


INDEXED: dict[str, tuple[str, dict[str, object], tuple[int, int]]] = {
    "directly": ("i = Identity(ids)", {}, (0, 39)),
    "behind an Add": ("i = Add(ids, c)", {"c": np.int64(2)}, (-2, 37)),
    "behind a Sub": ("i = Sub(ids, c)", {"c": np.int64(3)}, (3, 42)),
    "behind a Mul": ("i = Mul(ids, c)", {"c": np.int64(3)}, (0, 13)),
    "behind Clip, Cast and Unsqueeze": (
        "a = Clip(ids, low, high) b = Cast <to = 6> (a) i = Unsqueeze(b, axes)",
        {"low": np.int64(0), "high": np.int64(9), "axes": np.array([2])},
        (0, 9),
    ),
    "columns with an offset each": (
        "i = Add(ids, offsets)",
        {"offsets": np.array([0, 5, 10, 20, 30])},
        (0, 9),
    ),
    "with negative ones made positive": (
        "negative = Less(ids, zero) end = Add(ids, rows) i = Where(negative, end, ids)",
        {"zero": np.int64(0), "rows": np.int64(ROWS)},
        (0, 39),
    ),
}


@pytest.mark.parametrize("name", INDEXED)
def test_ids_are_drawn_from_the_table_that_they_index_wherever_it_lies(
    worker: WorkerProcess, tmp_path: Path, name: str
) -> None:
    index, constants, drawn = INDEXED[name]
    text = f"(int64[batch,5] ids) => (float[] y) {{ {index} y = Gather(table, i) }}"
    path = _save(tmp_path / "ids.onnx", text, constants)
    spec = _inputs_of(path)["ids"]
    assert (spec.low, spec.high) == (drawn[0], drawn[1] + 1)
    model = worker.export(ExportRequest(str(path), points=({"batch": 400},)))
    ids = load_reference(model.references["batch=400"]).inputs["ids"]
    assert (ids.min(), ids.max()) == drawn


def test_a_language_models_inputs_are_drawn_by_their_names(tmp_path: Path) -> None:
    names = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    inputs = ", ".join(f"int64[batch,sequence] {name}" for name in names)
    nodes = " ".join(f"e{place} = Gather(table, {name})" for place, name in enumerate(names))
    text = f"({inputs}) => (float[] y) {{ {nodes} y = Sum(e0, e1, e2, e3) }}"
    specs = _inputs_of(_save(tmp_path / "bert.onnx", text))
    assert (specs["input_ids"].low, specs["input_ids"].high) == (0, ROWS)
    assert specs["attention_mask"].fill == ((1,),)
    assert specs["token_type_ids"].fill == ((0,),)
    assert specs["position_ids"].count_up


def test_positions_count_up_and_are_told(worker: WorkerProcess, tmp_path: Path) -> None:
    text = "(int64[batch,sequence] position_ids) => (float[] y) { y = Gather(table, position_ids) }"
    path = _save(tmp_path / "p.onnx", text)
    point = {"batch": 2, "sequence": ROWS + 2}
    model = worker.export(ExportRequest(str(path), points=(point,)))
    ids = only_reference(model).inputs["position_ids"]
    assert ids.tolist() == [[*range(ROWS), 0, 1]] * 2
    assert model.inputs_drawn == "position_ids 0, 1, 2 …"


def test_a_mask_of_what_is_padded_hides_nothing(tmp_path: Path) -> None:
    text = """(bool[1,4] src_key_padding_mask, bool[4] mask) => (float[] y) {
        m = Or(src_key_padding_mask, mask)
        y = Cast <to = 1> (m)
    }"""
    specs = _inputs_of(_save(tmp_path / "m.onnx", text))
    assert (specs["src_key_padding_mask"].fill, specs["mask"].fill) == (((0,),), ((1,),))


def _loop(path: Path, name: str = "n") -> Path:
    """y = x, and x once more in each run of the body."""
    return _save(
        path,
        f"""(int64[1] {name}, bool go_on, float[3] x) => (float[3] y) {{
        trips = Squeeze({name})
        y = Loop <body = body (int64 i, bool go, float[3] state) => (bool on, float[3] next) {{
            on = Identity(go) next = Add(state, x)
        }}> (trips, go_on, x)
    }}""",
    )


def test_a_loop_runs_as_often_as_usual_and_the_row_says_that_its_count_was_a_guess(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    path = _loop(tmp_path / "loop.onnx")
    model = worker.export(ExportRequest(str(path)))
    guessed = {"n": "128", "go_on": "1"}
    assert [*model.warnings] == [
        diagnostic("input_guessed", name, values=values) for name, values in guessed.items()
    ]
    reference = only_reference(model)
    np.testing.assert_allclose(reference.outputs["y"], reference.inputs["x"] * 129, rtol=1e-5)
    ranges = {"n": (5.0, 5.0), "go_on": (1.0, 1.0)}
    exported_model = worker.export(ExportRequest(str(path), input_range=ranges))
    assert exported_model.warnings == ()
    assert exported_model.inputs_drawn == "n 5, go_on 1, x normal"
    reference = load_reference(exported_model.references["-"])
    np.testing.assert_allclose(reference.outputs["y"], reference.inputs["x"] * 6, rtol=1e-5)


def test_ids_that_a_table_does_not_have_are_refused_in_one_sentence(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    path = _save(tmp_path / "ids.onnx", IDS)
    file = tmp_path / "mine.npz"
    np.savez(file, ids=np.array([[0, 1, 2, 3, ROWS]]))
    reason = worker.ask(ExportRequest(str(path), inputs=str(file))).reason
    assert "40" in reason and "0 to 39" in reason
    np.savez(file, ids=np.array([[0, 1, 2, 3, -ROWS]]))
    assert worker.ask(ExportRequest(str(path), inputs=str(file))).status == "ok"
    beyond = worker.ask(ExportRequest(str(path), input_range={"ids": (0, ROWS)}))
    misnamed = worker.ask(ExportRequest(str(path), input_range={"idx": (0, 1)}))
    assert beyond.status == misnamed.status == "export_failed"
    assert "ids=0:39" in beyond.reason and "'ids'" in misnamed.reason


def test_a_name_that_is_no_text_is_a_row_with_a_reason(tmp_path: Path) -> None:
    path = _save(tmp_path / "ids.onnx", IDS)
    path.write_bytes(path.read_bytes().replace(b"ids", b"i\xff\xfe"))
    with pytest.raises(ExportError, match="an input or output whose name is no text"):
        inspect(path)
