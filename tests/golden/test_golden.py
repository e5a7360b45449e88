"""What Graphlap shows of known runs, compared whole with what it is to show.

Where a change is wanted, `python -m tests.golden --write` writes the texts anew, and the commit
shows what has changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.folders import FOLDERS, NAMES, packed, unpack
from tests.golden.screens import HELP, is_same, printed, stored, texts_of

MOST_BYTES = 450_000
MOST_STORED_BYTES = 5_000_000


@pytest.mark.parametrize("name", NAMES)
def test_every_text_of_a_run_is_the_expected_one(name: str, tmp_path: Path) -> None:
    expected = {path: text for path, text in stored().items() if path.startswith(f"{name}/")}
    actual_texts = dict(texts_of(name, tmp_path))
    assert actual_texts.keys() == expected.keys()
    for path, text in actual_texts.items():
        assert is_same(text, expected[path]), path


def test_a_digit_that_rounding_does_not_explain_is_a_difference() -> None:
    assert is_same("p50 0.12345678901234 µs", "p50 0.12345678901235 µs")
    assert not is_same("p50 0.12345678901234 µs", "p50 0.12345679901234 µs")
    assert not is_same("p50 0.12345678901234 µs", "p50 0.12345678901234 ms")
    assert not is_same("p50 12.3 µs", "p50 12.4 µs")


def test_the_help_is_the_expected_one() -> None:
    assert printed("--help", columns=80) == stored()[HELP]


def test_the_expected_texts_are_of_runs_that_there_are_and_stay_small() -> None:
    expected = stored()
    assert {path.partition("/")[0] for path in expected} == {HELP, *NAMES}
    assert sum(len(text.encode()) for text in expected.values()) < MOST_BYTES


def test_the_stored_runs_are_small_and_name_no_path_of_the_machine_that_wrote_them(
    tmp_path: Path,
) -> None:
    assert sum(path.stat().st_size for path in FOLDERS.iterdir()) < MOST_STORED_BYTES
    for name in NAMES:
        unpack(name, tmp_path / name)
        content = packed(tmp_path / name)
        for word in (b"/work/", b"/tmp/", b"/root", b"/home/"):
            assert word not in content, name
