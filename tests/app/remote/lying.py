"""Real agents whose words are changed on their way to the sweep: hosts that lie.

`LIES` change what has arrived, in the sweep's own process. `FLOODS` have no end, so they are told
by a process between the agent and the sweep, which `flooding` starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from threading import Thread
from typing import IO, Any, ClassVar

import numpy as np

from app.cases.round import RECORD
from app.remote.wire import Frames
from tests.checkout import ROOT

Frame = tuple[dict[str, Any], bytes]
Lie = Callable[[dict[str, Any], bytes], Iterator[Frame]]


class LyingFrames(Frames):
    """What has arrived, changed by the lie that is told now, if any."""

    lie: ClassVar[Lie | None] = None

    def take(self, data: bytes) -> Iterator[Frame]:
        for values, block in super().take(data):
            lie = type(self).lie
            yield from lie(values, block) if lie is not None else ((values, block),)


def flooding(lie: str, command: tuple[str, ...]) -> tuple[str, ...]:
    """What starts the agent of `command` behind this flood."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    return (sys.executable, "-c", start + f"from {__name__} import main; main()", lie, *command)


def main() -> None:
    agent = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)
    assert agent.stdout is not None
    lie = FLOODS[sys.argv[1]]
    for values, data in _frames(agent.stdout):
        for reply, payload in lie(values, data):
            _send(reply, payload)
    sys.exit(agent.wait())


def _frames(pipe: IO[bytes]) -> Iterator[Frame]:
    while line := pipe.readline():
        values = json.loads(line)
        yield values, pipe.read(values.get("bytes", 0))


def _send(values: dict[str, Any], data: bytes = b"") -> None:
    header = {**values, "bytes": len(data)} if data else values
    os.write(1, json.dumps(header).encode() + b"\n")
    while data:
        data = data[os.write(1, data) :]


def _alter_result(change: Callable[[dict[str, Any]], object]) -> Lie:
    """The worker's last line with something changed in it."""

    def lie(values: dict[str, Any], data: bytes) -> Iterator[Frame]:
        if '"result"' in values.get("said", ""):
            told = json.loads(values["said"])
            change(told)
            values = {**values, "said": json.dumps(told)}
        yield values, data

    return lie


def _alter_samples(change: Callable[[np.ndarray], np.ndarray]) -> Lie:
    """Other samples than were measured, with their own checksum, all in one block."""
    held = bytearray()
    last: list[dict[str, Any]] = []

    def lie(values: dict[str, Any], data: bytes) -> Iterator[Frame]:
        if "offset" in values:
            held.extend(data)
        elif '"result"' in values.get("said", ""):
            last.append(values)
        elif "ended" in values:
            sent = change(np.frombuffer(bytes(held), RECORD).copy()).tobytes()
            told = {**json.loads(last[0]["said"]), "samples_crc32": zlib.crc32(sent)}
            yield {**last[0], "said": json.dumps(told)}, b""
            for begin in range(0, len(sent), 1 << 20):
                yield {"of": values["of"], "offset": begin}, sent[begin : begin + (1 << 20)]
            yield values, data
        else:
            yield values, data

    return lie


def _set(**values: Any) -> Lie:
    return _alter_result(lambda result: result.update(values))


def _answer_with(answer: Any) -> Lie:
    """Another answer to the second question of a sweep, which is what the host lacks."""

    def lie(values: dict[str, Any], data: bytes) -> Iterator[Frame]:
        is_list = isinstance(values.get("answer"), list)
        yield ({**values, "answer": answer} if is_list else values), data

    return lie


def _never_ends(values: dict[str, Any], data: bytes) -> Iterator[Frame]:
    if "ended" not in values:
        yield values, data


def _flood(frame: Callable[[str], Frame]) -> Lie:
    """Without an end, once the worker has begun."""

    def lie(values: dict[str, Any], data: bytes) -> Iterator[Frame]:
        yield values, data
        while "said" in values:
            yield frame(values["of"])

    return lie


def _repeats_result(values: dict[str, Any], data: bytes) -> Iterator[Frame]:
    """The result again and again, and never an end."""
    if "ended" in values:
        return
    yield values, data
    if '"result"' in values.get("said", ""):

        def again() -> None:
            while True:
                _send(values)
                time.sleep(0.5)

        Thread(target=again, daemon=True).start()


def _deep(values: dict[str, Any], data: bytes) -> Iterator[Frame]:
    if isinstance(values.get("answer"), dict):
        deep: Any = 0
        for _ in range(400):
            deep = [deep]
        values["answer"]["environment"]["x"] = deep
    yield values, data


def _far_apart(records: np.ndarray) -> np.ndarray:
    records["started_ns"][0] = records["scheduled_ns"][0] = -(2**62)
    records["finished_ns"][-1] = 2**62
    return records


def _backwards(records: np.ndarray) -> np.ndarray:
    records["finished_ns"] = records["started_ns"] - 1
    return records


_READING = {"time_ns": 1, "device": "cpu", "power_w": 1.0}
_offset = iter(range(0, 1 << 50, 1 << 20))

LIES: dict[str, Lie] = {
    "lacks a number": _answer_with(5),
    "lacks junk": _answer_with([["x"]]),
    "never ends": _never_ends,
    "says nan": _set(duration_s=float("nan")),
    "says inf in a list": _set(phases_ms={"compile": float("inf")}),
    "says imported": _set(status="imported"),
    "has figures of its own": _set(
        imported={"program": "p", "version": "", "file": "f", "sha256": "", "clock": "wall of p",
                  "boundary": "b", "figures": {"latency_p50_us": 1.0}, "calls": 1}
    ),
    "says cancelled": _set(status="cancelled", samples=""),
    "says stopped": _set(stop_reason="stopped"),
    "has another clock": _set(clock="simulated"),
    "has a device's clock": _set(clock="device"),
    "is ok without samples": _set(samples="", samples_crc32=None, iterations=0),
    "counts less": _alter_result(lambda told: told.update(iterations=told["iterations"] // 2)),
    "counts more": _alter_result(lambda told: told.update(iterations=told["iterations"] * 2)),
    "has no lane": _set(concurrency=0),
    "sends more": _alter_samples(lambda records: np.concatenate([records, records])),
    "times far apart": _alter_samples(_far_apart),
    "ends before it starts": _alter_samples(_backwards),
    "is deep": _deep,
}  # fmt: skip
FLOODS: dict[str, Lie] = {
    "repeats its result": _repeats_result,
    "floods with lines": _flood(lambda job: ({"of": job, "said": "x" * 1000}, b"")),
    "floods with readings": _flood(lambda job: ({"of": job, "told": [_READING] * 100}, b"")),
    "floods with samples": _flood(
        lambda job: ({"of": job, "offset": next(_offset)}, bytes(1 << 20))
    ),
}
