"""A run folder in one line: when, of which commit, how many cases, how it stands, on what.

Read from two small files and forgivingly: a list of runs says what it can of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.results.folder import LIVE, is_being_written
from app.results.manifest import MANIFEST
from app.results.plain import printable
from app.results.regular import read_json

_ENGINES = ("onnxruntime", "onnxruntime-gpu", "openvino", "tensorrt", "torch")


def brief(folder: Path) -> str:
    """`2026-11-21 14:21 · 24 cases · finished · commit 1f92a48 · onnxruntime 1.31.1`, in UTC; "" of
    what is no run."""
    manifest = _read(folder / MANIFEST)
    return printable(" · ".join(_told(folder, manifest))) if manifest else ""


def _told(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    cases, environment = manifest.get("cases"), manifest.get("environment")
    yield str(manifest.get("created_at_utc", ""))[:16].replace("T", " ")
    if isinstance(cases, list):
        yield f"{len(cases):,} case{'s' * (len(cases) != 1)}"
    yield _state(folder)
    known = environment if isinstance(environment, dict) else {}
    if known.get("commit"):
        yield f"commit {known['commit']}"
    yield from (f"driver {version}" for version in _drivers(known.get("gpus")))
    packages = known.get("packages")
    if isinstance(packages, dict):
        yield from (f"{name} {packages[name]}" for name in _ENGINES if packages.get(name))


def _drivers(gpus: object) -> list[str]:
    """Each version once: those of one machine are the same."""
    states = gpus.values() if isinstance(gpus, dict) else ()
    told = (state.get("driver") for state in states if isinstance(state, dict))
    return list(dict.fromkeys(str(version) for version in told if version))


def _state(folder: Path) -> str:
    live = _read(folder / LIVE)
    state, failed = str(live.get("state") or ""), live.get("cases_failed") or 0
    if is_being_written(folder):
        return "being measured"
    if state not in ("finished", "stopped"):
        return "interrupted"
    return f"{state}, {failed} failed" if failed else state


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = read_json(path)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
