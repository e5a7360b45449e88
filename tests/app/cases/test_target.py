"""The target of a search as people write it."""

from __future__ import annotations

import pytest

from app.cases.objectives import Target


@pytest.mark.parametrize(
    ("text", "told", "allowed"),
    [
        ("p99=5ms", "p99=5ms", 0.01),
        ("p99.9=800us", "p99.9=800us", 0.001),
        ("p50 = 0.5s", "p50=500ms", 0.5),
        ("mean=2.5ms", "mean=2.5ms", 2500.0),
    ],
)
def test_a_target_says_what_may_be_late_and_reads_back(
    text: str, told: str, allowed: float
) -> None:
    target = Target.parse(text)
    assert str(target) == told
    assert Target.parse(told) == target
    assert target.allowed == pytest.approx(allowed)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no target; write it like"),
        ("p99", "is no target; write it like"),
        ("p99=5", "is no target; write it like"),
        ("p99=-5ms", "is no target; write it like"),
        ("99=5ms", "is no target; write it like"),
        ("p99=5ms,p50=1ms", "is no target; write it like"),
        ("p99=0ms", "leaves no time"),
        ("p0=5ms", "between 0 and 100"),
        ("p100=5ms", "between 0 and 100"),
        ("p99.9999999=5ms", "independent runs"),
        ("p10=5ms", "lets most requests be late"),
    ],
)
def test_what_is_no_target_is_refused_with_a_remedy(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refusal:
        Target.parse(text)
    assert "; " in str(refusal.value)
