"""Values that cross a pipe or a journal come back whole; types that numpy lacks keep their bits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cases.jobs import AccuracyJob, OperatorJob, OperatorTimes
from app.cases.round import Check, MeasureJob, Progress, RoundResult
from app.cases.telemetry import Reading
from app.run_folder.journal import KINDS, Writer
from app.run_folder.live_status import Live
from app.run_folder.manifest import Manifest
from exporters.codec import CodecError, from_json, object_of, to_json
from exporters.messages import ExportReply, ExportRequest
from exporters.plain_arrays import NARROW_TYPES, widen
from exporters.types import Definition, StatePair, first_line
from tests.exporters.support import drawn

CROSSING = (
    AccuracyJob,
    Definition,
    ExportReply,
    ExportRequest,
    Live,
    Manifest,
    MeasureJob,
    OperatorJob,
    OperatorTimes,
    Progress,
    Reading,
    *KINDS.values(),
)


class Around(TypedDict, total=False):
    load: float | None
    cores: list[int]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A field of every form that the codec reads."""

    name: str
    count: int = 0
    ratio: float = 0.0
    on: bool = False
    limit: float | None = None
    option: bool | int | float | str = ""
    kind: Literal["one", "two"] = "one"
    only: Literal["this"] = "this"
    sizes: tuple[int, ...] = ()
    pair: tuple[str, int] = ("", 0)
    times: Mapping[str, float] | None = None
    words: frozenset[str] = frozenset()
    states: tuple[StatePair, ...] = ()
    around: Around = field(default_factory=Around)


def through_a_pipe(value: Any) -> Any:
    return from_json(type(value), json.loads(json.dumps(to_json(value))))


