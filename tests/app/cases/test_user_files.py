"""Files that a user names are read to their end or refused: no pipe or device keeps a reader."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases import user_files
from app.cases.user_files import read_user_file
from app.results.imports import content

SHORT = 0.2


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipe that somebody holds open and writes nothing to."""
    monkeypatch.setattr(user_files, "PATIENCE_S", SHORT)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    return pipe


def test_a_pipe_is_read_to_its_end(silent: Path) -> None:
    holder = os.open(silent, os.O_RDWR)

    def write() -> None:
        os.write(holder, b"first ")
        os.write(holder, b"second")
        os.close(holder)

    threading.Timer(SHORT / 4, write).start()
    assert read_user_file(silent, 100) == b"first second"


def test_a_silent_pipe_is_given_up(silent: Path) -> None:
    holder = os.open(silent, os.O_RDWR)
    with pytest.raises(OSError, match="nothing came"):
        read_user_file(silent, 100)
    os.close(holder)
    with pytest.raises(OSError, match="nothing came"):
        read_user_file(silent, 100)


def test_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(101))
    assert len(read_user_file(path, 101)) == 101
    for case in (path, Path("/dev/zero"), tmp_path, tmp_path / "none", Path("a\0b")):
        with pytest.raises(OSError):
            read_user_file(case, 100)


def _import(path: Path, out: Path) -> list[str]:
    return ["--import", str(path), "--out", str(out)]


def _plan(path: Path, out: Path) -> list[str]:
    return ["--headless", "--plan", str(path), "--out", str(out)]


def _shapes(path: Path, out: Path) -> list[str]:
    condition = ["--condition", f"shapes:{path}"]
    return ["--headless", "--models", "mlp", "--runtimes", "fake", *condition, "--out", str(out)]


def _card(path: Path, out: Path) -> list[str]:
    link = out.with_name("card.toml")
    link.symlink_to(path)
    return ["--headless", "--models", "mlp", "--runtimes", f"fpga:{link}", "--out", str(out)]


def _factory(path: Path, out: Path) -> list[str]:
    link = out.with_name("net.py")
    link.symlink_to(path)
    return ["--headless", "--models", f"{link}:make", "--runtimes", "fake", "--out", str(out)]


@pytest.mark.parametrize("command", [_import, _plan, _shapes, _card, _factory])
@pytest.mark.parametrize("device", [False, True])
def test_a_pipe_or_a_device_is_refused_where_a_file_is_read(
    command: Callable[[Path, Path], list[str]],
    device: bool,
    silent: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    holder = os.open(silent, os.O_RDWR)
    path = Path("/dev/zero") if device else silent
    assert main(command(path, tmp_path / "out")) == 2
    os.close(holder)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "Traceback" not in told
    assert not (tmp_path / "out").exists()


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(content, "MOST_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * (1 << 20) + b"[]"))
    assert main(_import(bomb, tmp_path / "out")) == 2
    assert "larger than 1 MiB" in capsys.readouterr().err
