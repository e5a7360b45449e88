"""Small defects are put where code runs, one at a time, and tests that run the line find them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from tests.checkout import ROOT
from tests.mutation.sites import mutants_of, source_with

SOURCE = '''
"""A docstring."""
LIMIT = 3

def least(values, low=1):
    total = 0
    for value in values:
        if value < low or not value:
            continue
        total += value * 2
    return total
'''


def test_each_mutant_is_another_program_by_one_change(tmp_path: Path) -> None:
    file = tmp_path / "least.py"
    file.write_text(SOURCE)
    mutants = list(mutants_of(file))
    changes = {(mutant.before, mutant.after) for mutant in mutants}
    assert {
        ("0", "1"),
        ("value < low", "value <= low"),
        ("value < low or not value", "value < low and (not value)"),
        ("not value", "value"),
        ("continue", "pass"),
        ("total += value * 2", "pass"),
        ("value * 2", "value / 2"),
        ("2", "3"),
        ("return total", "return None"),
    } < changes
    assert not {"3", "1", '"""A docstring."""'} & {before for before, _ in changes}
    plain = ast.unparse(ast.parse(SOURCE))
    sources = {source_with(mutant) for mutant in mutants}
    assert len(sources) == len(mutants), "no two are alike"
    assert plain not in sources
    for mutant in mutants:
        lines = zip(plain.splitlines(), source_with(mutant).splitlines(), strict=True)
        assert sum(before != after for before, after in lines) == 1


TRIAL = """
from tests.checkout import ROOT
from tests.mutation.sites import mutants_of
from tests.mutation.trial import outcomes

mutants = mutants_of(ROOT / "app/stats/steadiness.py")
first, second, *_ = (mutant for mutant in mutants if "SETTLED_WINDOWS" in mutant.before)
work = (first, ["tests/app/stats/test_steadiness.py"]), (second, ["tests/app/formatting"])
for mutant, outcome in outcomes(work):
    print("looked at" if mutant == first else "not looked at", outcome)
"""


def test_a_mutant_is_found_by_a_test_that_looks_and_survives_where_none_does() -> None:
    command = [sys.executable, "-c", TRIAL]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(found.stdout.splitlines()) == {"looked at found", "not looked at survived"}
