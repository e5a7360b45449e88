"""Small defects are put where code runs, one at a time, and tests that run the line find them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.mutation.__main__ import main
from tests.mutation.reasons import reason_of, stale_reasons
from tests.mutation.sites import Mutant, mutants_of, source_with

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


MEANINGLESS = """
def kind(value: int | str = 3) -> int | None:
    number: dict[int, float | None] = {}
    if isinstance(value, int | float):
        raise ValueError(f"{value + 1} is too much", 7) from errors[0]
    for pair in zip(value, number, strict=True):
        show(f"{pair[0]} of {len(value) - 1}")
    if value is None:
        return ""

class Kind:
    def __repr__(self):
        return str(self.number + 1)
"""


def test_what_means_nothing_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "kind.py"
    file.write_text(MEANINGLESS)
    changes = [mutant.before for mutant in mutants_of(file)]
    removed = "raise ValueError(f'{value + 1} is too much', 7) from errors[0]"
    shown = "show(f'{pair[0]} of {len(value) - 1}')"
    condition = "if isinstance(value, int | float)"
    assert sorted(changes) == sorted([condition, removed, shown, "value is None"])


TRIAL = """
from tests.checkout import ROOT
from tests.mutation.sites import mutants_of
from tests.mutation.trial import outcomes

STEADINESS = "tests/app/stats/test_steadiness.py::test_too_few_windows_say_nothing"
FORMATTING = "tests/app/formatting/test_labels.py::test_a_label_names_only_what_differs"
mutants = list(mutants_of(ROOT / "app/stats/steadiness.py"))
first, second = (m for m in mutants if m.before.endswith("len(medians) < SETTLED_WINDOWS"))
for outcome in outcomes([(first, [FORMATTING, STEADINESS]), (second, [FORMATTING])]).values():
    print(outcome.name, *outcome.by.split("::")[1:])
"""


def test_a_mutant_is_found_by_a_test_that_looks_and_survives_where_none_does() -> None:
    command = [sys.executable, "-c", TRIAL]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    by = "test_too_few_windows_say_nothing"
    assert sorted(found.stdout.splitlines()) == [f"found {by}", "survived"]


def test_a_reason_is_of_a_mutant_that_there_is() -> None:
    assert not stale_reasons()
    assert reason_of(Mutant(ROOT / "app/__main__.py", 1, 1, "1", "2", "no line")) == ""


def test_commits_that_a_checkout_lacks_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--changed", "1000000"]) == 0
    assert "HEAD~1000000" in capsys.readouterr().out
