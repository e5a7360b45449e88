"""Words of a plan keep every digit: what is written is read as the very same value."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.cases.objectives import Goal, Target
from app.cases.scenario import Batcher, Condition, Scenario
from app.cases.units import MICROSECONDS, duration_text, parse_duration
from exporters.size import parse_size, size_text

NUMBERS = st.one_of(
    st.integers(0, 10**15).map(str),
    st.decimals(0, 10**9, places=9, allow_nan=False).map(lambda number: format(number, "f")),
    st.floats(1e-9, 1e12).map(lambda number: format(Decimal(repr(number)), "f")),
)
TIMES = st.builds("{}{}".format, NUMBERS, st.sampled_from(["us", "ms", "s"]))
COUNTS = st.integers(1, 10_000)
PERCENTILES = st.decimals(50, "99.9999", places=6).map(lambda number: f"p{number}")
DURATIONS = st.builds("{}{}".format, NUMBERS, st.sampled_from(["", "ms", "s", "m", "min", "h"]))
SIZES = st.builds("{}{}".format, NUMBERS, st.sampled_from(["B", "KB", "KiB", "MB", "GiB", "TiB"]))
SCENARIOS = st.one_of(
    st.sampled_from(["closed_loop", "offline"]),
    TIMES.map(lambda time: f"paced:{time}"),
    st.builds("{}:{}/s".format, st.sampled_from(["rate", "poisson"]), NUMBERS),
    st.builds("burst:{}@{}".format, COUNTS, TIMES),
    st.builds("{}:{}".format, st.sampled_from(["multistream", "ahead"]), COUNTS),
)
CONDITIONS = st.one_of(
    st.just("none"),
    SIZES.map(lambda size: f"cold:{size}"),
    DURATIONS.map(lambda time: f"sustained:{time}"),
    st.builds("{}:{}".format, st.sampled_from(["with", "shapes"]), st.text(min_size=1)),
)
TARGETS = st.builds("{}={}".format, st.one_of(st.just("mean"), PERCENTILES), TIMES)
GOALS = st.one_of(
    st.sampled_from(["mean", "throughput"]),
    PERCENTILES,
    TARGETS.map(lambda target: f"throughput@{target}"),
)
WORDS: list[tuple[Callable[[str], Any], st.SearchStrategy[str]]] = [
    (Scenario.parse, SCENARIOS),
    (Condition.parse, CONDITIONS),
    (Target.parse, TARGETS),
    (Goal.parse, GOALS),
    (Batcher.parse, st.builds("max={},wait={}".format, COUNTS, TIMES)),
]


@pytest.mark.parametrize(
    ("parse", "words"), WORDS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_word_is_read_back_as_the_same_value(
    parse: Callable[[str], Any], words: st.SearchStrategy[str]
) -> None:
    @given(words)
    def check(text: str) -> None:
        try:
            value = parse(text)
        except ValueError:
            return  # refused, in a sentence: nothing is lost
        assert parse(str(value)) == value

    check()


@given(TIMES)
def test_a_gap_is_its_decimal_digits(text: str) -> None:
    unit = text.lstrip("0123456789.")
    exact = Decimal(text.removesuffix(unit)) * Decimal(MICROSECONDS[unit])
    try:
        assert Scenario.parse(f"paced:{text}").gap_us == float(exact)
    except ValueError:
        assert exact > 24 * 3600 * 10**6, "only what nobody waits for is refused"


@given(DURATIONS)
@example("74.0736s")
def test_a_duration_is_read_back(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except ValueError:
        return
    assert parse_duration(duration_text(seconds)) == seconds


@given(st.integers(1, 2**63 - 1))
@example(2**53 + 1)
def test_a_size_is_read_back(size: int) -> None:
    assert parse_size(f"{size}B") == size
    assert parse_size(size_text(size)) == size


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "0." + "0" * 400 + "1", "1" + "0" * 25])
@pytest.mark.parametrize(
    "word",
    [
        "paced:{}us",
        "rate:{}/s",
        "burst:{}@1ms",
        "burst:1@{}s",
        "multistream:{}",
        "cold:{}GiB",
        "sustained:{}h",
        "p99={}ms",
        "throughput@mean={}s",
        "max={},wait=1ms",
        "max=1,wait={}us",
    ],
)
def test_a_number_without_an_end_is_refused_in_one_sentence(word: str, number: str) -> None:
    for parse in (Scenario.parse, Condition.parse, Target.parse, Goal.parse, Batcher.parse):
        with pytest.raises(ValueError, match=r"; |is no"):
            parse(word.format(number))
