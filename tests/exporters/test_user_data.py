"""A user's own arrays, sets and ranges are fed as they are, or what does not fit is named."""

from __future__ import annotations

import io
import json
import resource
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from app.cases.errors import PlanError
from app.plan.expand import expand
from app.plan.models import reject_unusable
from app.plan.plan import parse_plan
from exporters.input_sets import input_sets
from exporters.inputs import in_ranges, seeded_inputs
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, ExportError, TensorSpec, load_reference
from exporters.user_arrays import axes_of, calibration, own_inputs
from exporters.worker import export
from tests.exporters.support import WorkerProcess, model_of, save_affine


def _export(path: Path, arrays: dict[str, np.ndarray], **rest: object) -> ExportedModel:
    file = path.parent / "mine.npz"
    np.savez(file, allow_pickle=False, **arrays)
    request = ExportRequest(str(path), inputs=str(file), cache_dir=str(path.parent / "c"), **rest)  # type: ignore[arg-type]
    return export(request)[0]


def test_own_inputs_are_what_is_measured_and_set_the_axes(affine: Path) -> None:
    weights = save_affine(affine)
    own_inputs = np.linspace(-1, 1, 3 * 64).reshape(3, 64)
    model = _export(affine, {"x": own_inputs})
    assert dict(model.axes) == {"batch": 3}
    reference = load_reference(model.references["batch=3"])
    assert np.array_equal(reference.inputs["x"], own_inputs.astype(np.float32))
    assert np.allclose(reference.outputs["y"], own_inputs @ weights, rtol=1e-4, atol=1e-4)
    other = _export(affine, {"x": -own_inputs})
    assert model.sha256 == other.sha256
    assert model.references != other.references


def test_own_inputs_feed_a_definition(worker: WorkerProcess, tmp_path: Path) -> None:
    file = tmp_path / "mine.npz"
    np.savez(file, x=np.full((2, 256), 0.5, np.float32))
    model = worker.export(ExportRequest("mlp", "fp16", points=({"batch": 2},), inputs=str(file)))
    reference = load_reference(model.references["batch=2"])
    assert np.array_equal(reference.inputs["x"], np.full((2, 256), 0.5, np.float16))


