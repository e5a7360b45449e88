"""A host's side of a link, in a thread of this process: what it keeps, whom it waits for."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from app.machine.environment import graphlap_version
from app.remote import host as host_module
from app.remote.host import Host, _Sent
from app.remote.link import BLOCK_BYTES, Frames, HostError, frame
from app.remote.store import FileStore, own_folder, plain

MACHINE = "of this test"


class Talk:
    """The run's side of the link."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._frames = Frames()
        self._messages: list[dict[str, Any]] = []

    def say(self, values: dict[str, Any], data: bytes = b"") -> None:
        os.write(self._send, frame(values, data))

    def hear(self, key: str) -> Any:
        """What the next message that has the key says of it."""
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            while self._messages:
                message = self._messages.pop(0)
                if key in message:
                    return message[key]
            data = os.read(self._receive, BLOCK_BYTES)
            self._messages += [values for values, _ in self._frames.take(data)]
        raise AssertionError(f"no message has {key}")


@contextmanager
def served() -> Iterator[Talk]:
    there, send = os.pipe()
    receive, back = os.pipe()
    host = Host(there, back, (), MACHINE)
    thread = Thread(target=host.serve)
    thread.start()
    try:
        yield Talk(send, receive)
    finally:
        os.close(send)
        thread.join(30.0)
        assert not thread.is_alive(), "it ends with the link"
        os.close(there)
        os.close(receive)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path))
    return tmp_path / "worker"


def test_it_greets_and_tells_what_it_is(root: Path) -> None:
    with served() as talk:
        assert talk.hear("graphlap") == graphlap_version()
        talk.say({"doctor": "board"})
        there = talk.hear("host")
    assert (there["name"], there["machine"]) == ("board", MACHINE)
    assert there["runtimes"]["fake"]["version"]


def test_a_file_that_was_damaged_in_the_store_is_brought_again(root: Path) -> None:
    content = b"weights" * 1000
    digest = hashlib.sha256(content).hexdigest()
    with served() as talk:
        for damaged in (False, True):
            if damaged:
                (root / "files" / digest).write_bytes(b"x" + content[1:])
            talk.say({"share": {"bundle/0/w": [digest, len(content)]}})
            assert talk.hear("lacks") == [digest]
            talk.say({"content": True}, content)
            talk.hear("ended")  # it is no run folder
            assert (root / "files" / digest).read_bytes() == content
        talk.say({"share": {"bundle/0/w": [digest, len(content)]}})
        assert talk.hear("lacks") == []
        talk.hear("ended")


def test_a_file_of_another_content_is_refused_and_not_kept(root: Path) -> None:
    digest = hashlib.sha256(b"right").hexdigest()
    with served() as talk:
        talk.say({"share": {"manifest.json": [digest, 5]}})
        talk.hear("lacks")
        talk.say({"content": True}, b"wrong")
        assert "another content" in talk.hear("refused")
    assert not list((root / "files").iterdir())


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "a/../../b"])
def test_a_name_that_leads_out_of_the_share_is_refused(root: Path, name: str) -> None:
    with pytest.raises(HostError):
        plain(name)
    with served() as talk:
        digest = hashlib.sha256(b"").hexdigest()
        talk.say({"share": {name: [digest, 0]}})
        talk.hear("lacks")
        assert "is no file's name" in talk.hear("refused")


def test_a_machine_that_measures_for_somebody_else_is_waited_for_so_long(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "LOCK_WAIT_S", 1.0)
    name = hashlib.sha256(MACHINE.encode()).hexdigest()[:16]
    root.mkdir(parents=True)
    with (root / f"turn-{name}").open("w") as lock, served() as talk:
        fcntl.flock(lock, fcntl.LOCK_EX)
        talk.say({"share": {}})
        assert "another run measures there" in talk.hear("waits")
        assert "another run measures there" in talk.hear("refused")


def test_the_store_forgets_what_was_used_longest_ago(tmp_path: Path) -> None:
    store = FileStore(tmp_path, 100)
    digests = []
    for number in range(3):
        part = tmp_path / "part"
        part.write_bytes(bytes([number]) * 40)
        digests.append(hashlib.sha256(part.read_bytes()).hexdigest())
        store.take(digests[-1], part)
        os.utime(tmp_path / "files" / digests[-1], (number, number))
    assert [store.has(digest) for digest in digests] == [False, True, True]
    with pytest.raises(HostError, match="GRAPHLAP_CACHE_LIMIT"):
        store.refuse_large(101)


def test_folders_of_processes_that_were_killed_are_removed(tmp_path: Path) -> None:
    abandoned = tmp_path / "shares" / "abandoned"
    abandoned.mkdir(parents=True)
    (abandoned / "lock").touch()
    with own_folder(tmp_path / "shares") as first, own_folder(tmp_path / "shares") as second:
        assert sorted((tmp_path / "shares").iterdir()) == sorted([first, second])
    assert not list((tmp_path / "shares").iterdir())


def test_a_journal_is_sent_after_the_files_that_it_tells_of(tmp_path: Path) -> None:
    for folder in ("journal", "samples"):
        (tmp_path / folder).mkdir()
    (tmp_path / "samples/came-with-the-share.bin").write_bytes(b"earlier")
    sent = _Sent(tmp_path)
    (tmp_path / "journal/w.jsonl").write_bytes(b"line\n")
    (tmp_path / "samples/a.0.bin").write_bytes(bytes(BLOCK_BYTES + 5))
    parts = [(m["file"], m["offset"], len(data)) for m, data in sent.news()]
    assert parts == [
        ("samples/a.0.bin", 0, BLOCK_BYTES),
        ("samples/a.0.bin", BLOCK_BYTES, 5),
        ("journal/w.jsonl", 0, 5),
    ]
    with (tmp_path / "journal/w.jsonl").open("ab") as journal:
        journal.write(b"more\n")
    (tmp_path / "samples/a.0.bin").unlink()
    (tmp_path / "samples/a.0.bin").write_bytes(b"anew")
    assert [(m["file"], m["offset"], data) for m, data in sent.news()] == [
        ("samples/a.0.bin", 0, b"anew"),
        ("journal/w.jsonl", 5, b"more\n"),
    ]


def test_frames_are_cut_from_pieces_of_any_size_and_bounded() -> None:
    stream = b"motd\n" + frame({"a": 1}) + frame({"b": 2}, b"\n{}\n") + frame({"c": 3})
    for size in (1, 3, len(stream)):
        frames = Frames()
        pieces = [stream[place : place + size] for place in range(0, len(stream), size)]
        found = [message for piece in pieces for message in frames.take(piece)]
        assert [data for _, data in found] == [b"", b"\n{}\n", b""]
    with pytest.raises(HostError):
        list(Frames().take(b'{"bytes": 99999999}\n'))
