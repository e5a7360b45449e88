"""Goals of a search over options: understood, given back, or refused with a sentence."""

from __future__ import annotations

import pytest

from app.cases.objectives import Goal, Target


def test_a_goal_is_a_latency_or_a_rate_that_may_keep_one() -> None:
    assert Goal.parse("p99.9") == Goal(False, 99.9)
    assert Goal.parse("mean") == Goal(False)
    assert Goal.parse("throughput") == Goal(True)
    assert Goal.parse("throughput@p99=10ms") == Goal(True, constraint=Target(99.0, 10_000.0))
    assert Goal(False, 99.0).quantile == 0.99


@pytest.mark.parametrize("word", ["p50", "p99.9", "mean", "throughput", "throughput@p99=10ms"])
def test_its_word_comes_back(word: str) -> None:
    assert str(Goal.parse(word)) == word


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("", "is no goal"),
        ("fast", "is no goal"),
        ("p", "is no goal"),
        ("p99=10ms", "is no goal"),
        ("p99@p50=1ms", "is no goal"),
        ("mean@p50=1ms", "is no goal"),
        ("throughput@", "is no goal"),
        ("throughput@p99", "is no target"),
        ("p100", "between 0 and 100"),
    ],
)
def test_what_is_none_is_refused(word: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Goal.parse(word)
