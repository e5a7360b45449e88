"""A file to import is a regular one of a bounded size: no pipe, device or gzip bomb is read."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.__main__ import main
from app.runs.importing import foreign_file


def _import(path: Path, out: Path) -> list[str]:
    return ["import", str(path), "--out", str(out)]


def _factory(path: Path, out: Path) -> list[str]:
    link = out.with_name("net.py")
    link.symlink_to(path)
    return ["--headless", "--models", f"{link}:make", "--runtimes", "fake", "--out", str(out)]


@pytest.mark.parametrize("command", [_import, _factory])
@pytest.mark.parametrize("device", [False, True])
@pytest.mark.timeout(30)
def test_a_pipe_or_a_device_is_refused_where_a_file_is_read(
    command: Callable[[Path, Path], list[str]],
    device: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    holder = os.open(pipe, os.O_RDWR)  # somebody who writes nothing
    try:
        assert main(command(Path("/dev/zero") if device else pipe, tmp_path / "out")) == 2
    finally:
        os.close(holder)
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "is no file" in errors
    assert not (tmp_path / "out").exists()


def test_a_file_beyond_the_limit_is_refused_packed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(foreign_file, "MAXIMUM_BYTES", 1 << 20)
    text = b" " * (1 << 20) + b"[]"
    plain, bomb = tmp_path / "plain.json", tmp_path / "bomb.json.gz"
    plain.write_bytes(text)
    bomb.write_bytes(gzip.compress(text))
    for path in (plain, bomb):
        assert main(_import(path, tmp_path / "out")) == 2
        assert "larger than" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
