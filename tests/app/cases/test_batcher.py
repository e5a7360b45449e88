"""A batcher is one word, and knows the batches that the graph is compiled for."""

from __future__ import annotations

import pytest

from app.cases.case import Case
from app.cases.scenario import Batcher, parse_batcher
from exporters.codec import from_json, to_json


@pytest.mark.parametrize(
    ("text", "batcher", "word"),
    [
        ("max=8,wait=2ms", Batcher(8, 2000.0), "max=8,wait=2ms"),
        ("max=8,wait=0ms", Batcher(8, 0.0), "max=8,wait=0us"),
        ("max=1,wait=250us", Batcher(1, 250.0), "max=1,wait=250us"),
        ("max=1024,wait=10s", Batcher(1024, 1e7), "max=1024,wait=10000ms"),
        ("max=6,wait=1234.567us", Batcher(6, 1234.567), "max=6,wait=1.234567ms"),
    ],
)
def test_a_word_is_read_and_written(text: str, batcher: Batcher, word: str) -> None:
    assert Batcher.parse(text) == batcher
    assert str(batcher) == word
    assert Batcher.parse(word) == batcher


def test_going_without_is_a_word_too() -> None:
    assert parse_batcher("none") is None
    assert parse_batcher("max=2,wait=1ms") == Batcher(2, 1000.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max=8", "is not known; use none, or such as max=8,wait=2ms"),
        ("8", "is not known"),
        ("max=8,wait=2", "is not known"),
        ("max=-8,wait=2ms", "is not known"),
        ("max=0,wait=2ms", "collects 0 requests; use max=1 to max=1024"),
        ("max=5000,wait=2ms", "use max=1 to max=1024"),
        ("max=8,wait=11s", "waits too long; use at most wait=10s"),
        ("", "is not known"),
    ],
)
def test_what_is_no_batcher_is_told_in_one_sentence(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Batcher.parse(text)


@pytest.mark.parametrize(
    ("most", "sizes"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (8, (1, 2, 4, 8)), (12, (1, 2, 4, 8, 12))],
)
def test_the_graph_is_compiled_for_powers_of_two_and_the_largest(
    most: int, sizes: tuple[int, ...]
) -> None:
    assert Batcher(most, 0.0).sizes == sizes


def test_a_batch_is_filled_up_to_the_next_size_and_no_further() -> None:
    batcher = Batcher(12, 0.0)
    sizes = [batcher.size_for(count) for count in range(1, 13)]
    assert sizes == [1, 2, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]


def test_a_case_keeps_its_batcher_and_an_older_one_its_name() -> None:
    plain = Case("mlp", "fake")
    case = Case("mlp", "fake", batcher=Batcher(8, 2000.0))
    assert "batcher" not in plain.identity
    assert case.identity["batcher"] == "max=8,wait=2ms"
    assert case.case_id != plain.case_id
    read = from_json(Case, {k: v for k, v in to_json(case).items() if k != "case_id"})
    assert read == case
    assert read.case_id == case.case_id
