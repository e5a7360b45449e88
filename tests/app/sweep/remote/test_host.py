"""A host's side of a link, in a thread of this process: what it keeps, whom it waits for."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from app.machine.environment import graphlap_version
from app.sweep.remote import host as host_module
from app.sweep.remote.host import Server
from exporters.cache import key_of

MACHINE = "of this test"


class Talk:
    """The run's side of the link."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self.receive = send, os.fdopen(receive, "rb")

    def say(self, values: dict[str, Any]) -> None:
        os.write(self._send, json.dumps(values).encode() + b"\n")

    def bring(self, content: bytes) -> None:
        for data in (content, b""):
            self.say({"data": b64encode(data).decode()})

    def hear(self, key: str) -> Any:
        """What the next message that has the key says of it."""
        for line in self.receive:
            values: dict[str, Any] = json.loads(line)
            if key in values:
                return values[key]
        raise AssertionError(f"no message has {key}")


@contextmanager
def served() -> Iterator[Talk]:
    there, send = os.pipe()
    receive, back = os.pipe()
    host = Server(there, back, (), MACHINE)
    thread = Thread(target=host.serve)
    thread.start()
    talk = Talk(send, receive)
    try:
        yield talk
    finally:
        os.close(send)
        thread.join(30.0)
        assert not thread.is_alive(), "it ends with the link"
        os.close(there)
        talk.receive.close()


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
                (root / "objects" / digest).write_bytes(b"x" + content[1:])
            talk.say({"share": {"bundle/0/w": digest}})
            assert talk.hear("lacks") == [digest]
            talk.bring(content)
            talk.hear("ended")  # it is no run folder
            assert (root / "objects" / digest).read_bytes() == content
        talk.say({"share": {"bundle/0/w": digest}})
        assert talk.hear("lacks") == []
        talk.hear("ended")


@pytest.mark.parametrize(
    ("name", "content", "brought", "said"),
    [
        ("../escaped", b"", b"", "is no file's name"),
        ("/tmp/escaped", b"", b"", "is no file's name"),
        ("a/../../b", b"", b"", "is no file's name"),
        ("manifest.json", b"right", b"wrong", "another content"),
        ("bundle/0/w", bytes(101), bytes(101), "raise the cache's limit"),
    ],
)
def test_a_file_that_no_share_may_have_is_refused(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes,
    brought: bytes,
    said: str,
) -> None:
    if "limit" in said:
        monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", "100")
    with served() as talk:
        talk.say({"share": {name: hashlib.sha256(content).hexdigest()}})
        talk.hear("lacks")
        talk.bring(brought)
        assert said in talk.hear("refused")
    if brought != content:
        assert not list((root / "objects").iterdir()), "it is not kept"


def test_a_machine_that_measures_for_somebody_else_is_waited_for_so_long(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "LOCK_WAIT_S", 1.0)
    name = key_of(machine=MACHINE)[:16]
    root.mkdir(parents=True)
    with (root / f"turn-{name}").open("w") as lock, served() as talk:
        fcntl.flock(lock, fcntl.LOCK_EX)
        talk.say({"share": {}})
        assert "another run measures there" in talk.hear("waits")
        assert "another run measures there" in talk.hear("refused")
