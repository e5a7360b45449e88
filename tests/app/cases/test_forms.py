"""Words of flags: each parser at its bounds, and each form of a value in a flag and in a field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from app.cases.dimensions import scenario_of
from app.cases.errors import PlanError, suggestion
from app.cases.scenario import (
    LONGEST_PAUSE_US,
    MAXIMUM_BURST,
    MAXIMUM_RATE_HZ,
    MINIMUM_RATE_HZ,
    Scenario,
)
from app.cases.setting import (
    Form,
    Pairs,
    Switch,
    Word,
    Words,
    amount,
    choice_of,
    deadline,
    deadline_text,
    field_text,
    field_value,
    flag_words,
    idle_sweep,
    integer_from,
    option_text,
    percentile,
    seconds_text,
    share,
    share_text,
    size,
    size_in_bytes,
    span,
    span_text,
    words_of,
)
from exporters.types import InvalidValue

DAY_US = 86_400e6


@pytest.mark.parametrize(
    ("parse", "values", "refused"),
    [
        (integer_from(2), {"2": 2, "30": 30}, ["1", "-5", "2.5", "", "x"]),
        (share, {"0": 0.0, "2%": 0.02, "0.02": 0.02, "99.9%": 0.999}, ["1", "100%", "-1%", "x"]),
        (size_in_bytes, {"8GiB": 8 * 2**30, "1kB": 1000}, ["8", "GiB", "x"]),
        (size, {"8 GiB": "8 GiB"}, ["8"]),
        (span, {"0:1": (0.0, 1.0), "-2.5:1e3": (-2.5, 1e3)}, ["0", "0:", "0:inf", "nan:1"]),
        (amount, {"0": 0.0, "1e-3": 0.001}, ["-0.001", "inf", "nan", "x"]),
        (percentile, {"p99.9": 99.9, "99.9": 99.9}, ["pp9", "x"]),
        (choice_of(["on", "off"]), {"on": "on"}, ["no"]),
        (
            deadline,
            {"0.5us": 0.5, "100us": 100.0, "2 ms": 2e3, "1s": 1e6, "86400s": DAY_US},
            ["0us", "86401s", "5", "x"],
        ),
        (
            idle_sweep,
            {
                "20us..1ms": [f"paced:{us}us" for us in (20, 50, 100, 200, 500, 1000)],
                "30us..40us": ["paced:30us", "paced:40us"],
                "30s..60s": ["paced:30000000us", "paced:50000000us", "paced:60000000us"],
            },
            ["20us", "1ms..1ms", "2ms..1ms", "0us..1ms", "1s..61s", "x..1s"],
        ),
    ],
)
def test_a_word_is_a_value_up_to_its_bounds(
    parse: Callable[[str], Any], values: dict[str, Any], refused: Sequence[str]
) -> None:
    assert {word: parse(word) for word in values} == values
    for word in refused:
        with pytest.raises(InvalidValue) as exc_info:
            parse(word)
        assert exc_info.value.cause and exc_info.value.remedy


def test_a_value_is_written_with_its_unit() -> None:
    texts = [share_text(0.035), span_text((-1.0, 2.5)), deadline_text(1500.0), seconds_text(30.0)]
    assert texts == ["3.5%", "-1:2.5", "1500us", "30s"]
    assert [option_text(value) for value in (True, False, 3)] == ["1", "0", "3"]


def test_a_scenario_may_be_at_its_limits() -> None:
    rates = [f"rate:{MINIMUM_RATE_HZ:g}/s", f"poisson:{MAXIMUM_RATE_HZ:.0f}/s"]
    longest = f"paced:{LONGEST_PAUSE_US:.0f}us"
    bursts = [f"burst:{count}@1ms" for count in (1, MAXIMUM_BURST)]
    kinds = [Scenario.parse(text).kind for text in (*rates, longest, *bursts)]
    assert kinds == ["rate", "poisson", "paced", "burst", "burst"]
    for text in (f"paced:{LONGEST_PAUSE_US + 1:.0f}us", "burst:0@1ms", "rate:0/s"):
        with pytest.raises(InvalidValue):
            Scenario.parse(text)


def test_a_row_without_figures_is_a_closed_loop() -> None:
    names = ("gap_us", "offered_rate_hz", "burst_size", "burst_period_us")
    assert scenario_of({"scenario": "closed_loop", **dict.fromkeys(names)}) == Scenario()


INTEGER = integer_from(1)


@pytest.mark.parametrize(
    ("form", "value", "words", "field"),
    [
        (Word(INTEGER), 3, ["--x", "3"], "3"),
        (Words(INTEGER), [1, 2], ["--x", "1,2"], "1, 2"),
        (Words(INTEGER, repeated=True), [1, 2], ["--x", "1", "--x", "2"], "1, 2"),
        (Words(repeated=True, unsplit=True), ["a,b", "c"], ["--x", "a,b", "--x", "c"], "a,b; c"),
        (Pairs("n=1", INTEGER), {"a": 1, "b": 2}, ["--x", "a=1", "--x", "b=2"], "a=1 b=2"),
        (Pairs("n=1", INTEGER, commas=True), {"a": 1, "b": 2}, ["--x", "a=1,b=2"], "a=1, b=2"),
        (Pairs("n=1", INTEGER, listed=True), {"a": [1, 2]}, ["--x", "a=1,2"], "a=1,2"),
        (Pairs("n=1", name_has_equals=True), {"a=b": "c"}, ["--x", "a=b=c"], "a=b=c"),
        (Pairs("n=1"), {"a": "b=c"}, ["--x", "a=b=c"], "a=b=c"),
    ],
)
def test_a_form_writes_what_it_reads(
    form: Form, value: Any, words: Sequence[str], field: str
) -> None:
    given = words[1::2] if form.action == "append" else words[1]
    assert form.read(given, "--x") == value
    assert list(flag_words("--x", form, value)) == words
    assert field_text(form, value) == field
    for spelling in (field, f" {field} ", f"{field}{form.separator}"):
        assert field_value(form, spelling, "--x") == value


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (Word(INTEGER), "a; b: c"),
        (Words(INTEGER), "1,,2"),
        (Words(), "a,,b"),
        (Words(INTEGER, repeated=True), "1,0"),
        (Pairs("n=1"), "a"),
        (Pairs("n=1"), "=1"),
        (Pairs("n=1"), "a="),
        (Pairs("n=1", INTEGER), "a=0"),
        (Pairs("n=1", INTEGER, listed=True), "a=1,,2"),
    ],
)
def test_what_a_form_can_not_read_names_the_flag(form: Form, text: str) -> None:
    argument = [text] if form.action == "append" else text
    with pytest.raises(PlanError, match=r"^--x") as exc_info:
        form.read(argument, "--x")
    error = exc_info.value
    assert error.option.startswith("--x") and error.remedy
    assert text.partition("; ")[2] in error.cause, "a cause with a semicolon is whole"


def test_a_switch_has_no_word() -> None:
    off = Switch(False)
    assert (Switch().read(True, "--x"), off.read(True, "--x")) == (True, False)
    assert (off.parts(False), list(flag_words("--x", off, False))) == ([], ["--x"])
    assert words_of(None, "--x") == []


def test_a_word_that_is_not_known_gets_the_nearest_or_a_dozen() -> None:
    names = [f"n{k}" for k in range(13)]
    dozen = f"use one of {', '.join(names[:12])}"
    assert (suggestion("?", names[:12]), suggestion("?", names)) == (dozen, f"{dozen} and 1 more")
    assert suggestion("?", names, "look there") == "look there"
    assert suggestion("n", ["m", "n-a"]) == "did you mean 'n-a'?"
    assert suggestion("abcx", ["abcd", "x"]) == "did you mean 'abcd'?"