@pytest.mark.parametrize("kind", CROSSING)
@given(data=st.data())
@settings(max_examples=settings().max_examples // 6)
def test_a_value_arrives_as_it_was_sent(kind: type, data: st.DataObject) -> None:
    value = data.draw(drawn(kind))
    # The text also tells 1 from True and 1.0, and finds NaN equal to itself.
    assert repr(through_a_pipe(value)) == repr(value)


def test_a_record_of_an_earlier_version_gets_the_defaults() -> None:
    assert from_json(Damaged, {"name": "a"}) == Damaged("a")


def test_what_only_a_later_version_knows_of_an_object_with_known_keys_is_kept() -> None:
    later_fields = {"load": 1, "noise": {"deep": []}}
    assert from_json(Damaged, {"name": "a", "around": later_fields}).around == later_fields


def test_a_record_of_a_later_version_is_read_without_what_is_not_known() -> None:
    assert from_json(Damaged, {"name": "a", "colour": {"deep": []}}) == Damaged("a")


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ({"name": 3}, "name is 3, not a text"),
        ({"name": None}, "name is None, not a text"),
        ({"count": 1.5}, "count is 1.5, not an integer"),
        ({"count": True}, "count is True, not an integer"),
        ({"ratio": "abc"}, "ratio is 'abc', not a number"),
        ({"ratio": True}, "ratio is True, not a number"),
        ({"on": 1}, "on is 1, not true or false"),
        ({"limit": "no"}, "limit is 'no', not a number or null"),
        ({"option": None}, "option is None, not true or false or an integer or a number"),
        ({"kind": "three"}, "kind is 'three', not one of 'one', 'two'"),
        ({"kind": ["one"]}, "kind is ['one'], not one of 'one', 'two'"),
        ({"only": "that"}, "only is 'that', not 'this'"),
        ({"sizes": 4}, "sizes is 4, not a list"),
        ({"sizes": [1, 2, "3"]}, "sizes[2] is '3', not an integer"),
        ({"pair": ["a"]}, "pair is ['a'], not a list of 2"),
        ({"pair": ["a", "b"]}, "pair[1] is 'b', not an integer"),
        ({"times": []}, "times is [], not an object"),
        ({"times": {"compile": "1"}}, "times.compile is '1', not a number"),
        ({"words": ["a", 1]}, "words[1] is 1, not a text"),
        ({"states": [{"input": "h", "output": 1}]}, "states[0].output is 1, not a text"),
        ({"states": [{"input": "h"}]}, "states[0] has no 'output'"),
        ({"around": [1]}, "around is [1], not an object"),
        ({"around": {"load": "high"}}, "around.load is 'high', not a number or null"),
        ({"around": {"cores": [0, "1"]}}, "around.cores[1] is '1', not an integer"),
        ({"count": 2**63}, "count is 9223372036854775808, not a number of this size"),
        ({"option": -(2**63) - 1}, "option is -9223372036854775809, not a number of this size"),
    ],
)
def test_damage_is_named_with_its_place_and_what_is_wanted(
    field: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(CodecError, match=re.escape(f"line.{sentence}")):
        from_json(Damaged, {"name": "a", **field}, "line")


@pytest.mark.parametrize(
    ("data", "sentence"), [({}, "Damaged has no 'name'"), ([], r"Damaged is \[\], not an object")]
)
def test_damage_of_the_whole_is_named_by_its_type(data: object, sentence: str) -> None:
    with pytest.raises(CodecError, match=sentence):
        from_json(Damaged, data)


def test_a_number_beyond_all_floats_is_damage_and_no_crash() -> None:
    with pytest.raises(CodecError, match=r"ratio is 1000.*, not a number of this size"):
        from_json(Damaged, {"name": "a", "ratio": 10**400})


def test_a_damaged_value_of_any_size_makes_a_short_sentence() -> None:
    with pytest.raises(CodecError) as caught:
        from_json(Damaged, {"name": ["long"] * 10_000})
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("line", ["[" * 100_000, '{"a":' * 100_000, "5", "null", "{", b"\xff\xfe"])
def test_a_line_that_is_no_object_says_nothing(line: str | bytes) -> None:
    """An engine may print anything, and what it prints must not end the sweep."""
    assert object_of(line) == {}


def test_what_has_no_form_in_json_is_refused_where_it_is_written() -> None:
    with pytest.raises(CodecError, match="a value of type ndarray has no form in JSON"):
        to_json({"samples": np.zeros(2)})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_read_only_where_they_mean_something(number: float) -> None:
    reading = {"time_ns": 1, "device": "cpu", "power_w": number}
    assert from_json(Reading, reading).power_w is not None
    with pytest.raises(CodecError, match=r"power_w is .*, not a finite number"):
        from_json(Reading, reading, finite=True)
    journal_entry = {"case_id": "a", "round": 0, "status": "ok", "phases_ms": {"compile": number}}
    with pytest.raises(CodecError, match=r"phases_ms\.compile"):
        from_json(RoundResult, journal_entry, finite=True)
    errors = to_json(Check("torch", number, number, number, 1e-4, False))
    wrong = {"case_id": "a", "round": 0, "status": "wrong_output", "check": errors}
    check = from_json(RoundResult, wrong, finite=True).check
    assert check is not None
    assert not any(map(math.isfinite, (check.max_abs_error, check.max_rel_error, check.cosine)))
    with pytest.raises(CodecError, match=r"check\.tolerance"):
        from_json(RoundResult, {**wrong, "check": {**errors, "tolerance": number}}, finite=True)


def test_a_value_of_any_type_is_refused_where_it_is_nested_too_deep() -> None:
    deep: Any = 0
    for number in range(500):
        deep = {"a": deep} if number % 2 else [deep]
    texts = dict.fromkeys(("writer", "host", "graphlap_version", "run_id", "manifest"), "w")
    line = {**texts, "pid": 1, "environment": {}}
    assert from_json(Writer, line)
    with pytest.raises(CodecError, match=r"environment\.x is nested more than"):
        from_json(Writer, {**line, "environment": {"x": deep}})


PLACE = "/onnxruntime_src/onnxruntime/core"


@pytest.mark.parametrize(
    ("raised", "left"),
    [
        (
            f"[ONNXRuntimeError] : 1 : FAIL : Load model from a.onnx failed:{PLACE}/model.cc:256 "
            "onnxruntime::Model::Model(onnx::ModelProto&&, const Logger&) Unsupported version: 99",
            "Unsupported version: 99",
        ),
        (
            "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while "
            f"running Reshape node. Name:'r' Status Message: {PLACE}/reshape_helper.h:47 "
            "onnxruntime::Reshape::Reshape(const Shape&, bool) a.size() == size was false. "
            "The tensor cannot be reshaped. Input shape:{2,3}",
            "The tensor cannot be reshaped. Input shape:{2,3}",
        ),
        (
            f"{PLACE}/string.cc:235 onnxruntime::Text::Locale(const std::string&)::<lambda()> "
            "Failed to construct it",
            "Failed to construct it",
        ),
        (f"{PLACE}/x.cc:1 std::C<T, void> onnxruntime::C(T) [with T = int] failure 1", "failure 1"),
        ("D:\\a\\core\\graph.cc:12 bad value (3 of 4)", "bad value (3 of 4)"),
        ("\x1b[31mno such node\x1b[0m\nand more", "no such node"),
        ("", "RuntimeError"),
        ("it ends here:\n\n  the sizes differ\n  here", "it ends here: the sizes differ"),
        ("ratio 3.4: see model.h5 (1 of 2)", "ratio 3.4: see model.h5 (1 of 2)"),
    ],
)
def test_an_engines_sentence_is_left_of_what_it_raises(raised: str, left: str) -> None:
    assert first_line(RuntimeError(raised)) == left


PACKAGE_TYPES = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "uint4": ml_dtypes.uint4,
    "int4": ml_dtypes.int4,
    "uint2": ml_dtypes.uint2,
    "int2": ml_dtypes.int2,
}
EACH = pytest.mark.parametrize("name", NARROW_TYPES)


