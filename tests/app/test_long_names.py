"""A name that no file system takes is a sentence, wherever it is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.cli.headless.batch import run

LONG = "x" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("show", f"{LONG}=a", "b"),
        ("history", LONG),
        ("--headless", "--models", f"{LONG}.onnx"),
        ("--headless", "--models", "mlp", "--cluster", "local:1", "--inputs", LONG),
    ],
    ids=lambda words: words[-2],
)
def test_a_path_that_is_too_long_is_one_sentence(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = run(*words)
    sentence = errors.splitlines()[-1]
    assert code == 2 and "too long" in sentence
    assert ": " in sentence.removeprefix("graphlap: "), "there is a remedy"
    assert not any(tmp_path.iterdir())
