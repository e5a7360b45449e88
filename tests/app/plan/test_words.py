"""The table of words names every flag that the program has, and none that it has not."""

from __future__ import annotations

import re

from app.plan.parser import parser
from tests.checkout import ROOT

PAGE = ROOT / "app" / "plan" / "README.md"


def flags_by_state() -> dict[str, set[str]]:
    """`stands` and `settled` -> the flags of the table's rows that say so."""
    found: dict[str, set[str]] = {"stands": set(), "settled": set()}
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 6 and cells[3] in found:
            found[cells[3]] |= set(re.findall(r"`(--[a-z-]+)", cells[1]))
    return found


def test_the_table_has_the_flags_of_the_parser() -> None:
    actions = parser()._actions
    known = {name for action in actions for name in action.option_strings if name[:2] == "--"}
    assert flags_by_state()["stands"] == known - {"--help"}


def test_a_word_that_is_settled_is_not_taken() -> None:
    found = flags_by_state()
    assert not found["stands"] & found["settled"]
