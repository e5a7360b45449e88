"""A file to import is a regular one of a bounded size: no pipe, device or gzip bomb is read."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns.rows import Rows
from app.cases.errors import PlanError, ResultsError
from app.runs.importing import foreign_file
from app.runs.importing.foreign_run import cases_of, read_foreign, write_run
from tests.app.cli.headless.batch import run
from tests.app.runs.importing.foreign import trtexec_times
from tests.hostile_values import changed_anywhere


def _import(path: Path, out: Path) -> list[str]:
    return ["import", str(path), "--out", str(out)]


@pytest.mark.parametrize("device", [False, True])
@pytest.mark.timeout(30)
def test_a_pipe_or_a_device_is_refused_where_a_file_is_read(device: bool, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    holder = os.open(pipe, os.O_RDWR)  # somebody who writes nothing
    try:
        code, _, errors = run(*_import(Path("/dev/zero") if device else pipe, tmp_path / "out"))
    finally:
        os.close(holder)
    assert (code, errors.count("graphlap: ")) == (2, 1) and "is no file" in errors
    assert not (tmp_path / "out").exists()


def test_a_file_beyond_the_limit_is_refused_packed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_file, "MAXIMUM_BYTES", 1 << 20)
    text = b" " * (1 << 20) + b"[]"
    plain, bomb = tmp_path / "plain.json", tmp_path / "bomb.json.gz"
    plain.write_bytes(text)
    bomb.write_bytes(gzip.compress(text))
    for path in (plain, bomb):
        code, _, errors = run(*_import(path, tmp_path / "out"))
        assert code == 2 and "larger than" in errors
    assert not (tmp_path / "out").exists()


FILES = Path(__file__).with_name("files")
_TEXTS = {
    **{path.name: path.read_text() for path in FILES.glob("*") if path.suffix != ".md"},
    "trtexec": trtexec_times([1.0, 2.0]),
}
_NUMBER = re.compile(r"\d+(\.\d+)?")
_WORDS = ("nan", "-1", "1e999", "9" * 5000, "", "\0", "1e18", "-0.0", "x" * 5000, "0")


def _mutate(text: str, draw: random.Random) -> str:
    try:
        data: Any = json.loads(text)
    except ValueError:
        numbers = list(_NUMBER.finditer(text))
        place = draw.choice(numbers).span() if numbers else (0, 0)
        return text[: place[0]] + draw.choice(_WORDS) + text[place[1] :]
    return json.dumps(changed_anywhere(data, draw))


def _try_import(text: str, folder: Path) -> str:
    """What came of it; anything but an error of ours is a fault."""
    file = folder / "file"
    file.write_text(text, errors="surrogatepass")
    try:
        run = write_run(folder / "run", cases_of([("", read_foreign(file))]))
    except (PlanError, ResultsError) as error:
        return str(error)
    return str(len(Rows().of(run)))


@pytest.mark.parametrize("name", sorted(_TEXTS))
def test_a_damaged_file_is_a_run_or_one_sentence(name: str, tmp_path: Path) -> None:
    draw = random.Random(name)
    for number in range(25):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert _try_import(_mutate(_TEXTS[name], draw), folder)
