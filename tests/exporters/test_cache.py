"""The store keeps a file once, notices damage, and survives writers that race or die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exporters import cache
from exporters.cache import Store, key_of
from exporters.file_access import file_sha256
from exporters.types import ExportError, GraphlapError
from tests.exporters.support import stored

KEY = key_of(name="a")

# Writes entry after entry, each over the one before, with content that its facts describe.
WRITER = """
import sys
from pathlib import Path
from exporters.cache import Store, key_of
store = Store(Path(sys.argv[1]))
print("ready", flush=True)
for number in range(1_000_000):
    with store.scratch() as folder:
        path = folder / "model.onnx"
        path.write_bytes(str(number).encode() * 50_000)
        store.put(key_of(name="a"), {"number": number}, {"model": path})
"""


def _start(code: str, *arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_equal_content_is_stored_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert stored(store, KEY, b"weights") == stored(store, key_of(name="b"), b"weights")


@pytest.mark.parametrize("damage", [b"", b"weightz", b"weights and more"])
def test_a_damaged_file_is_rebuilt(tmp_path: Path, damage: bytes) -> None:
    store = Store(tmp_path)
    path = stored(store, KEY, b"weights")
    path.write_bytes(damage)
    assert store.get(KEY) is None
    stored(store, KEY, b"weights")
    assert store.get(KEY) is not None
    assert path.read_bytes() == b"weights"


def test_a_missing_file_and_a_damaged_entry_are_misses(tmp_path: Path) -> None:
    store = Store(tmp_path)
    stored(store, KEY, b"weights").unlink()
    assert store.get(KEY) is None
    stored(store, KEY, b"weights")
    (entry,) = (tmp_path / "entries").iterdir()
    entry.write_text(entry.read_text().replace('"size": 7', '"size": 8'))
    assert store.get(KEY) is None
    entry.write_text("[]")
    assert store.get(KEY) is None


def test_a_kill_at_any_moment_leaves_a_readable_store(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for delay_s in (0.005, 0.02, 0.05, 0.08):
        writer = _start(WRITER, str(tmp_path))
        time.sleep(delay_s)
        _end(writer)
        for file in (tmp_path / "objects").iterdir():
            assert file_sha256(file) == file.stem
        entry = store.get(KEY)
        if entry is not None:
            assert entry.files["model"].read_bytes() == str(entry.facts["number"]).encode() * 50_000
    assert store.get(KEY) is not None


def test_two_writers_and_a_reader_never_see_half_an_entry(tmp_path: Path) -> None:
    store = Store(tmp_path)
    writers = [_start(WRITER, str(tmp_path)), _start(WRITER, str(tmp_path))]
    seen_sizes: set[int] = set()
    try:
        while len(seen_sizes) < 20:
            assert all(writer.poll() is None for writer in writers)
            entry = store.get(KEY)
            if entry is not None:
                number = entry.facts["number"]
                assert entry.files["model"].read_bytes() == str(number).encode() * 50_000
                seen_sizes.add(number)
    finally:
        for writer in writers:
            _end(writer)


def test_what_a_kill_left_aside_is_removed_a_day_later(tmp_path: Path) -> None:
    Store(tmp_path)
    old, new = tmp_path / "aside" / "old", tmp_path / "aside" / "new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "model.onnx").write_bytes(b"half")
    yesterday = time.time() - 2 * 24 * 3600
    os.utime(old, (yesterday, yesterday))
    Store(tmp_path)
    assert not old.exists()
    assert new.exists()


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(GraphlapError, match="GRAPHLAP_CACHE"):
        Store(tmp_path / "file" / "cache")


KIB = 1024

# Puts 16 entries of 64 KiB each, tells that it has them, and lives until it is killed.
HOLDER = """
import sys, time
from pathlib import Path
from exporters.cache import Store, key_of
store = Store(Path(sys.argv[1]))
for number in range(16):
    with store.scratch() as folder:
        path = folder / "model.onnx"
        path.write_bytes(f"{sys.argv[2]} {number} ".encode() * 6000)
        store.put(key_of(holder=sys.argv[2], number=number), {}, {"model": path})
