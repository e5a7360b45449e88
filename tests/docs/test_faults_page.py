"""The page of faults names tests that are there."""

from __future__ import annotations

import re

from tests.checkout import ROOT

PAGE = ROOT / "docs" / "faults.md"


def test_each_fault_names_a_test_that_is_there() -> None:
    test_names = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text("utf-8"))
    assert len(test_names) > 25
    for path, name in test_names:
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), f"{path}::{name}"


def test_each_line_of_a_table_says_who_tries_it() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.count("|") == 4]
    rows = [line for line in lines if not re.match(r"\| (fault|---)", line)]
    assert all("::test_" in line or "| the same" in line for line in rows)
