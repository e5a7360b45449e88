"""A run folder that was damaged: one sentence with a remedy before anything is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.run_folder.folder import RunFolder
from tests.app.headless.batch import run
from tests.app.run_folder.resealed import reseal_manifest
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

LINES = {
    "5": "not an object",
    "null": "not an object",
    "[" * 100_000: "recursion",
    '{"kind":["round"]}': "unhashable",
    "\x00" * 40: "it is no JSON",
    '{"kind":"round","case_id":"c","round":0,"status":"ok","samples":"../x"}': "outside the run",
}
"""A line of a journal -> what is said of it."""
FAKE_CASE = {"model": "add.onnx", "runtime": "fake"}
VALUES: tuple[tuple[Mapping[str, Any], str], ...] = (
    ({"rounds": 10**9}, "rounds is 1000000000, not 1 to"),
    ({"rounds": "x"}, "rounds is 'x'"),
    ({"time_limit_s": -1}, "time_limit_s is -1.0"),
    ({"time_limit_s": float("inf")}, "time_limit_s is inf"),
    ({"plan": {}}, "sweeps is missing"),
    ({"plan": {"sweeps": [{"models": ["mlp"]}], "memory_limit": "lots"}}, "memory_limit"),
    ({"schema_version": "1"}, "schema_version is '1'"),
    ({"cases": [{**FAKE_CASE, "threads": -1}]}, "-1 threads"),
    ({"cases": [{**FAKE_CASE, "axes": []}]}, "cases[0].axes is []"),
    ({"cases": [{**FAKE_CASE, "runtime": "nope"}]}, "no runtime is called that"),
    ({"cases": [{**FAKE_CASE, "runtime": "fake@gone"}]}, "no interpreter of gone"),
)
"""Values of a manifest -> what is said of them."""


@pytest.fixture
def folder(work: Path) -> Path:
    with RunFolder.create(work / "run", manifest_of((CASE,), rounds=1)) as run_folder:
        run_folder.begin(ENVIRONMENT)
        record(run_folder, CASE, 0, [10.0] * 8)
    return work / "run"


def told(folder: Path) -> str:
    """What a resume says, once: nothing of the folder is another for it."""
    old_content = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, out, log = run("resume", str(folder))
    assert (code, out, log.count("\n")) == (2, "", 1), log
    assert ": " in log.removeprefix("graphlap: "), "there is a remedy"
    assert old_content == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return log


def test_each_line_of_a_journal_that_is_none_is_named(folder: Path) -> None:
    (journal,) = (folder / "journal").iterdir()
    sound = journal.read_text()
    for line, message in LINES.items():
        journal.write_text(f"{sound}{line}\n")
        assert f"line 3 of {journal} is damaged" in told(folder)
        assert message in told(folder)
        code, out, log = run("verify", str(folder))
        assert code == 1 and "Traceback" not in out + log, line


@pytest.mark.parametrize(("values", "said"), VALUES, ids=[said for _, said in VALUES])
def test_a_value_of_a_manifest_that_can_not_be_is_named(
    folder: Path, values: Mapping[str, Any], said: str
) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **values}))
    reseal_manifest(manifest)
    assert said in told(folder)


def test_a_folder_in_the_place_of_a_file_is_named(folder: Path) -> None:
    (folder / "journal" / "zz.jsonl").mkdir()
    assert "Is a directory" in told(folder)
    shutil.rmtree(folder / "journal")
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()
    assert "manifest.json can't be read" in told(folder)
