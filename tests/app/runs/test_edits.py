"""Random edits of what is derived in a run folder: verify finds each, or no reader shows it."""

from __future__ import annotations

import gzip
import random
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.errors import ResultsError
from app.cases.jobs import Operator, OperatorTimes
from app.cases.telemetry import Reading
from app.present.console.export_formats import FORMATS, check_derived, export
from app.present.report.page import page
from app.run_folder.files import DOCUMENT, LOCK
from app.run_folder.folder import LIVE, RunFolder
from app.run_folder.journal import FOLDER
from app.run_folder.manifest import MANIFEST
from app.run_folder.operators import write_operators
from app.run_folder.run import SAMPLES
from app.runs.exporting import traces
from app.runs.reader import read_run
from app.runs.verify import read_intact, verify
from tests.app.run_folder.runs import CASE, OTHER, manifest_of, record
from tests.golden.screens import printed

_VALUE = re.compile(rb"[0-9]+|[A-Za-z]+")


@pytest.fixture(scope="module", autouse=True)
def small_histograms() -> Iterator[None]:
    """A histogram of hours takes half a second to write."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "_LONGEST_NS", 10**5)
        yield


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every file that a run and its exports leave."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("other", "run"):
        write_whole(folder / name)
    return folder / "run"


def write_whole(path: Path) -> None:
    operators = (Operator("a", "MatMul", 8.0, "mm", ("a",)), Operator("b", "Relu", 2.0, "relu"))
    with RunFolder.create(path, manifest_of(rounds=2)) as folder:
        folder.begin({"host": "here", "cpu": "one"})
        for number in range(2):
            for case in (CASE, OTHER):
                readings = [Reading(n * 10_000, "cpu", energy_mj=5.0 * n) for n in range(9)]
                folder.record_readings(case.case_id, number, readings)
                checksum = folder.readings_crc32(case.case_id, number)
                latencies = [20.0 + 0.01 * (place * 37 % 100) for place in range(60)]
                record(folder, case, number, latencies, warmup=3, readings_crc32=checksum)
        folder.record(write_operators(folder, OperatorTimes(CASE.case_id, "wall", 9, operators)))
        run = read_run(path)
        write_tables(folder, Rows().of(run))
        export(run, installed_formats())
    (path / LIVE).write_text('{"state": "finished", "cases_total": 2}')


def installed_formats() -> tuple[str, ...]:
    packages = {name: FORMATS[name].package for name in FORMATS}
    return tuple(name for name, package in packages.items() if not package or find_spec(package))


def derived_files(run: Path) -> list[Path]:
    """Every file but journals, samples and the lock, which holds nothing."""
    files = (path.relative_to(run) for path in sorted(run.rglob("*")) if path.is_file())
    derived = [file for file in files if file.parts[0] not in (FOLDER, SAMPLES, LOCK)]
    return [file for file in derived if file.suffix != ".parquet"]


def edited_text(text: bytes, rng: random.Random) -> bytes:
    """With one digit or letter of one value changed."""
    value = rng.choice(list(_VALUE.finditer(text)))
    place = rng.randrange(value.start(), value.end())
    letters = b"0123456789" if text[place : place + 1].isdigit() else b"abcdefxyzKQ"
    letters_left = [letter for letter in letters if letter != text[place]]
    return text[:place] + bytes([rng.choice(letters_left)]) + text[place + 1 :]


def edit_value(path: Path, rng: random.Random) -> None:
    """Change one value of a file and renew the checksum that it has."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(edited_text(gzip.decompress(content), rng), mtime=0))
    elif path.name == MANIFEST:
        body, _, _ = content.rpartition(DOCUMENT.prefix)
        assert DOCUMENT.sealed(body + DOCUMENT.end) == content
        path.write_bytes(DOCUMENT.sealed(edited_text(body, rng) + DOCUMENT.end))
    else:
        path.write_bytes(edited_text(content, rng))
    assert path.read_bytes() != content


def texts_of(run: Path) -> dict[str, str]:
    """What readers show of a run, and export of it elsewhere."""
    texts = {"show": printed("show", str(run), columns=200)}
    texts["compare"] = printed("compare", str(run.parent / "other"), str(run), columns=200)
    texts["report"] = "".join(page([(read_intact(run).run, ())]))
    with TemporaryDirectory(dir=run.parent) as scratch:
        copy = Path(shutil.copytree(run, Path(scratch, "copy")))
        for path in export(read_intact(copy).run, ("json", "markdown", "csv", "trace")):
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            texts[path.name] = data.decode()
    return texts


_RARE_SEEDS = [pytest.param(seed, marks=pytest.mark.rare) for seed in range(1, 20)]


def is_found(run: Path) -> bool:
    try:
        return verify(run, check_derived).damaged
    except ResultsError:  # a schema that no reader knows
        return True


@pytest.mark.parametrize("seed", [0, *_RARE_SEEDS])
def test_an_edit_of_a_derived_file_is_found_or_shows_nowhere(
    whole_run: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten edits for each seed."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    rng = random.Random(seed)
    run = tmp_path / "run"
    shutil.copytree(whole_run.parent / "other", tmp_path / "other")
    shutil.copytree(whole_run, run)
    assert not verify(run, check_derived).findings
    texts, files = texts_of(run), derived_files(run)
    for _ in range(10):
        file = rng.choice(files)
        content = (run / file).read_bytes()
        edit_value(run / file, rng)
        edited_bytes = (run / file).read_bytes()
        if not is_found(run):
            assert texts_of(run) == texts, (file, edited_bytes)
            assert (run / file).read_bytes() == edited_bytes
        (run / file).write_bytes(content)
    assert not verify(run, check_derived).findings
