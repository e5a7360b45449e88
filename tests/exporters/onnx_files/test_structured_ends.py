"""Texts, sequences, maps and caches of a user's file: what is drawn and what is expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters.agreement import Bound, difference
from exporters.messages import ExportRequest
from exporters.narrow_types import NARROW_TYPES
from exporters.structured import arrays_of, values_of
from exporters.types import (
    ExportedModel,
    ExportError,
    NotBenchmarkable,
    Reference,
    load_reference,
)
from exporters.worker.export import export
from tests.files.measured import KINDS

BY_NAME = {kind.name: kind for kind in KINDS}


def exported(name: str, folder: Path, *points: dict[str, int]) -> ExportedModel:
    folder.mkdir(exist_ok=True)
    path = BY_NAME[name].build(folder)
    request = ExportRequest(str(path), points=points, cache_dir=str(folder / "cache"))
    return export(request)[0]


def reference(model: ExportedModel) -> Reference:
    (file,) = model.references.values()
    return load_reference(file)


def test_texts_are_drawn_from_the_encoders_own_categories(tmp_path: Path) -> None:
    model = exported("pipeline-zipped", tmp_path, {"batch": 40})
    values = reference(model)
    assert set(values.inputs["city"].ravel()) == {"Berlin", "Lima", "Oslo"}
    assert values.inputs["age"].shape == (40, 1)
    assert set(values.outputs["label"]) <= {"no", "yes"}
    assert values.outputs["probabilities.lengths"].tolist() == [2] * 40
    assert values.outputs["probabilities.keys"].tolist() == ["no", "yes"] * 40
    sums = values.outputs["probabilities.values"].reshape(40, 2).sum(1)
    assert np.allclose(sums, 1.0, atol=1e-5)


NARROW = {
    "ends-bfloat16": "bfloat16",
    "ends-float8": "float8e4m3fn",
    "ends-float8-wide": "float8e5m2",
    "ends-float8-unsigned-zero": "float8e4m3fnuz",
    "ends-float8-wide-unsigned-zero": "float8e5m2fnuz",
    "ends-int4": "int4",
    "ends-uint4": "uint4",
}


@pytest.mark.parametrize("name", NARROW)
def test_types_that_numpy_lacks_are_drawn_as_their_values(name: str, tmp_path: Path) -> None:
    """The graph doubles its input, which is exact in each of these types."""
    model = exported(name, tmp_path, {"batch": 3})
    arrays = reference(model)
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
    values = reference(exported("decoder-positions", tmp_path, sizes))
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
    values = reference(exported("direct-lengths", tmp_path, {"batch": 3, "sequence": 1, "past": 5}))
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


def test_a_batch_cannot_be_empty(tmp_path: Path) -> None:
    with pytest.raises(ExportError):
        exported("joined-cache", tmp_path, {"batch": 0, "sequence": 1, "past_sequence": 1})


def test_what_the_checker_rejects_and_the_engine_opens_is_marked(tmp_path: Path) -> None:
    model = exported("normalised-extended", tmp_path, {"batch": 1})
    assert [warning.code for warning in model.warnings] == ["checker_rejects_graph"]
    assert model.reference == "onnxruntime unoptimised"


def test_a_file_that_the_engine_refuses_too_quotes_it(tmp_path: Path) -> None:
    """ONNX's evaluator takes it: which engine does is for each of them to say."""
    model = exported("attribute-unknown", tmp_path, {"batch": 1})
    (warning,) = [entry for entry in model.warnings if entry.code == "checker_rejects_graph"]
    assert "onnxruntime_note" in str(warning.parameters["objection"])
    assert not model.unfit_at


@pytest.mark.parametrize("option", ["precision", "from_nodes"])
def test_the_engines_own_format_is_not_converted(option: str, tmp_path: Path) -> None:
    path = BY_NAME["ort-dense"].build(tmp_path)
    values = {"precision": "fp16"} if option == "precision" else {"from_nodes": ("a",)}
    with pytest.raises(ExportError) as refusal:
        export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache"), **values))
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
    input_arrays = reference(model).inputs
    input_values: Any = values_of(model.inputs, input_arrays)["x"]
    assert input_values.keys() == {"age", "height"}
    sequence = exported("sequence-input", tmp_path / "sequence", {"batch": 2})
    entries: Any = values_of(sequence.inputs, reference(sequence).inputs)["x"]
    assert [entry.shape for entry in entries] == [(2, 4), (2, 4)]


def test_texts_must_be_equal() -> None:
    expected = np.array(["yes", "no"])
    bound = Bound(0.5)
    assert bound.holds(difference(np.array(["yes", "no"]), expected), expected)
    assert not bound.holds(difference(np.array(["yes", "maybe"]), expected), expected)
    assert not bound.holds(difference(np.array([1.0, 2.0]), expected), expected)