print("ready", flush=True)
time.sleep(600)
"""


def _dead_pid() -> int:
    """The id of a process that is no more: what it leased is free."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def _put(store: Store, name: str, kib: int) -> Path:
    return stored(store, key_of(name=name), name.encode().ljust(kib * KIB, b"."))


def _age(root: Path, name: str, seconds: float) -> None:
    os.utime(root / "entries" / f"{key_of(name=name)}.json", (seconds, seconds))


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    dead_pid = _dead_pid()
    store = Store(tmp_path, holder=dead_pid)
    for place, name in enumerate(("first", "second", "third")):
        _put(store, name, 100)
        _age(tmp_path, name, 1000.0 + place)
    store.get(key_of(name="first"))
    Store(tmp_path, 250 * KIB, holder=dead_pid).settle()
    kept_names = [name for name in ("first", "second", "third") if store.get(key_of(name=name))]
    assert kept_names == ["first", "third"]
    assert cache.info(tmp_path).size_bytes == 200 * KIB


def test_a_file_that_another_entry_needs_stays(tmp_path: Path) -> None:
    dead_pid = _dead_pid()
    store = Store(tmp_path, holder=dead_pid)
    with store.scratch() as folder:
        for key in ("old", "new"):
            path = folder / "model.onnx"
            path.write_bytes(b"shared" * KIB)
            store.put(key_of(name=key), {}, {"model": path})
    _age(tmp_path, "old", 1.0)
    _put(store, "other", 10)
    Store(tmp_path, 17 * KIB, holder=dead_pid).settle()
    entry = store.get(key_of(name="new"))
    assert entry is not None
    assert entry.files["model"].read_bytes() == b"shared" * KIB


def test_what_the_running_plan_used_is_kept_and_the_rest_goes(tmp_path: Path) -> None:
    _put(Store(tmp_path, holder=_dead_pid()), "of an earlier run", 100)
    store = Store(tmp_path, 150 * KIB)
    own_entry = _put(store, "of this run", 100)
    _age(tmp_path, "of this run", 1.0)
    store.settle()
    assert own_entry.exists()
    assert store.get(key_of(name="of an earlier run")) is None


def test_a_plan_larger_than_the_limit_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    first = Store(tmp_path, 150 * KIB)
    _put(first, "fits", 100)
    first.settle()
    second = Store(tmp_path, 150 * KIB)
    _put(second, "too much", 100)
    with pytest.raises(ExportError, match=r"needs at least 0\.2 MiB.*may hold 0\.1 MiB: raise"):
        second.settle()
    assert second.get(key_of(name="too much")) is None
    assert first.get(key_of(name="fits")) is not None
    assert cache.info(tmp_path).size_bytes == 100 * KIB


def test_two_running_plans_keep_theirs_even_beyond_the_limit(tmp_path: Path) -> None:
    other = _start(HOLDER, str(tmp_path), "other")
    try:
        cache_info = cache.info(tmp_path)
        assert cache_info.in_use_bytes == cache_info.size_bytes > 500 * KIB
        store = Store(tmp_path, 500 * KIB)
        own_entry = _put(store, "mine", 400)
        store.settle()
        assert own_entry.exists()
        assert cache.info(tmp_path).size_bytes == cache_info.size_bytes + 400 * KIB
    finally:
        _end(other)
    Store(tmp_path, 500 * KIB).settle()
    assert cache.info(tmp_path).size_bytes <= 500 * KIB
    assert own_entry.exists()


def test_clear_spares_a_running_plan_and_tells_what_it_freed(tmp_path: Path) -> None:
    _put(Store(tmp_path, holder=_dead_pid()), "old", 70)
    own_entry = _put(Store(tmp_path), "mine", 30)
    assert cache.clear(tmp_path) == 70 * KIB
    info = cache.info(tmp_path)
    assert (info.entries, info.files, info.size_bytes) == (1, 1, 30 * KIB)
    assert own_entry.exists()
