"""A gate does not judge a row whose rounds are of several engine versions, unless that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.__main__ import main
from app.run_folder.folder import RunFolder
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

ROUNDS = 8


def saved(path: Path, releases: tuple[str, ...]) -> Path:
    manifest = manifest_of((CASE,), ROUNDS)
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(ROUNDS):
            release = releases[number % len(releases)]
            record(folder, CASE, number, [100.0 + number % 2] * 600, runtime_version=release)
    return path


@pytest.mark.parametrize(
    ("releases", "more", "expected"),
    [
        (("1.30.0",), (), 0),
        (("1.30.0", "1.31.0"), (), 1),
        (("1.30.0", "1.31.0"), ("--allow-mixed",), 0),
    ],
)
def test_rounds_of_two_releases_pass_no_gate_unasked(
    tmp_path: Path, releases: tuple[str, ...], more: tuple[str, ...], expected: int
) -> None:
    first = saved(tmp_path / "first", ("1.30.0",))
    second = saved(tmp_path / "second", releases)
    command = ["compare", str(first), str(second), "--fail-on", "slower", *more]
    assert main(command) == expected
    assert main(["compare", str(first), str(second)]) == 0, "without a gate it is a warning"
