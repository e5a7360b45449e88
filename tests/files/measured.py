"""Builds files of the table, measures them by one command, and reads what became of each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import groupby
from pathlib import Path

from app.__main__ import main
from tests.app.brief import brief_rounds
from tests.files.kinds import Kind

Rows = Mapping[str, Mapping[str, Mapping[str, str]]]
"""By the name of a kind and by runtime, the row of `results.full.csv`."""
PLAN = "plan.toml"


def measured(kinds: Sequence[Kind], runtimes: Sequence[str], folder: Path) -> Rows:
    """One short round of every file on every runtime; the run lies in `folder`/run."""
    paths = {kind.name: _build(kind, folder / "files" / kind.name) for kind in kinds}
    (folder / PLAN).write_text(_plan(kinds, paths, runtimes), "utf-8")
    run = folder / "run"
    console_output = io.StringIO()
    with brief_rounds(), redirect_stdout(console_output), redirect_stderr(console_output):
        main(["run", str(folder / PLAN), "--out", str(run)])
    assert (run / "results.full.csv").is_file(), console_output.getvalue()
    with (run / "results.full.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = {str(path): name for name, path in paths.items()}
    rows_by_kind: dict[str, dict[str, Mapping[str, str]]] = {kind.name: {} for kind in kinds}
    for row in rows:
        rows_by_kind[names[row["model"]]][row["runtime"]] = row
    return rows_by_kind


def _build(kind: Kind, folder: Path) -> Path:
    folder.mkdir(parents=True)
    return kind.build(folder)


def _plan(kinds: Sequence[Kind], paths: Mapping[str, Path], runtimes: Sequence[str]) -> str:
    """One grid for all files that need the same sizes."""
    lines = ['preset = "glance"', "rounds = 1", ""]
    for axes, group in groupby(sorted(kinds, key=lambda kind: kind.axes), key=lambda k: k.axes):
        lines += ["[[sweeps]]", f"models = {_toml([str(paths[kind.name]) for kind in group])}"]
        lines += [f"runtimes = {_toml(runtimes)}"]
        for axis in axes:
            name, _, size = axis.partition("=")
            lines.append(f'axes."{name}" = [{size}]')
        lines.append("")
    return "\n".join(lines)


def _toml(texts: Sequence[str]) -> str:
    return json.dumps(list(texts), ensure_ascii=False)
