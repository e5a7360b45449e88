"""Stored statistics: the same rows as without them, and never those of something that changed."""

from __future__ import annotations

import errno
import gc
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns import rows
from app.analysis.columns.rows import Rows
from app.cases.column import Row
from app.cases.round import RECORD
from app.plan.plan import Plan
from app.run_folder import journal as lines
from app.run_folder import run as folder_run
from app.run_folder import statistics_store
from app.run_folder.folder import RunFolder
from app.run_folder.journal import FOLDER, DiscardedRound, Journal, TimeSpent
from app.run_folder.manifest import MANIFEST
from app.run_folder.run import SAMPLES
from app.run_folder.statistics_store import StatisticsStore
from app.runs import reader
from app.runs.verify import read_intact, verify
from exporters.file_access import read_file
from tests.app.run_folder.resealed import reseal_journal, reseal_manifest
from tests.app.run_folder.runs import CASE, PLAN, manifest_of, record

LATENCIES_US = [20.0 + 0.01 * (place * 37 % 100) for place in range(600)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of one measured case of three rounds, and one that was not begun."""
    return written(tmp_path / "run")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the statistics are stored; the files of the tests are old enough for it."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(statistics_store, "SETTLED_NS", -1)
    return statistics_store.folder()


def stored_in(path: Path) -> Path:
    return StatisticsStore(path, "").path


def tick() -> None:
    """Of the file system's clock."""
    time.sleep(0.02)


@pytest.fixture
def read_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of samples that readers open."""
    names: list[str] = []

    def count_open(path: Path, *arguments: Any, **options: Any) -> bytes:
        if path.parent.name == SAMPLES:
            names.append(path.name)
        return read_file(path, *arguments, **options)

    for module in (reader, folder_run):
        monkeypatch.setattr(module, "read_file", count_open)
    return names


def calls_of(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, told: Callable[..., str]
) -> list[str]:
    """What the calls of a function tell, which goes on as it did."""
    calls: list[str] = []
    function = getattr(module, name)

    def count_call(*arguments: Any) -> Any:
        calls.append(told(*arguments))
        return function(*arguments)

    monkeypatch.setattr(module, name, count_call)
    return calls


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of journals that are understood anew."""
    return calls_of(monkeypatch, lines, "parse_line", bytes.decode)


@pytest.fixture
def computed_ids(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The cases of which statistics are computed and not taken from the store."""
    return calls_of(monkeypatch, rows, "statistics_of", lambda _, case, *__: str(case.case_id))


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The cases whose rows are filled and not taken from the store."""
    return calls_of(monkeypatch, rows, "fill_row", lambda data, _: str(data.case.case_id))


def written(path: Path, plan: Plan = PLAN) -> Path:
    with RunFolder.create(path, manifest_of(rounds=3, plan=plan)) as run:
        for number in range(3):
            latencies = [value * (1.0 + 0.01 * number) for value in LATENCIES_US]
            record(run, CASE, number, latencies, warmup=5)
    return path


def rows_of(path: Path) -> list[Row]:
    return Rows().of(read_intact(path).run)


def samples_of(path: Path, number: int = 1) -> Path:
    return path / "samples" / f"{CASE.case_id}.{number}.bin"


def _offset(name: str) -> int:
    assert RECORD.fields is not None
    return RECORD.fields[name][1]


def changed_in_place(path: Path) -> None:
    """One latency becomes 0.5 us longer, and size and times of the file stay what they were."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    place = 300 * RECORD.itemsize + _offset("finished_ns")
    value = int.from_bytes(data[place : place + 8], "little") + 500
    data[place : place + 8] = value.to_bytes(8, "little")
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)


def edited_manifest(path: Path, **settings: Any) -> None:
    manifest = path / MANIFEST
    values = json.loads(manifest.read_bytes())
    values["plan"].update(settings)
    manifest.write_text(json.dumps(values))
    reseal_manifest(manifest)


def test_a_second_reader_reads_and_computes_nothing_and_has_the_same_rows(
    folder: Path,
    decoded: list[str],
    read_names: list[str],
    computed_ids: list[str],
    filled: list[str],
) -> None:
    first = rows_of(folder)
    assert computed_ids == [CASE.case_id]
    assert stored_in(folder).is_file()
    for calls in (decoded, read_names, computed_ids, filled):
        assert calls
        calls.clear()
    second = rows_of(folder)
    assert not decoded + read_names + computed_ids + filled
    assert second == first and gc.isenabled()
    kinds = [{name: type(value) for name, value in row.items()} for row in (*first, *second)]
    assert kinds[:2] == kinds[2:]


def test_the_same_run_is_read_with_and_without_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of comparisons with it."""
    folder = written(tmp_path / "run", PLAN.model_copy(update={"baseline": CASE.runtime}))
    rows_of(folder)
    monkeypatch.chdir(folder.parent)
    first, second = (read_intact(Path("run"), from_cache) for from_cache in (False, True))
    assert second.run.store is not None
    assert Rows().measured(second.run) == Rows().measured(first.run)
    for name in type(first.run).__slots__:
        if name != "store":
            assert getattr(second.run, name) == getattr(first.run, name), name
    assert second.ledger.run.rounds == first.ledger.run.rounds
    assert (second.findings, second.counts) == (first.findings, first.counts)


@pytest.mark.parametrize("name", ["journal/later.jsonl", "telemetry/a.jsonl", "operators/a.csv"])
def test_a_file_that_comes_or_goes_is_noticed(folder: Path, decoded: list[str], name: str) -> None:
    """A journal whose lines tell no result is read by itself; any other file by a whole reading."""
    rows_of(folder)
    lines_in_run = len(decoded)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lines.journal_text([lines.line_values(TimeSpent({}))]))
    for _ in range(2):
        decoded.clear()
        rows_of(folder)
        assert len(decoded) == (1 if path.parent.name == FOLDER else 0 if _ else lines_in_run)
    path.unlink()
    decoded.clear()
    rows_of(folder)
    assert len(decoded) == (0 if path.parent.name == FOLDER else lines_in_run)


def record_crash(path: Path) -> None:
    with RunFolder.reopen(path) as run:
        record(run, CASE, 3, status="crashed", reason="it ended with signal 11")


def discard_last(path: Path) -> None:
    with RunFolder.reopen(path) as run:
        run.record(DiscardedRound(CASE.case_id, 2, "measured again"))


def record_round(path: Path) -> None:
    with RunFolder.reopen(path) as run:
        record(run, CASE, 3, [30.0] * 600)


def cut_samples(path: Path) -> None:
    with samples_of(path).open("r+b") as file:
        file.truncate(10 * RECORD.itemsize)


def edit_line(path: Path) -> None:
    (journal,) = (path / FOLDER).iterdir()
    loaded = b'"environment":{"load_1min":7.5},"options"'
    journal.write_bytes(journal.read_bytes().replace(b'"environment":{},"options"', loaded))
    reseal_journal(journal)


@pytest.mark.parametrize(
    ("change", "column"),
    [
        (lambda path: changed_in_place(samples_of(path)), "latency_mean_us"),
        (cut_samples, "rounds"),
        (lambda path: samples_of(path).unlink(), "rounds"),
        (edit_line, "load_1min"),
        (record_crash, "status"),
        (discard_last, "rounds"),
        (record_round, "rounds"),
        (lambda path: edited_manifest(path, percentiles=[50.0, 97.0]), "latency_p97_us"),
        (lambda path: edited_manifest(path, deadline_us=20.5), "deadline_miss_rate"),
        (lambda path: edited_manifest(path, precise={"p50": 0.01}), "stop_reason"),
    ],
)
def test_what_was_changed_is_noticed(
    folder: Path, change: Callable[[Path], None], column: str
) -> None:
    """A flipped byte also where size and times of the file stay what they were."""
    before = rows_of(folder)[0]
    tick()
    change(folder)
    after = rows_of(folder)[0]
    assert after.get(column) != before.get(column)
    stored_in(folder).unlink()
    assert rows_of(folder)[0] == after


def test_another_program_and_a_copy_have_their_own_figures(
    folder: Path, computed_ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left in the folder that a copy could bring along."""
    entries, first = sorted(folder.rglob("*")), rows_of(folder)
    assert sorted(folder.rglob("*")) == entries
    assert rows_of(shutil.copytree(folder, tmp_path / "copy")) == first
    monkeypatch.setattr(rows, "program", lambda: "another")
    assert rows_of(folder) == first
    assert computed_ids == [CASE.case_id] * 3


@pytest.mark.parametrize("damage", ["cut", "flipped", "folder"])
def test_a_damaged_store_is_ignored_and_written_anew(
    folder: Path, computed_ids: list[str], damage: str
) -> None:
    rows_before = Rows().measured(read_intact(folder).run)
    path = stored_in(folder)
    text = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        flipped = bytes(byte ^ 1 for byte in text)
        path.write_bytes(flipped if damage == "flipped" else text[: len(text) // 2])
    assert Rows().measured(read_intact(folder).run) == rows_before
    assert computed_ids == [CASE.case_id] * 2
    if damage != "folder":
        assert Rows().measured(read_intact(folder).run) == rows_before
        assert computed_ids == [CASE.case_id] * 2


def test_a_resume_with_nothing_left_fills_no_row_and_a_changed_writer_is_noticed(
    tmp_path: Path, filled: list[str]
) -> None:
    folder = tmp_path / "run"
    with RunFolder.create(folder, manifest_of(rounds=1)) as run:
        run.begin({"host": "here"})
        record(run, CASE, 0, LATENCIES_US)
    rows = rows_of(folder)
    assert rows[0]["host"] == "here"
    with RunFolder.reopen(folder) as run:
        run.begin({"host": "here"})
        run.record(TimeSpent({"measurement": {"fake": 1.0}}))
    filled.clear()
    assert rows_of(folder) == rows
    assert not [case_id for case_id in filled if case_id == CASE.case_id]
    for journal in (folder / FOLDER).iterdir():
        text = journal.read_bytes()
        journal.write_bytes(text.replace(b'"host":"here"', b'"host":"elsewhere"'))
        reseal_journal(journal)
    assert rows_of(folder)[0]["host"] == "elsewhere"
    assert CASE.case_id in filled


def test_a_part_that_is_damaged_or_names_another_class_is_no_part(folder: Path) -> None:
    """A class that is none of our values is never called."""
    store = StatisticsStore(folder, "")
    store.put("fine", [CASE, folder, {"a": (1, None)}])
    store.put("foreign", time.struct_time(range(9)))
    store.put("no value", Journal)
    store.put("damaged", "second")
    store.save()
    store.path.write_bytes(store.path.read_bytes().replace(b"second", b"secund"))
    again = StatisticsStore(folder, "")
    assert again.load("fine") == [CASE, folder, {"a": (1, None)}]
    assert [again.load(name) for name in ("foreign", "no value", "damaged", "absent")] == [None] * 4
    assert StatisticsStore(folder, "another program").load("fine") is None


def test_without_a_cache_that_can_be_written_a_run_is_read_all_the_same(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_path = Path.open

    def refuse(path: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if path.parent == cache and "x" in mode:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return open_path(path, mode, *arguments, **named)

    monkeypatch.setattr(Path, "open", refuse)
    assert rows_of(folder)[0]["rounds"] == 3
    assert not stored_in(folder).exists() and not list(cache.glob(".*"))


def test_verify_neither_reads_nor_writes_the_store(folder: Path, computed_ids: list[str]) -> None:
    verify(folder)
    assert not stored_in(folder).exists()
    rows_of(folder)
    content, status = stored_in(folder).read_bytes(), stored_in(folder).stat()
    computed_ids.clear()
    assert not verify(folder).damaged
    assert computed_ids == [CASE.case_id]
    assert stored_in(folder).read_bytes() == content
    assert stored_in(folder).stat().st_mtime_ns == status.st_mtime_ns


def test_the_least_recently_written_go_where_the_cache_is_full(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is stored of files that were just written."""
    rows_of(folder)
    size = stored_in(folder).rename(cache / "older.parts").stat().st_size
    monkeypatch.setattr(statistics_store, "MOST_BYTES", size)
    rows_of(folder)
    assert list(cache.iterdir()) == [stored_in(folder)]
    stored_in(folder).unlink()
    monkeypatch.setattr(statistics_store, "SETTLED_NS", 3600 * 10**9)
    rows_of(folder)
    assert not stored_in(folder).exists()