@EACH
def test_a_type_has_the_number_and_values_of_onnx(name: str) -> None:
    narrow, dtype = NARROW_TYPES[name], PACKAGE_TYPES[name]
    assert narrow.number == getattr(onnx.TensorProto, name.upper())
    patterns = np.arange(2**narrow.bits, dtype=np.uint16 if narrow.bits == 16 else np.uint8)
    if narrow.bits < 8:
        # ONNX: the first element is in the lowest bits of a byte.
        shares = [patterns[place :: 8 // narrow.bits] for place in range(8 // narrow.bits)]
        shifted_shares = [share << narrow.bits * place for place, share in enumerate(shares)]
        content = np.bitwise_or.reduce(shifted_shares).tobytes()
        negative_values = {p: p - len(patterns) for p in range(len(patterns) // 2, len(patterns))}
        is_signed = name.startswith("int")
        expected = np.array(
            [negative_values.get(int(p), p) if is_signed else int(p) for p in patterns]
        )
    else:
        content = patterns.tobytes()
        expected = patterns.view(dtype).astype(np.float32)
    values = narrow.unpack(content, [2, len(patterns) // 2])
    assert values.dtype == narrow.held_as
    assert np.array_equal(values.ravel(), expected, equal_nan=narrow.held_as == "float32")


@EACH
def test_numbers_are_rounded_as_the_package_rounds_and_kept_by_packing(name: str) -> None:
    narrow, dtype = NARROW_TYPES[name], PACKAGE_TYPES[name]
    numbers = np.random.default_rng(0).standard_normal((7, 9)) * 3
    array = (np.abs(numbers) if name.startswith("uint") else numbers).astype(np.float32)
    if narrow.bits < 8:
        array = np.clip(np.rint(array), narrow.values.min(), narrow.values.max())
    nearest = narrow.round(array)
    assert np.array_equal(nearest, array.astype(dtype).astype(narrow.held_as))
    content = narrow.pack(nearest)
    assert content.shape == array.shape
    assert np.array_equal(narrow.unpack(content.tobytes(), array.shape), nearest)
    assert np.array_equal(widen(nearest.astype(dtype)), nearest)


@EACH
def test_what_is_too_large_becomes_the_largest(name: str) -> None:
    narrow = NARROW_TYPES[name]
    largest = narrow.round(np.array([np.finfo(np.float32).max]))
    assert np.isfinite(largest).all()
    limits = ml_dtypes.iinfo if narrow.bits < 8 else ml_dtypes.finfo
    assert largest[0] == float(limits(PACKAGE_TYPES[name]).max)


def test_nan_stays_nan_in_floats() -> None:
    for narrow in NARROW_TYPES.values():
        if narrow.held_as == "float32":
            array = np.array([np.nan, 1.0], np.float32)
            assert np.array_equal(narrow.round(array), array, equal_nan=True)
