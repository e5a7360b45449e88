"""Builds files of the table, measures them by one command, and reads what became of each."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from app.__main__ import main
from tests.app.brief import brief_rounds
from tests.app.cli.headless.batch import rows as rows_of_run
from tests.files import language, quantised, structure, values
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
    names = {str(path): name for name, path in paths.items()}
    rows_by_kind: dict[str, dict[str, Mapping[str, str]]] = {kind.name: {} for kind in kinds}
    for row in rows_of_run(run):
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


RUNTIMES = ("ort-cpu", "openvino-cpu")
_PACKAGES = ("onnx", "onnxruntime-gpu", "openvino")
_HEAD = """\
# Which files can be measured

`python -m tests.files` builds these files, without the internet, measures each for a moment and
writes this page. It shows whether a file runs and whether its outputs are right; it has no times.

ONNX Runtime decides whether a file is valid. ONNX's checker only advises: where it rejects a file
that the engine opens, the row has the warning `checker_rejects_graph`, and the expected outputs are
those of the engine without optimisation. A file in ONNX Runtime's own format (`.ort`) is read by
the engine alone.

The column *call* shows how `ort-cpu` is timed, as the column `call_path` of a run does:

- *bound*: inputs and outputs are bound to buffers once.
- *allocated*: inputs are bound; the engine allocates some outputs, whose sizes it does not know
  beforehand.
- *plain*: texts, sequences, maps and optional values cannot be bound. The engine's `run` takes and
  returns Python values, and their conversion is part of the time, as in a program in Python.

*Checker* is *rejects* where ONNX's checker rejects the file.
"""
_CAUSES = """\
## Causes in OpenVINO

Each was repeated in OpenVINO's own Python interface, without Graphlap, with release 2026.4.1:

- The decoders that end in *crashed* have the operator `com.microsoft.GroupQueryAttention`. With
  fixed sizes (`model.reshape`) OpenVINO gives `present` the length of `past`, without the new
  tokens. It then writes beyond that: `ScatterUpdate node … have indices value that points to
  non-existing output tensor element`. With one thread (`INFERENCE_NUM_THREADS=1`) the process
  ends with SIGSEGV instead. With open sizes the same file runs. (Repeated with `decoder`; the
  error also with `decoder-fp16`.)
- Weights in bfloat16 that are stored in the field `int32_data` give wrong outputs; the same weights
  in `raw_data` give the right ones. The float8 files here store theirs in `int32_data` too.
"""


def page(kinds: Sequence[Kind], rows: Rows) -> str:
    """The whole page; reasons are numbered as they first appear."""
    reasons: dict[str, int] = {}
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    lines = [_HEAD, f"Versions: {versions}.", "", *_counts(rows)]
    for group, members in groupby(kinds, key=lambda kind: kind.group):
        lines += ["", f"## {group[0].upper()}{group[1:]}", ""]
        lines += [f"| file | {' | '.join(RUNTIMES)} | call | checker |"]
        lines += ["|" + " --- |" * (len(RUNTIMES) + 3)]
        lines += [_line(kind, rows[kind.name], reasons) for kind in members]
    lines += ["", _CAUSES, "## Reasons", ""]
    lines += [f"{number}. {reason}" for reason, number in reasons.items()]
    return "\n".join(lines) + "\n"


def _counts(rows: Rows) -> list[str]:
    lines = [f"Of {len(rows)} files:", ""]
    for runtime in RUNTIMES:
        status_counts = Counter(row[runtime]["status"] for row in rows.values())
        parts = ", ".join(f"{number} {status}" for status, number in status_counts.most_common())
        lines.append(f"- `{runtime}`: {parts}")
    return lines


def _line(kind: Kind, rows: Mapping[str, Mapping[str, str]], reasons: dict[str, int]) -> str:
    reference_row = rows[RUNTIMES[0]]
    rejects = (
        "rejects" if "checker_rejects_graph" in reference_row["warning_codes"].split(";") else ""
    )
    cells = [_cell(rows[runtime], reasons) for runtime in RUNTIMES]
    return f"| {' | '.join([kind.name, *cells, _call(reference_row), rejects])} |"


def _cell(row: Mapping[str, str], reasons: dict[str, int]) -> str:
    if row["status"] == "ok":
        return "ok" if row["output_ok"] == "true" else "ok, not compared"
    reason = _without_places(row["reason"])
    return f"{row['status']} [{reasons.setdefault(reason, len(reasons) + 1)}](#reasons)"


def _without_places(reason: str) -> str:
    """The kind of a reason on one line, safe in Markdown: without folders of this machine, names
    of a graph and what to do."""
    bare = re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+", "", reason)
    bare = re.sub(r"'[^']*'", "'…'", bare)
    bare = re.sub(r"( in node '…')?: (?:use|measure|give) [^:]*$", "", bare)
    return re.sub(r"([|<>*_`\[\]])", r"\\\1", " ".join(bare.split()))


def _call(row: Mapping[str, str]) -> str:
    path = row["call_path"]
    if not path:
        return ""
    if "nothing bound" in path:
        return "plain"
    return "allocated" if "allocated by the engine" in path else "bound"


KINDS = (
    *quantised.OPTIMISED,
    *language.KINDS,
    *quantised.KINDS,
    *values.KINDS,
    *structure.KINDS,
    *structure.STORED,
)
