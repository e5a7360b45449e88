"""Every value that crosses a pipe or a journal comes back whole, and damage is named."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import numpy as np
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
from exporters.types import Definition, StatePair
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
    ("data", "sentence"),
    [({}, "Damaged has no 'name'"), ([], r"Damaged is \[\], not an object")],
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
