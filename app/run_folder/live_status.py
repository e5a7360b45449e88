"""The status of a run: `live.json`, replaced up to five times a second, and the run in a line.

The line of a run is read from two small files and forgivingly: a list of runs shows what it can
of each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from app.formatting.text import counted, printable
from app.run_folder.files import read_json
from app.run_folder.folder import LIVE, RunFolder, is_being_written
from app.run_folder.manifest import MANIFEST
from exporters.codec import from_json

State = Literal["starting", "exporting", "measuring", "paused", "stopping", "finished", "stopped"]
MINIMUM_INTERVAL_S = 0.2


@dataclass(slots=True)
class Live:
    """What followers are told; figures of the case in flight are running ones, provisional.

    `rounds_total` counts every planned round, `rounds_done` those recorded or no longer needed
    because their case has ended. `in_flight` are the rounds that are measured now, as `case.round`:
    several on several hosts, of which `case_id` and what follows tell the one that began last. Of
    `eta_s`, exports take `exports_eta_s`. `exit_code` is set with `finished` and `stopped`,
    `disk_error` where the disk ended the run. `journal_lines` counts the lines of each journal
    file, so that lost ones are noticed.
    """

    state: State = "starting"
    pid: int = 0
    cases_total: int = 0
    cases_failed: int = 0
    rounds_total: int = 0
    rounds_done: int = 0
    exports_total: int = 0
    exports_done: int = 0
    exporting: tuple[str, ...] = ()
    case_id: str = ""
    round: int | None = None
    phase: str = ""
    iterations: int = 0
    elapsed_s: float = 0.0
    p50_us: float | None = None
    p99_us: float | None = None
    eta_s: float | None = None
    exports_eta_s: float = 0.0
    exit_code: int | None = None
    disk_error: str = ""
    in_flight: tuple[str, ...] = ()
    journal_lines: Mapping[str, int] = field(default_factory=dict)

    def numbers_of(self, case_id: str) -> tuple[int, ...]:
        """The rounds of a case that are measured now."""
        current = f"{self.case_id}.{self.round}"
        names = self.in_flight or ((current,) if self.round is not None else ())
        parts = (name.rpartition(".") for name in names)
        return tuple(int(number) for key, _, number in parts if key == case_id)

    @property
    def cases(self) -> frozenset[str]:
        """Those of which something is in flight now."""
        ids = (name.rpartition(".")[0] for name in self.in_flight)
        return frozenset(filter(None, (self.case_id, *ids)))

    def begin(self, case_id: str, number: int) -> None:
        """A round of this case is measured from now on."""
        self.in_flight = (*self.in_flight, f"{case_id}.{number}")

    def end(self, case_id: str, number: int) -> None:
        """And no more; what is told of one goes on with another that is in flight."""
        entry = f"{case_id}.{number}"
        self.in_flight = tuple(name for name in self.in_flight if name != entry)
        if self.in_flight and (self.case_id, self.round) == (case_id, number):
            latest_id, _, latest_number = self.in_flight[-1].rpartition(".")
            self.show(latest_id, int(latest_number), "measure")

    def show(self, case_id: str, number: int | None, phase: str) -> None:
        """Something of this case is in flight now, of which nothing is known yet."""
        self.state, self.phase = "measuring", phase
        self.case_id, self.round = case_id, number
        self.iterations, self.elapsed_s = 0, 0.0
        self.p50_us = self.p99_us = None


def read_live(folder: Path) -> Live | None:
    """What the batch parent says of this moment, or said at its end; None where nothing of it can
    be read, as while it is replaced."""
    try:
        return from_json(Live, read_json(folder / LIVE))
    except (OSError, ValueError):
        return None


class LiveFile:
    """Writes `Live` into the folder; what changes too fast is left to the next writing."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._write_time = 0.0

    def write(self, live: Live, always: bool = False) -> None:
        """Replace the file unless it was replaced a moment ago; DiskError if that fails."""
        now = time.monotonic()
        if not always and now - self._write_time < MINIMUM_INTERVAL_S:
            return
        self._write_time = now
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        data = {"updated_at_utc": stamp, **asdict(live)}
        self._folder.write(LIVE, json.dumps(data).encode(), durable=False)


_ENGINES = ("onnxruntime", "onnxruntime-gpu", "openvino", "tensorrt", "torch")


def run_headline(folder: Path) -> str:
    """`2026-11-21 14:21 · 24 cases · finished · commit 1f92a48 · onnxruntime 1.31.1`, in UTC; "" of
    what is no run."""
    manifest = _read(folder / MANIFEST)
    return printable(" · ".join(_facts(folder, manifest))) if manifest else ""


def _facts(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    cases, environment = manifest.get("cases"), manifest.get("environment")
    yield str(manifest.get("created_at_utc", ""))[:16].replace("T", " ")
    if isinstance(cases, list):
        yield counted(len(cases), "case")
    yield _state(folder)
    values = environment if isinstance(environment, dict) else {}
    if values.get("commit"):
        yield f"commit {values['commit']}"
    yield from (f"driver {version}" for version in _drivers(values.get("gpus")))
    packages = values.get("packages")
    if isinstance(packages, dict):
        yield from (f"{name} {packages[name]}" for name in _ENGINES if packages.get(name))


def _drivers(gpus: object) -> list[str]:
    """Each version once: those of one machine are the same."""
    states = gpus.values() if isinstance(gpus, dict) else ()
    versions = (state.get("driver") for state in states if isinstance(state, dict))
    return list(dict.fromkeys(str(version) for version in versions if version))


def _state(folder: Path) -> str:
    live = _read(folder / LIVE)
    state, failed_count = str(live.get("state") or ""), live.get("cases_failed")
    if is_being_written(folder):
        return "being measured"
    if state not in ("finished", "stopped"):
        return "interrupted"
    return f"{state}, {failed_count} failed" if failed_count else state


def _read(path: Path) -> Mapping[str, Any]:
    try:
        data = read_json(path)
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
