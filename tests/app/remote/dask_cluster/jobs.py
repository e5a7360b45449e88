"""Jobs for our own child, and what comes of one, in its order."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any

from app.remote.contract import FILE, SAMPLES, Block, Ended, HostFile, HostJob, Lost, Message, Said

BLOCK = 1000


def job(
    name: str, blocks: int = 3, pause_s: float = 0.0, files: tuple[HostFile, ...] = ()
) -> HostJob:
    message: dict[str, Any] = {
        "samples": SAMPLES,
        "blocks": blocks,
        "block_bytes": BLOCK,
        "pause_s": pause_s,
    }
    if files:
        message["file"] = f"{FILE}{files[0].sha256}/{files[0].name}"
    return HostJob(id=name, kind="talk", line=json.dumps(message), files=files)


def samples(blocks: int) -> bytes:
    """What that child writes."""
    return b"".join(bytes([number % 251]) * BLOCK for number in range(blocks))


@dataclass
class Heard:
    """Messages of one job, from any thread."""

    messages: list[Message] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    any: threading.Event = field(default_factory=threading.Event)

    def __call__(self, message: Message) -> None:
        self.messages.append(message)
        self.any.set()
        if isinstance(message, Ended | Lost):
            self.over.set()

    def last(self, within_s: float = 60.0) -> Message:
        assert self.over.wait(within_s), self.messages
        return self.messages[-1]

    def ended(self) -> Ended:
        last = self.last()
        assert isinstance(last, Ended), last
        return last

    def lost(self) -> Lost:
        last = self.last()
        assert isinstance(last, Lost), last
        return last

    def said(self, event: str) -> dict[str, Any]:
        """The event of this name that the child told; it has said it, or will within a minute."""
        assert self.any.wait(60.0)
        lines = [json.loads(m.line) for m in self.messages if isinstance(m, Said)]
        message: dict[str, Any] = next(line for line in lines if line["event"] == event)
        return message

    def data(self) -> bytes:
        """All samples; each block must begin where the last one ended."""
        data = b""
        for message in self.messages:
            if isinstance(message, Block):
                assert message.offset == len(data)
                data += message.data
        return data
