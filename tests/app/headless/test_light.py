"""What must answer at once: listing, help, and the window's refusals."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from app.commands import open as open_command
from exporters.models import catalogue
from tests.checkout import ROOT

HEAVY = ("torch", "onnxruntime", "openvino", "tensorrt", "tensorrt_rtx_bindings", "PySide6")


def test_a_list_imports_nothing_heavy() -> None:
    code = (
        "import sys; from app.__main__ import main; code = main(sys.argv[1:]); "
        "sys.stderr.write(' '.join(sys.modules)); sys.exit(code)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, "models"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert result.returncode == 0
    assert not set(result.stderr.split()) & {*HEAVY, "pandas", "pyarrow", "scipy", "onnx", "rich"}


def test_the_batch_parent_imports_no_engine() -> None:
    code = (
        "import sys; from app import headless\n"
        "from app.machine.installed_runtimes import available_names\n"
        "available_names()\n"
        "sys.stdout.write(' '.join(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert not set(result.stdout.split()) & set(HEAVY)


def test_the_list_names_every_model_in_each_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--format", "json"]) == 0
    as_json = json.loads(capsys.readouterr().out)
    assert main(["models", "--format", "csv"]) == 0
    as_csv = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["name"] for row in as_json] == list(catalogue.names())
    assert [row["name"] for row in as_csv] == list(catalogue.names())
    assert main(["models"]) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in catalogue.names())


@pytest.mark.parametrize("suite", ["starter", "layers"])
def test_the_list_can_be_cut_to_a_suite(capsys: pytest.CaptureFixture[str], suite: str) -> None:
    assert main(["models", "--suite", suite, "--format", "json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert names < set(catalogue.names())
    assert "dense_128_32" in names
    assert ("cnn_tiny" in names) == (suite == "starter")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["models", "--format", "jsn"], "did you mean 'json'?"),
        (["models", "--suite", "layer"], "did you mean 'layers'?"),
    ],
)
def test_a_wrong_list_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(arguments) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["open"], ["--models", "mlp"]])
def test_without_a_display_other_commands_are_named(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main(arguments) == 2
    assert "graphlap run" in capsys.readouterr().err


def test_without_qt_other_commands_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_command, "find_spec", lambda _: None)
    assert main(["open"]) == 2
    assert "graphlap run" in capsys.readouterr().err


def test_an_engine_cache_that_cannot_be_written_is_told_before_anything_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "engines").write_text("a file where the folder should be", "ascii")
    out = tmp_path / "run"
    assert main(["--headless", "--models", "mlp", "--runtimes", "fake", "--out", str(out)]) == 2
    errors = capsys.readouterr().err
    assert "the engine cache" in errors
    assert "set GRAPHLAP_CACHE" in errors
    assert not out.exists()
