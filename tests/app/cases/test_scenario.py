"""Scenarios are one word, read as they are written."""

from __future__ import annotations

import pytest

from app.cases.scenario import CLOSED_LOOP, Scenario


@pytest.mark.parametrize(
    ("text", "scenario", "word"),
    [
        ("closed_loop", CLOSED_LOOP, "closed_loop"),
        ("paced:1ms", Scenario("paced", gap_us=1000.0), "paced:1000us"),
        ("rate:200/s", Scenario("rate", rate_hz=200.0), "rate:200/s"),
        ("poisson:0.5/s", Scenario("poisson", rate_hz=0.5), "poisson:0.5/s"),
        ("rate:2500000/s", Scenario("rate", rate_hz=2.5e6), "rate:2500000/s"),
        ("burst:8@10ms", Scenario("burst", count=8, period_us=1e4), "burst:8@10000us"),
        ("multistream:8", Scenario("multistream", count=8), "multistream:8"),
        ("offline", Scenario("offline"), "offline"),
    ],
)
def test_a_word_is_read_and_written(text: str, scenario: Scenario, word: str) -> None:
    assert Scenario.parse(text) == scenario
    assert str(scenario) == word
    assert scenario.words == text, "people are told it as they write it"
    assert Scenario.parse(word) == scenario


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rate:-5/s", "'rate:-5/s' is not known"),
        ("rate:200", "use closed_loop, paced:20us"),
        ("rate:0/s", "use 0.01/s to 10000000/s"),
        ("poisson:1000000000/s", "can't be measured"),
        ("rate:nan/s", "is not known"),
        ("burst:0@10ms", "0 at once; use 1 to 10000"),
        ("burst:8@0ms", "no time between its bursts"),
        ("burst:8", "is not known"),
        ("multistream:0", "use 1 to 10000"),
        ("offline:8", "is not known"),
        ("paced", "is not known"),
        ("", "is not known"),
    ],
)
def test_what_is_no_scenario_is_told_in_one_sentence(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told.replace("(", r"\(")):
        Scenario.parse(text)


def test_arrivals_in_a_second() -> None:
    assert Scenario.parse("burst:8@10ms").arrivals_hz == pytest.approx(800)
    assert Scenario.parse("rate:3/s").arrivals_hz == 3
    assert Scenario.parse("multistream:8").arrivals_hz == 0
