"""What the end of a search is called."""

from __future__ import annotations

from app.tune.ablation import AGAIN, FINAL, round_name


def test_final_rounds_are_counted_by_themselves() -> None:
    assert [round_name(n) for n in (0, 7)] == ["round 1", "round 8"]
    assert round_name(FINAL) == "final round 1"
    assert round_name(AGAIN + 3) == "final round 4 again"
