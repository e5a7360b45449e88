"""A refusal reaches the program that started the batch process with cause and remedy apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.__main__ import main
from app.console.streams import ERROR_FILE, take_error_file


def test_a_cause_that_holds_a_colon_comes_back_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, file = tmp_path / "nets.toml", tmp_path / "error.json"
    plan.write_text('[[sweeps]]\nmodels = ["mlp"]\nmodls = ["mlp"]\n')
    monkeypatch.setenv(ERROR_FILE, str(file))
    assert main(["--headless", "--plan", str(plan)]) == 2
    error = take_error_file(file)
    assert error is not None
    assert "nets.toml: " in error.cause and "modls" in error.cause
    assert error.remedy.startswith("did you mean")
    assert capsys.readouterr().err == f"graphlap: {error}\n"
    assert not file.exists()


def test_nothing_is_written_where_nobody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ERROR_FILE, raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["--headless", "--plan", "none.toml"]) == 2
    assert list(tmp_path.iterdir()) == []
