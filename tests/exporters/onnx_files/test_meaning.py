"""What is drawn for a user's graph means something to it: ids, masks, positions, counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from exporters.diagnostics.catalogue import diagnostic
from exporters.messages import ExportRequest
from exporters.onnx_files.model_io import inspect
from exporters.types import ExportError, TensorSpec, load_reference
from tests.exporters.support import WorkerProcess

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


@pytest.mark.parametrize(
    ("index", "constants", "drawn"),
    [
        pytest.param("i = Identity(ids)", {}, (0, 39), id="directly"),
        pytest.param("i = Add(ids, c)", {"c": np.int64(2)}, (-2, 37), id="behind an Add"),
        pytest.param("i = Sub(ids, c)", {"c": np.int64(3)}, (3, 42), id="behind a Sub"),
        pytest.param("i = Mul(ids, c)", {"c": np.int64(3)}, (0, 13), id="behind a Mul"),
        pytest.param(
            "a = Clip(ids, low, high) b = Cast <to = 6> (a) i = Unsqueeze(b, axes)",
            {"low": np.int64(0), "high": np.int64(9), "axes": np.array([2])},
            (0, 9),
            id="behind Clip, Cast and Unsqueeze",
        ),
        pytest.param(
            "i = Add(ids, offsets)",
            {"offsets": np.array([0, 5, 10, 20, 30])},
            (0, 9),
            id="columns with an offset each",
        ),
        pytest.param(
            "negative = Less(ids, zero) end = Add(ids, rows) i = Where(negative, end, ids)",
            {"zero": np.int64(0), "rows": np.int64(ROWS)},
            (0, 39),
            id="with negative ones made positive",
        ),
    ],
)
def test_ids_are_drawn_from_the_table_that_they_index_wherever_it_lies(
    worker: WorkerProcess,
    tmp_path: Path,
    index: str,
    constants: dict[str, object],
    drawn: tuple[int, int],
) -> None:
    text = f"(int64[batch,5] ids) => (float[] y) {{ {index} y = Gather(table, i) }}"
    path = _save(tmp_path / "ids.onnx", text, constants)
    spec = _inputs_of(path)["ids"]
    assert (spec.low, spec.high) == (drawn[0], drawn[1] + 1)
    model = worker.ask(ExportRequest(str(path), points=({"batch": 400},))).model
    assert model is not None
    assert model.inputs_drawn == f"ids {drawn[0]}..{drawn[1]}"
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
    model = worker.ask(ExportRequest(str(path), points=(point,))).model
    assert model is not None
    (file,) = model.references.values()
    ids = load_reference(file).inputs["position_ids"]
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
    model = worker.ask(ExportRequest(str(path))).model
    assert model is not None
    guessed = {"n": "128", "go_on": "1"}
    assert [*model.warnings] == [
        diagnostic("input_guessed", name, values=values) for name, values in guessed.items()
    ]
    (file,) = model.references.values()
    reference = load_reference(file)
    np.testing.assert_allclose(reference.outputs["y"], reference.inputs["x"] * 129, rtol=1e-5)
    ranges = {"n": (5.0, 5.0), "go_on": (1.0, 1.0)}
    exported_model = worker.ask(ExportRequest(str(path), input_range=ranges)).model
    assert exported_model is not None
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
    assert reason == (
        "'ids' in mine.npz has the id 40, and the tables that it indexes have 0 to 39: "
        "give ids that they have"
    )
    np.savez(file, ids=np.array([[0, 1, 2, 3, -ROWS]]))
    assert worker.ask(ExportRequest(str(path), inputs=str(file))).status == "ok"
    range_reason = worker.ask(ExportRequest(str(path), input_range={"ids": (0, ROWS)})).reason
    assert "give --input-range ids=0:39" in range_reason
    name_reason = worker.ask(ExportRequest(str(path), input_range={"idx": (0, 1)})).reason
    assert "has no input 'idx', which --input-range names: did you mean 'ids'?" in name_reason


def test_a_range_bounds_a_float_and_packaged_data_gives_way_to_it(
    worker: WorkerProcess, affine: Path
) -> None:
    request = ExportRequest(str(affine), points=({"batch": 3},), input_range={"x": (2.0, 3.0)})
    model = worker.ask(request).model
    assert model is not None
    x = load_reference(model.references["batch=3"]).inputs["x"]
    assert 2.0 <= x.min() < x.max() <= 3.0
    assert model.inputs_drawn == "x 2..3"


def test_a_name_that_is_no_text_is_a_row_with_a_reason(tmp_path: Path) -> None:
    path = _save(tmp_path / "ids.onnx", IDS)
    path.write_bytes(path.read_bytes().replace(b"ids", b"i\xff\xfe"))
    with pytest.raises(ExportError, match="an input or output whose name is no text"):
        inspect(path)
