"""What a round told once is read again, by this release and from an older run folder."""

from __future__ import annotations

from app.cases.round import Check, RoundResult

CHECK = Check("torch", 0.5, 0.25, 0.9, 1e-4, False, "y", lane=2)
RESULT = RoundResult("case", 0, "wrong_output", check=CHECK)


def test_a_round_is_read_as_it_was_told() -> None:
    assert RoundResult.from_json(RESULT.to_json()) == RESULT


def test_a_check_of_a_run_folder_that_speaks_of_slots_keeps_its_lane() -> None:
    told = RESULT.to_json()
    told["check"]["slot"] = told["check"].pop("lane")
    assert RoundResult.from_json(told) == RESULT
