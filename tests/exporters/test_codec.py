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


def test_a_record_of_another_version_is_read_as_far_as_it_is_known() -> None:
    assert from_json(Damaged, {"name": "a"}) == Damaged("a")
    assert from_json(Damaged, {"name": "a", "colour": {"deep": []}}) == Damaged("a")
    later_fields = {"load": 1, "noise": {"deep": []}}
    assert from_json(Damaged, {"name": "a", "around": later_fields}).around == later_fields


@pytest.mark.parametrize(
    ("field", "place"),
    [
        *(({"name": 3}, "name"), ({"name": None}, "name"), ({"name": ["long"] * 10_000}, "name")),
        *(({"count": 1.5}, "count"), ({"count": True}, "count"), ({"count": 2**63}, "count")),
        *(({"ratio": "abc"}, "ratio"), ({"ratio": True}, "ratio"), ({"ratio": 10**400}, "ratio")),
        *(({"on": 1}, "on"), ({"limit": "no"}, "limit")),
        *(({"option": None}, "option"), ({"option": -(2**63) - 1}, "option")),
        *(({"kind": "three"}, "kind"), ({"kind": ["one"]}, "kind"), ({"only": "that"}, "only")),
        *(({"sizes": 4}, "sizes"), ({"sizes": [1, 2, "3"]}, "sizes[2]")),
        *(({"pair": ["a"]}, "pair"), ({"pair": ["a", "b"]}, "pair[1]")),
        *(({"times": []}, "times"), ({"times": {"compile": "1"}}, "times.compile")),
        ({"words": ["a", 1]}, "words[1]"),
        ({"states": [{"input": "h", "output": 1}]}, "states[0].output"),
        ({"states": [{"input": "h"}]}, "states[0]"),
        *(({"around": [1]}, "around"), ({"around": {"load": "high"}}, "around.load")),
        ({"around": {"cores": [0, "1"]}}, "around.cores[1]"),
    ],
)
def test_damage_is_named_with_its_place_in_a_short_sentence(
    field: dict[str, Any], place: str
) -> None:
    with pytest.raises(CodecError, match=re.escape(f"line.{place} ")) as caught:
        from_json(Damaged, {"name": "a", **field}, "line")
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("data", [{}, []])
def test_a_whole_that_is_no_record_is_damage(data: object) -> None:
    with pytest.raises(CodecError):
        from_json(Damaged, data)


@pytest.mark.parametrize("line", ["[" * 100_000, '{"a":' * 100_000, "5", "null", "{", b"\xff\xfe"])
def test_a_line_that_is_no_object_says_nothing(line: str | bytes) -> None:
    """An engine may print anything, and what it prints must not end the sweep."""
    assert object_of(line) == {}


def test_what_has_no_form_in_json_is_refused_where_it_is_written() -> None:
    with pytest.raises(CodecError):
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
    name: getattr(ml_dtypes, name.replace("float8e", "float8_e")) for name in NARROW_TYPES
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
    else:
        content = patterns.tobytes()
    expected = patterns.view(dtype).astype(narrow.held_as)
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
def test_what_is_too_large_becomes_the_largest_and_nan_stays_nan_in_floats(name: str) -> None:
    narrow = NARROW_TYPES[name]
    largest = narrow.round(np.array([np.finfo(np.float32).max]))
    assert np.isfinite(largest).all()
    limits = ml_dtypes.iinfo if narrow.bits < 8 else ml_dtypes.finfo
    assert largest[0] == float(limits(PACKAGE_TYPES[name]).max)
    if narrow.held_as == "float32":
        array = np.array([np.nan, 1.0], np.float32)
        assert np.array_equal(narrow.round(array), array, equal_nan=True)