@pytest.mark.parametrize(
    ("arrays", "points"),
    [
        ({"xs": np.ones((1, 64))}, ()),
        ({}, ()),
        ({"x": np.ones((1, 63))}, ()),
        ({"x": np.ones(64)}, ()),
        ({"x": np.full((1, 64), "a")}, ()),
        ({"x": np.ones((1, 64), complex)}, ()),
        ({"x": np.ones((3, 64))}, ({"batch": 2},)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    affine: Path, arrays: dict[str, np.ndarray], points: tuple[dict[str, int], ...]
) -> None:
    with pytest.raises(ExportError):
        _export(affine, arrays, points=points)


def test_integers_keep_their_values_or_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ids.onnx"
    onnx.save(model_of("(int8[2] x) => (int8[2] y) { y = Identity(x) }"), path)
    model = _export(path, {"x": np.array([1, -2])})
    assert load_reference(model.references["-"]).inputs["x"].tolist() == [1, -2]
    for array in (np.array([1, 300]), np.array([0.5, 1.0])):
        with pytest.raises(ExportError):
            _export(path, {"x": array})


def test_arrays_that_give_one_axis_two_sizes(tmp_path: Path) -> None:
    file = tmp_path / "two.npz"
    np.savez(file, a=np.ones((2, 3)), b=np.ones((4, 3)))
    specs = [TensorSpec(name, "float32", ("batch", 3)) for name in "ab"]
    with pytest.raises(ExportError):
        axes_of(file, specs)


def test_calibration_is_cut_along_the_batch(tmp_path: Path) -> None:
    file = tmp_path / "samples.npz"
    np.savez(file, x=np.arange(12.0).reshape(4, 3), h=np.arange(8.0).reshape(1, 4, 2))
    x, h = TensorSpec("x", "float32", ("batch", 3)), TensorSpec("h", "float32", (1, "batch", 2))
    pieces = calibration(str(file), [x, h], {"batch": 1}, "batch").samples()
    assert [piece["x"].shape for piece in pieces] == [(1, 3)] * 4
    assert pieces[2]["x"].tolist() == [[6, 7, 8]]
    assert pieces[2]["h"].tolist() == [[[4, 5]]]
    np.savez(file, x=np.arange(12.0).reshape(4, 3))
    calibration_set = calibration(str(file), [TensorSpec("x", "float32", (2, 3))], {}, 2)
    assert [piece["x"].shape for piece in calibration_set.samples()] == [(2, 3)] * 2
    unfit = calibration(str(file), [TensorSpec("x", "float32", (3, 3))], {}, 3)
    with pytest.raises(ExportError):
        unfit.samples()


TYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"]
RANGES = [
    *((0.0, 1.0), (-1.0, 1.0), (0.5, 1.5), (0.0, 300.0), (0.0, 1e5), (0.0, 1e30), (-1e30, 0.0)),
    *((0.0, 1e300), (-8e307, 8e307), (9e18, 9.3e18), (-(2.0**63), 2.0**62)),
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ends", RANGES, ids=str)
def test_values_lie_in_the_range_or_it_is_refused(dtype: str, ends: tuple[float, float]) -> None:
    spec = TensorSpec("x", dtype, (1000,))
    try:
        (limited_spec,) = in_ranges([spec], {"x": ends}, "net.onnx")
    except ExportError as error:
        assert "--input-range x" in str(error)
        fits = dtype in ("float32", "float64") and max(map(abs, ends)) < 1e5
        assert not fits, "both hold it"
        return
    inputs = seeded_inputs([limited_spec], {}, 0)["x"]
    assert inputs.dtype == np.dtype(dtype)
    assert np.isfinite(inputs).all()
    values = [float(value) for value in inputs]
    assert ends[0] - 1e-3 <= min(values)
    assert max(values) <= ends[1] + 1e-3


SPECS = [TensorSpec("x", "float32", ("batch", 64))]


def header(shape: str, descr: str = "<f4") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def packed(path: Path, name: str, *parts: bytes) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        for part in parts:
            member.write(part)


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


ZEROS = [bytes(1 << 24)] * 16
"""256 MiB that is packed to some 1 MiB."""


@pytest.mark.parametrize("shape", ["(67108864,)", "(1048576, 64)", "(1, 67108864)"])
def test_shapes_are_read_without_what_is_packed(shape: str, tmp_path: Path) -> None:
    packed(tmp_path / "x.npz", "x.npy", header(shape), *ZEROS)
    peak_before = peak_mib()
    if shape == "(1048576, 64)":
        assert axes_of(tmp_path / "x.npz", SPECS) == {"batch": 1048576}
    else:
        with pytest.raises(ExportError):
            axes_of(tmp_path / "x.npz", SPECS)
    assert peak_mib() - peak_before < 100


LONG_HEADER = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1)


def _encrypt(path: Path) -> None:
    packed(path, "x.npy", header("(1, 64)"), bytes(256))
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + at] |= 1
    path.write_bytes(content)


def _plain_npy(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.ones((1, 64), np.float32))


@pytest.mark.parametrize(
    "write",
    [
        lambda path: packed(path, "x.txt", b"text"),
        lambda path: packed(path, "x.npy", b"text that is no array"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"PK\x03\x04 cut short"),
        lambda path: packed(path, "x.npy", LONG_HEADER, *ZEROS[:4]),
        lambda path: packed(path, "x.npy", header("(-1, 64)")),
        lambda path: packed(path, "x.npy", header("(2, 64)")[:-9]),
        lambda path: np.savez(path, x=np.array([{}], object)),
        _plain_npy,
        _encrypt,
    ],
    ids=range(10),
)
def test_what_is_no_array_is_refused(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write(path)
    with pytest.raises(ExportError):
        axes_of(path, SPECS)
    with pytest.raises(PlanError):
        reject_unusable(str(path))
    for key in ("inputs", "accuracy"):
        with pytest.raises(PlanError):
            sweep = {"models": ["mlp"], "runtimes": ["fake"]}
            expand(parse_plan({"sweeps": [sweep], key: str(path)}, "the plan"))


def test_labels_are_counted_without_the_images(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("images.npy", "w", force_zip64=True) as member:
            member.write(header("(4, 3, 4096, 4096)"))
        labels = io.BytesIO()
        np.save(labels, np.zeros(4096, np.int64))
        archive.writestr("labels.npy", labels.getvalue())
    reject_unusable(str(tmp_path / "a.npz"))
    np.savez(tmp_path / "scalar.npz", images=np.zeros((1, 3)), labels=np.int64(1))
    with pytest.raises(PlanError):
        reject_unusable(str(tmp_path / "scalar.npz"))


OF_A_SET = (TensorSpec("a", "float32", ("n", 2)), TensorSpec("b", "int64", ("n",)))


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
        assert axes_of(path, OF_A_SET) == {"n": 3}
        read = own_inputs(path, OF_A_SET, {"n": 3})
        assert all(np.array_equal(read[name], array) for name, array in _arrays(value).items())
    if save is not _npz:
        (alone,) = input_sets(folder / "set_2")
        assert alone == paths[1]


def test_folders_that_hold_no_set_are_refused(tmp_path: Path) -> None:
    def is_refused(name: str) -> None:
        with pytest.raises(ExportError):
            axes_of(input_sets(tmp_path / name)[0], OF_A_SET)

    is_refused(".")
    _pb(tmp_path, "gap", 1)
    (tmp_path / "gap" / "input_0.pb").unlink()
    is_refused("gap")
    (tmp_path / "gap" / "input_0.pb").write_bytes(b"\xff none")
    is_refused("gap")
    _npy(tmp_path, "damaged", 1)
    (tmp_path / "damaged" / "a.npy").write_bytes(b"none")
    is_refused("damaged")
    _pb(tmp_path, "few", 1)
    (tmp_path / "few" / "input_1.pb").unlink()
    is_refused("few")


def _export_set(path: Path, size: int = 3, **rest: object) -> ExportedModel:
    request = ExportRequest(str(path), points=({"n": size},), **rest)  # type: ignore[arg-type]
    return export(request)[0]


def _fed(model: ExportedModel, size: int = 3) -> Mapping[str, np.ndarray]:
    return load_reference(model.references[f"n={size}"]).inputs


@pytest.fixture
def scaled(tmp_path: Path) -> Path:
    """y = a * b, row by row."""
    folder = tmp_path / "model"
    folder.mkdir()
    text = """(float[n,2] a, int64[n] b) => (float[n,2] y) {
        f = Cast <to = 1> (b) column = Unsqueeze(f, one) y = Mul(a, column)
    }"""
    onnx.save(model_of(text, {"one": np.array([1])}), folder / "net.onnx")
    return folder / "net.onnx"


def test_an_npz_of_the_models_name_is_used_unless_something_else_is_given(scaled: Path) -> None:
    _npz(scaled.parent, "net", 7)
    beside = _export_set(scaled)
    assert np.array_equal(_fed(beside)["a"], _arrays(7)["a"])
    assert beside.input_files == ("net.npz",)
    _npz(scaled.parent, "mine", 9)
    given = _export_set(scaled, inputs=str(scaled.parent / "mine.npz"))
    assert np.array_equal(_fed(given)["a"], _arrays(9)["a"])
    assert given.input_files == ("mine.npz",)
    assert not _export_set(scaled, input_range={"b": (1.0, 2.0)}).input_files
    other_size = _export_set(scaled, 4)
    assert not other_size.input_files
    assert [entry.code for entry in other_size.warnings] == ["data_beside_unused"]


def test_a_data_set_without_outputs_is_fed(scaled: Path) -> None:
    _pb(scaled.parent, "test_data_set_0", 5)
    model = _export_set(scaled)
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
    model = _export_set(scaled)
    fed = _fed(model)
    assert fed["a"].tolist() == ROWS and fed["b"].tolist() == [1, 2, 3]
    assert model.input_files == ("input_example.json",)


@pytest.mark.parametrize(
    "beside",
    [
        *({"w": np.ones(3)}, {"a": np.ones((3, 2)), "b": np.full(3, 0.5)}),
        *("[", '"text"', '{"inputs": [[1], [2, 3]]}', "{}"),
    ],
    ids=range(6),
)
def test_a_file_beside_that_does_not_fit_is_not_used_and_said(
    beside: dict[str, np.ndarray] | str, scaled: Path
) -> None:
    if isinstance(beside, str):
        (scaled.parent / "input_example.json").write_text(beside)
    else:
        np.savez(scaled.with_suffix(".npz"), allow_pickle=False, **beside)
    model = _export_set(scaled)
    assert not model.input_files
    assert [entry.code for entry in model.warnings] == ["data_beside_unused"]


def test_columns_of_a_table_are_inputs_or_one_of_all_columns(tmp_path: Path) -> None:
    table = {"columns": ["age", "city"], "data": [[30, "Bern"], [40, "Genf"]]}
    columns = model_of("""(float[n,1] age, string[n,1] city) => (float[n,1] a, string[n,1] c) {
        a = Identity(age) c = Identity(city)
    }""")
    onnx.save(columns, tmp_path / "columns.onnx")
    (tmp_path / "input_example.json").write_text(json.dumps(table))
    model = _export_set(tmp_path / "columns.onnx", 2)
    assert model.input_files, model.warnings
    fed = _fed(model, 2)
    assert fed["age"].tolist() == [[30.0], [40.0]] and fed["city"].tolist() == [["Bern"], ["Genf"]]
    one = tmp_path / "one"
    one.mkdir()
    rows = {"columns": ["p", "q"], "data": [[1, 2], [3, 4]]}
    onnx.save(model_of("(float[n,2] x) => (float[n,2] y) { y = Neg(x) }"), one / "all.onnx")
    (one / "input_example.json").write_text(json.dumps(rows))
    assert _fed(_export_set(one / "all.onnx", 2), 2)["x"].tolist() == [[1, 2], [3, 4]]
