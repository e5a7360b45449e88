"""Inputs in the forms that users have them: folders of sets, and data that lies beside a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from exporters.input_sets import input_sets
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, ExportError, TensorSpec, load_reference
from exporters.user_arrays import axes_of, own_inputs
from exporters.worker.export import export
from tests.exporters.support import graph, tensor

SPECS = (TensorSpec("a", "float32", ("n", 2)), TensorSpec("b", "int64", ("n",)))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))


def _arrays(value: int) -> dict[str, np.ndarray]:
    return {"a": np.full((3, 2), value, np.float32), "b": np.full(3, value)}


def _npz(folder: Path, name: str, value: int) -> None:
    np.savez(folder / f"{name}.npz", **_arrays(value))  # type: ignore[arg-type]


def _pb(folder: Path, name: str, value: int) -> None:
    (folder / name).mkdir()
    for place, array in enumerate(_arrays(value).values()):
        onnx.save_tensor(numpy_helper.from_array(array), folder / name / f"input_{place}.pb")


def _npy(folder: Path, name: str, value: int) -> None:
    (folder / name).mkdir()
    for key, array in _arrays(value).items():
        np.save(folder / name / f"{key}.npy", array)


@pytest.mark.parametrize("save", [_npz, _pb, _npy])
def test_a_folder_holds_sets_in_the_order_of_their_numbers(
    save: Callable[[Path, str, int], None], tmp_path: Path
) -> None:
    folder = tmp_path / "sets"
    folder.mkdir()
    for value in (10, 2, 0):
        save(folder, f"set_{value}", value)
    (folder / "notes").mkdir()
    paths = input_sets(folder)
    assert [path.stem for path in paths] == ["set_0", "set_2", "set_10"]
    assert paths == input_sets(folder), "the same arrays are the same file"
    for value, path in zip((0, 2, 10), paths, strict=True):
        assert axes_of(path, SPECS) == {"n": 3}
        read = own_inputs(path, SPECS, {"n": 3})
        assert all(np.array_equal(read[name], array) for name, array in _arrays(value).items())
    if save is not _npz:
        (alone,) = input_sets(folder / "set_2")
        assert alone == paths[1]


def test_folders_that_hold_no_set_are_refused_with_what_helps(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"without inputs.*: give"):
        input_sets(tmp_path)
    _pb(tmp_path, "gap", 1)
    (tmp_path / "gap" / "input_0.pb").unlink()
    with pytest.raises(ExportError, match=r"no input_0\.pb"):
        input_sets(tmp_path / "gap")
    (tmp_path / "gap" / "input_0.pb").write_bytes(b"\xff none")
    with pytest.raises(ExportError, match=r"input_0\.pb is not a readable tensor"):
        input_sets(tmp_path / "gap")
    _npy(tmp_path, "damaged", 1)
    (tmp_path / "damaged" / "a.npy").write_bytes(b"none")
    with pytest.raises(ExportError, match=r"a\.npy is not a readable array"):
        input_sets(tmp_path / "damaged")
    _pb(tmp_path, "few", 1)
    (tmp_path / "few" / "input_1.pb").unlink()
    with pytest.raises(ExportError, match="few has 1 arrays, and the graph has 2 inputs"):
        axes_of(input_sets(tmp_path / "few")[0], SPECS)


def _export(path: Path, size: int = 3, **rest: object) -> ExportedModel:
    request = ExportRequest(str(path), points=({"n": size},), **rest)  # type: ignore[arg-type]
    return export(request)[0]


def _fed(model: ExportedModel, size: int = 3) -> Mapping[str, np.ndarray]:
    return load_reference(model.references[f"n={size}"]).inputs


@pytest.fixture
def scaled(tmp_path: Path) -> Path:
    """y = a * b, row by row."""
    folder = tmp_path / "model"
    folder.mkdir()
    nodes = [
        helper.make_node("Cast", ["b"], ["float"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["float", "one"], ["column"]),
        helper.make_node("Mul", ["a", "column"], ["y"]),
    ]
    takes = [tensor("a", ["n", 2]), tensor("b", ["n"], onnx.TensorProto.INT64)]
    proto = graph(nodes, takes, [tensor("y", ["n", 2])], {"one": np.array([1])})
    onnx.save(proto, folder / "net.onnx")
    return folder / "net.onnx"


def test_an_npz_of_the_models_name_is_used_unless_something_else_is_given(scaled: Path) -> None:
    _npz(scaled.parent, "net", 7)
    beside = _export(scaled)
    assert np.array_equal(_fed(beside)["a"], _arrays(7)["a"])
    assert beside.input_files == ("net.npz",)
    _npz(scaled.parent, "mine", 9)
    given = _export(scaled, inputs=str(scaled.parent / "mine.npz"))
    assert np.array_equal(_fed(given)["a"], _arrays(9)["a"])
    assert given.input_files == ("mine.npz",)
    assert not _export(scaled, input_range={"b": (1.0, 2.0)}).input_files
    other_size = _export(scaled, 4)
    assert not other_size.input_files
    assert [entry.code for entry in other_size.warnings] == ["data_beside_unused"]


@pytest.mark.parametrize(
    "arrays", [{"w": np.ones(3)}, {"a": np.ones((3, 2)), "b": np.full(3, 0.5)}]
)
def test_a_file_beside_that_does_not_fit_is_not_used_and_said(
    arrays: dict[str, np.ndarray], scaled: Path
) -> None:
    np.savez(scaled.with_suffix(".npz"), **arrays)  # type: ignore[arg-type]
    model = _export(scaled)
    assert not model.input_files
    assert [entry.code for entry in model.warnings] == ["data_beside_unused"]


def test_a_data_set_without_outputs_is_fed(scaled: Path) -> None:
    _pb(scaled.parent, "test_data_set_0", 5)
    model = _export(scaled)
    assert np.array_equal(_fed(model)["b"], _arrays(5)["b"])
    assert model.input_files == ("test_data_set_0",)


ROWS = [[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    ("example", "where"),
    [
        ({"inputs": {"a": ROWS, "b": [1, 2, 3]}}, "."),
        ({"inputs": {"a": ROWS, "b": [1, 2, 3]}}, ".."),
        ({"a": ROWS, "b": [1, 2, 3]}, "."),
        ({"columns": ["b", "a"], "data": [[n + 1, row] for n, row in enumerate(ROWS)]}, "."),
        (
            {"dataframe_split": {"index": [0, 1, 2], "columns": ["a", "b"],
                                 "data": [[row, n + 1] for n, row in enumerate(ROWS)]}},
            ".",
        ),
    ],
)  # fmt: skip
def test_mlflows_example_is_fed(example: dict[str, object], where: str, scaled: Path) -> None:
    folder = scaled.parent / where
    (folder / "MLmodel").write_text("flavors: {}\n")
    (folder / "input_example.json").write_text(json.dumps(example))
    model = _export(scaled)
    fed = _fed(model)
    assert fed["a"].tolist() == ROWS and fed["b"].tolist() == [1, 2, 3]
    assert model.input_files == ("input_example.json",)


@pytest.mark.parametrize("text", ["[", '"text"', '{"inputs": [[1], [2, 3]]}', "{}"])
def test_an_example_that_is_none_is_not_used(text: str, scaled: Path) -> None:
    (scaled.parent / "input_example.json").write_text(text)
    model = _export(scaled)
    assert not model.input_files
    assert [entry.code for entry in model.warnings] == ["data_beside_unused"]


def test_columns_of_a_table_are_inputs_or_one_of_all_columns(tmp_path: Path) -> None:
    table = {"columns": ["age", "city"], "data": [[30, "Bern"], [40, "Genf"]]}
    types = (("age", onnx.TensorProto.FLOAT), ("city", onnx.TensorProto.STRING))
    takes = [tensor(name, ["n", 1], element) for name, element in types]
    gives = [tensor(f"{name}_out", ["n", 1], element) for name, element in types]
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name, _ in types]
    onnx.save(graph(nodes, takes, gives), tmp_path / "columns.onnx")
    (tmp_path / "input_example.json").write_text(json.dumps(table))
    model = _export(tmp_path / "columns.onnx", 2)
    assert model.input_files, model.warnings
    fed = _fed(model, 2)
    assert fed["age"].tolist() == [[30.0], [40.0]] and fed["city"].tolist() == [["Bern"], ["Genf"]]
    one = tmp_path / "one"
    one.mkdir()
    rows = {"columns": ["p", "q"], "data": [[1, 2], [3, 4]]}
    node = helper.make_node("Neg", ["x"], ["y"])
    onnx.save(graph([node], [tensor("x", ["n", 2])], [tensor("y", ["n", 2])]), one / "all.onnx")
    (one / "input_example.json").write_text(json.dumps(rows))
    assert _fed(_export(one / "all.onnx", 2), 2)["x"].tolist() == [[1, 2], [3, 4]]
