"""Streams that cannot encode what is printed, and how wide they are."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.console.catalogue import as_text, models_of
from app.console.streams import DEFAULT_WIDTH, ResilientStream, width_of
from tests.checkout import ROOT


def test_a_stream_without_our_characters_gets_them_spelt_in_ascii() -> None:
    raw = io.BytesIO()
    stream = ResilientStream(io.TextIOWrapper(raw, encoding="ascii"))
    stream.write("p50 1.3 µs ±75% · ─── “a” … ≤ \u4e2d")
    stream.flush()
    text = raw.getvalue().decode("ascii")
    assert text == 'p50 1.3 us +-75% - --- "a" ... <= \\u4e2d'


def test_a_stream_that_has_them_gets_them_as_they_are() -> None:
    raw = io.BytesIO()
    stream = ResilientStream(io.TextIOWrapper(raw, encoding="latin-1"))
    stream.write("1.3 µs ±75%")
    stream.flush()
    assert raw.getvalue().decode("latin-1") == "1.3 µs ±75%"


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
