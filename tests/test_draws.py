"""The second README command must not be a lottery, and a lucky find must not get lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.processes import ended

PROPERTY = """
from hypothesis import given, strategies as st

@given(st.lists(st.integers()), st.text())
def test_drawn(numbers, text):
    print(numbers, text)
"""


def run_pytest(test: Path, *arguments: str) -> str:
    """The output of the tests in `test`, run with the draws of our own tests."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.draws", "-p", "no:cacheprovider"]
    process = ended(*command, "-sq", f"--rootdir={test.parent}", *arguments, str(test), cwd=ROOT)
    return process.stdout.rpartition("\n1 ")[0]


def test_draws_depend_on_the_seed_and_neither_on_the_run_nor_on_what_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor on where they run: CI would have its own."""
    monkeypatch.setenv("CI", "true")
    test = tmp_path / "test_drawn.py"
    (tmp_path / "loaded.py").write_text("numbers = " + repr(list(range(1000, 2000))))
    loading = f"import sys\nsys.path.append({str(tmp_path)!r})\nimport loaded\n{PROPERTY}"
    fresh, drawn = ("--hypothesis-profile=fresh", "--hypothesis-seed"), set()
    for arguments in ((), (*fresh, "1"), (*fresh, "2")):
        test.write_text(PROPERTY)
        drawn.add(alone := run_pytest(test, *arguments))
        assert len(set(alone.splitlines())) > 50
        if "2" not in arguments:
            test.write_text(loading)
            assert run_pytest(test, *arguments) == alone
    assert len(drawn) == 3


def test_a_failure_says_how_to_keep_its_example(tmp_path: Path) -> None:
    test = tmp_path / "test_failing.py"
    test.write_text(PROPERTY.replace("print(numbers, text)", "assert not numbers"))
    output = run_pytest(test)
    assert "How to keep this example" in output
    assert "@example(\n    numbers=[0],\n" in output
