"""The store keeps a file once, notices damage, and survives writers that race or die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exporters.cache import Store, key_of
from exporters.file_access import file_sha256
from exporters.types import GraphlapError
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


def _start_writer(root: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_what_was_put_is_found_again(tmp_path: Path) -> None:
    stored(Store(tmp_path), KEY, b"weights")
    entry = Store(tmp_path).get(KEY)
    assert entry is not None
    assert entry.facts == {"size": 7}
    assert entry.files["model"].read_bytes() == b"weights"
    assert Store(tmp_path).get(key_of(name="b")) is None


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


def test_using_an_entry_makes_it_the_most_recent(tmp_path: Path) -> None:
    store = Store(tmp_path)
    stored(store, KEY, b"weights")
    (entry,) = (tmp_path / "entries").iterdir()
    os.utime(entry, (0, 0))
    store.get(KEY)
    assert entry.stat().st_mtime > 0


def test_a_kill_at_any_moment_leaves_a_readable_store(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for delay_s in (0.005, 0.02, 0.05, 0.08):
        writer = _start_writer(tmp_path)
        time.sleep(delay_s)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        for file in (tmp_path / "objects").iterdir():
            assert file_sha256(file) == file.stem
        entry = store.get(KEY)
        if entry is not None:
            assert entry.files["model"].read_bytes() == str(entry.facts["number"]).encode() * 50_000
    assert store.get(KEY) is not None


def test_two_writers_and_a_reader_never_see_half_an_entry(tmp_path: Path) -> None:
    store = Store(tmp_path)
    writers = [_start_writer(tmp_path), _start_writer(tmp_path)]
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
            writer.kill()
            writer.communicate()


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
