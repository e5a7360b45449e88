"""Conditions are one word, read as they are written, and name a case only where there is one."""

from __future__ import annotations

import pytest

from app.cases.case import Case
from app.cases.scenario import NO_CONDITION, Condition


@pytest.mark.parametrize(
    ("text", "condition", "word"),
    [
        ("none", NO_CONDITION, "none"),
        ("cold:64MB", Condition("cold", bytes=64_000_000), "cold:64MB"),
        ("cold:64 mib", Condition("cold", bytes=67_108_864), "cold:64MiB"),
        ("cold:1.5GiB", Condition("cold", bytes=1_610_612_736), "cold:1536MiB"),
        ("cold:4097B", Condition("cold", bytes=4097), "cold:4097B"),
        ("cold-l2", Condition("cold-l2"), "cold-l2"),
        ("sustained:30min", Condition("sustained", seconds=1800.0), "sustained:30m"),
        ("sustained:90s", Condition("sustained", seconds=90.0), "sustained:90s"),
        ("sustained:1.25s", Condition("sustained", seconds=1.25), "sustained:1250ms"),
        ("with:nets/a.onnx", Condition("with", model="nets/a.onnx"), "with:nets/a.onnx"),
        ("with:f.py:build", Condition("with", model="f.py:build"), "with:f.py:build"),
        ("shapes:a/mix.csv", Condition("shapes", file="a/mix.csv"), "shapes:a/mix.csv"),
        ("sustained:168h", Condition("sustained", seconds=604_800.0), "sustained:168h"),
    ],
)
def test_a_word_is_read_and_written(text: str, condition: Condition, word: str) -> None:
    assert Condition.parse(text) == condition
    assert str(condition) == word
    assert Condition.parse(word) == condition


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "use none, cold:64MB"),
        ("cold", "'cold' is not known"),
        ("warm:64MB", "'warm:64MB' is not known"),
        ("none:1", "is not known"),
        ("cold:", "is no amount of memory; write it like"),
        ("cold:-64MB", "is no amount of memory"),
        ("cold:64", "is no amount of memory"),
        ("cold:4KB", "'cold:4KB' is less than a page; use at least 4KiB"),
        ("sustained:", "is no time"),
        ("sustained:500ms", "is too short or too long; use 1s to 168h"),
        ("sustained:169h", "use 1s to 168h"),
        ("with:", "names no model; write it like with:mlp"),
        ("shapes:", "names no file; write it like shapes:requests.csv"),
    ],
)
def test_what_is_no_condition_is_told_in_one_sentence(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Condition.parse(text)


def test_a_condition_names_a_case_and_none_renames_no_older_one() -> None:
    cold = Case("mlp", "ort-cpu", condition=Condition.parse("cold:64MB"))
    assert cold.identity == {"model": "mlp", "runtime": "ort-cpu", "condition": "cold:64MB"}
    assert cold.case_id != Case("mlp", "ort-cpu").case_id
    assert Case("mlp", "ort-cpu").identity == {"model": "mlp", "runtime": "ort-cpu"}
