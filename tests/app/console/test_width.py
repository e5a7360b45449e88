"""How wide we print: as wide as the terminal is, and 80 columns into a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.console.catalogue import as_text, models_of
from app.console.streams import DEFAULT_WIDTH, width_of
from tests.checkout import ROOT


def test_a_pipe_takes_80_columns_unless_it_is_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    with (tmp_path / "log").open("w") as file:
        monkeypatch.setattr(sys, "stderr", file)
        assert width_of(file) == DEFAULT_WIDTH == 80
        monkeypatch.setenv("COLUMNS", "132")
        assert width_of(file) == 132
        monkeypatch.setenv("COLUMNS", "wide")
        assert width_of(file) == DEFAULT_WIDTH


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_list_fits_and_says_where_the_rest_of_it_is(width: int) -> None:
    text = as_text(models_of(None), width)
    assert max(map(len, text.splitlines())) <= width
    assert text.startswith("name")
    assert ("-f csv has" in text) == ("source" not in text.splitlines()[0])


def test_a_list_that_is_piped_fits_80_columns() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    result = subprocess.run(
        [sys.executable, "-m", "app", "models"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert max(map(len, result.stdout.splitlines())) <= 80
